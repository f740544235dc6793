// Sends one mail through the service's mail server. All texts come from a tenant, so none of them reaches a header
// without the encoding of the library, and the library opens neither files nor addresses.
import { createTransport } from 'nodemailer';
import type { Clock } from '../../ports/clock.js';
import type { SendMail, WebhookFailure } from '../../ports/webhooks.js';

const ANSWERED_WITHIN_MS = 20_000;
const LONGEST_ERROR = 200;

/** @param options.from the sender; Message-IDs have its domain */
export function createMailSender(options: {
  readonly url: string;
  readonly from: string;
  readonly clock: Clock;
}): SendMail {
  const { url, from, clock } = options;
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return async ({ to, messageId, subject, text, signal }) => {
    const transport = createTransport(
      { url, connectionTimeout: ANSWERED_WITHIN_MS, greetingTimeout: ANSWERED_WITHIN_MS },
      { disableFileAccess: true, disableUrlAccess: true },
    );
    const receivers = to.map((address) => ({ name: '', address }));
    let stop: (why: string) => void = () => {};
    const stopped = new Promise<WebhookFailure>((resolve) => {
      stop = (why) => resolve({ error: why });
    });
    const cancel = clock.after(ANSWERED_WITHIN_MS, () =>
      stop(`no whole answer within ${ANSWERED_WITHIN_MS / 1000} s`),
    );
    const onAbort = () => stop('the service stops');
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    const sent = transport
      .sendMail({
        from: { name: 'Headroom', address: from },
        to: receivers,
        subject,
        text,
        messageId: `<${messageId}@${domain}>`,
        // RFC 3834: no automatic answer follows it.
        headers: { 'Auto-Submitted': 'auto-generated' },
      })
      .then(
        (): WebhookFailure => undefined,
        (error: unknown): WebhookFailure => ({ error: String(error).slice(0, LONGEST_ERROR) }),
      );
    try {
      return await Promise.race([sent, stopped]);
    } finally {
      cancel();
      signal.removeEventListener('abort', onAbort);
      transport.close();
    }
  };
}
