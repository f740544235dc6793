// Scopes that a credential may carry: those of the contract's section 5, and those of extensions.

export const SCOPES = [
  'locations:read',
  'locations:write',
  'clusters:read',
  'clusters:write',
  'chargers:write',
  'org:write',
  'operator:write',
  'meter:write',
  'credentials:write',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Never implied: a credential has these scopes only if its issue names them. */
export const NAMED_SCOPES: readonly Scope[] = ['operator:write', 'meter:write', 'credentials:write'];

/** Scopes of a credential whose issue names none. */
export const USUAL_SCOPES: readonly Scope[] = SCOPES.filter((scope) => !NAMED_SCOPES.includes(scope));
