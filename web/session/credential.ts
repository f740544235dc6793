// The credential of the person in front of the page: kept for this tab alone, and gone with it.

export type Credential =
  | { readonly kind: 'apiKey'; readonly apiKey: string }
  | { readonly kind: 'client'; readonly clientId: string; readonly clientSecret: string };

const NAME = 'headroom.credential';

export function keepCredential(credential: Credential): void {
  sessionStorage.setItem(NAME, JSON.stringify(credential));
}

export function forgetCredential(): void {
  sessionStorage.removeItem(NAME);
}

export function keptCredential(): Credential | undefined {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(NAME) ?? 'null');
    return isCredential(kept) ? kept : undefined;
  } catch {
    return undefined;
  }
}

function isCredential(kept: unknown): kept is Credential {
  if (typeof kept !== 'object' || kept === null) return false;
  if ('apiKey' in kept) return typeof kept.apiKey === 'string';
  return 'clientId' in kept && 'clientSecret' in kept && typeof kept.clientSecret === 'string';
}
