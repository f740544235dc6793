// The credential of the user, stored for this tab only; the browser removes it with the tab.
import { keep, kept } from '../kept.js';

export type Credential =
  | { readonly kind: 'apiKey'; readonly apiKey: string }
  | { readonly kind: 'client'; readonly clientId: string; readonly clientSecret: string };

const NAME = 'headroom.credential';

export function keepCredential(credential: Credential): void {
  keep('sessionStorage', NAME, JSON.stringify(credential));
}

export function forgetCredential(): void {
  keep('sessionStorage', NAME, null);
}

export function keptCredential(): Credential | undefined {
  try {
    const credential: unknown = JSON.parse(kept('sessionStorage', NAME) ?? 'null');
    return isCredential(credential) ? credential : undefined;
  } catch {
    return undefined;
  }
}

function isCredential(value: unknown): value is Credential {
  if (typeof value !== 'object' || value === null) return false;
  if ('apiKey' in value) return typeof value.apiKey === 'string';
  return 'clientId' in value && 'clientSecret' in value && typeof value.clientSecret === 'string';
}
