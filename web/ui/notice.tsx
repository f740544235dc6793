// A permanent message. Screen readers read an error at once, and any other message after the current text.
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/api-error.js';
import { inLocalTime } from './time.js';

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

/** The message of the service, with the request id for a report. */
export function ErrorNotice({ error }: { readonly error: ApiError }) {
  return (
    <Notice kind="error">
      {inLocalTime(error.message)} {error.requestId !== undefined && <small>Request {error.requestId}</small>}
    </Notice>
  );
}
