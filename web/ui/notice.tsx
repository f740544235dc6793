// A message that stays where it is: an error is told at once, anything else when the reader is free.
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/api-error.js';

export function Notice({
  kind = 'info',
  children,
}: {
  readonly kind?: 'info' | 'warning' | 'error';
  readonly children: ComponentChildren;
}) {
  return (
    <div class={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** A refusal in the service's words, with the id to report it by. */
export function ErrorNotice({ error }: { readonly error: ApiError }) {
  return (
    <Notice kind="error">
      {error.message} {error.requestId !== undefined && <small>Request {error.requestId}</small>}
    </Notice>
  );
}
