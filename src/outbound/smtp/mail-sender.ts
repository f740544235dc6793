// Sends one mail through the service's mail server. All texts come from a tenant, so none of them reaches a header
// without the encoding of the library, and the library opens neither files nor addresses.
import { createTransport } from 'nodemailer';
import { z } from 'zod';
import type { Clock } from '../../ports/clock.js';
import type { MailFailure, SendMail } from '../../ports/webhooks.js';

const CONNECTED_WITHIN_MS = 20_000;
/** RFC 5321, section 4.5.3.2.6: a client that gives up earlier sends mails twice. */
const ANSWERED_WITHIN_MS = 600_000;
const LONGEST_ERROR = 200;

/**
 * RFC 5321, section 4.2.1: an answer of class 5 is final. But subject 7 of RFC 3463, section 3.8, is security or policy:
 * such as relaying that is not allowed, or a sender without its proof. The operator can mend that.
 */
const FINAL = /^5\d\d(?![ -]5\.7\.)/;

/** The parts of the library's errors that show who refused. */
const refusalSchema = z.object({
  /** The whole answer of the server, with its code. */
  response: z.string().optional(),
  /** The SMTP command that was refused. */
  command: z.string().optional(),
});
const attemptSchema = z.object({
  rejectedErrors: z.array(refusalSchema.extend({ recipient: z.string(), message: z.string() })).optional(),
});

/** @param options.from the sender; Message-IDs have its domain */
export function createMailSender(options: {
  readonly url: string;
  readonly from: string;
  readonly clock: Clock;
}): SendMail {
  const { url, from, clock } = options;
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return async ({ to, receivers, messageId, subject, text, signal }) => {
    const transport = createTransport(
      {
        url,
        connectionTimeout: CONNECTED_WITHIN_MS,
        greetingTimeout: CONNECTED_WITHIN_MS,
        socketTimeout: ANSWERED_WITHIN_MS,
      },
      { disableFileAccess: true, disableUrlAccess: true },
    );
    // It closes the connection too.
    const attempt = new AbortController();
    const cancel = clock.after(ANSWERED_WITHIN_MS, () =>
      attempt.abort(`no whole answer within ${ANSWERED_WITHIN_MS / 60_000} minutes`),
    );
    const onAbort = () => attempt.abort('the service stops');
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    return transport
      .sendMail({
        from: { name: 'Headroom', address: from },
        to: to.map((address) => ({ name: '', address })),
        envelope: { from, to: [...receivers] },
        subject,
        text,
        messageId: `<${messageId}@${domain}>`,
        // RFC 3834: no automatic answer follows it.
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: attempt.signal,
      })
      .then(
        (info: unknown) => failureOf(receivers, info, undefined),
        (error: unknown) => failureOf(receivers, error, String(attempt.signal.reason ?? error)),
      )
      .finally(() => {
        cancel();
        signal.removeEventListener('abort', onAbort);
      });
  };
}

/**
 * A final answer to a receiver, or to the text, is about them. A refused login or sender is the operator's to mend, so
 * its mails wait.
 * @param error undefined if the server has the mail for at least one receiver
 */
function failureOf(receivers: readonly string[], attempt: unknown, error: string | undefined): MailFailure {
  const rejected = attemptSchema.safeParse(attempt).data?.rejectedErrors ?? [];
  const refusedBy = new Map(rejected.map((refusal) => [keyOf(refusal.recipient), refusal]));
  const whole = refusalSchema.safeParse(attempt).data;
  const isTextRefused = whole?.command === 'DATA' && FINAL.test(whole.response ?? '');
  const refused: string[] = [];
  const delayed: string[] = [];
  for (const receiver of receivers) {
    const refusal = refusedBy.get(keyOf(receiver));
    if (refusal === undefined && error === undefined) continue;
    if (refusal === undefined ? isTextRefused : FINAL.test(refusal.response ?? '')) refused.push(receiver);
    else delayed.push(receiver);
  }
  if (refused.length + delayed.length === 0) return undefined;
  const [first] = rejected;
  const reason = first === undefined ? (error ?? '') : `${first.recipient}: ${first.message}`;
  return { error: reason.slice(0, LONGEST_ERROR), refused, delayed };
}

/** The library writes domains in lower case. */
function keyOf(address: string): string {
  const at = address.lastIndexOf('@');
  return address.slice(0, at) + address.slice(at).toLowerCase();
}
