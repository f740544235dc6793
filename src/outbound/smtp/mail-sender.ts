// Sends one mail through the service's mail server. All texts come from a tenant, so none of them reaches a header
// without the encoding of the library, and the library opens neither files nor addresses.
import { createTransport } from 'nodemailer';
import { z } from 'zod';
import type { Clock } from '../../ports/clock.js';
import type { MailFailure, SendMail } from '../../ports/webhooks.js';

const ANSWERED_WITHIN_MS = 20_000;
const LONGEST_ERROR = 200;

/** RFC 5321, section 4.2.1: an answer from here on is final. */
const PERMANENT = 500;

/** The parts of the library's errors that show who refused. */
const refusalSchema = z.object({
  responseCode: z.number().optional(),
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
      { url, connectionTimeout: ANSWERED_WITHIN_MS, greetingTimeout: ANSWERED_WITHIN_MS },
      { disableFileAccess: true, disableUrlAccess: true },
    );
    let stop: (why: string) => void = () => {};
    const stopped = new Promise<MailFailure>((resolve) => {
      stop = (error) => resolve({ error, refused: [], delayed: receivers });
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
        to: to.map((address) => ({ name: '', address })),
        envelope: { from, to: [...receivers] },
        subject,
        text,
        messageId: `<${messageId}@${domain}>`,
        // RFC 3834: no automatic answer follows it.
        headers: { 'Auto-Submitted': 'auto-generated' },
      })
      .then(
        (info: unknown) => failureOf(receivers, info, undefined),
        (error: unknown) => failureOf(receivers, error, String(error)),
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

/**
 * A final answer to a receiver, or to the text, is about them. A refused login or sender is the operator's to mend, so
 * its mails wait.
 * @param error undefined if the server has the mail for at least one receiver
 */
function failureOf(receivers: readonly string[], attempt: unknown, error: string | undefined): MailFailure {
  const rejected = attemptSchema.safeParse(attempt).data?.rejectedErrors ?? [];
  const refusedBy = new Map(rejected.map((refusal) => [keyOf(refusal.recipient), refusal]));
  const whole = refusalSchema.safeParse(attempt).data;
  const isTextRefused = whole?.command === 'DATA' && isFinal(whole.responseCode);
  const refused: string[] = [];
  const delayed: string[] = [];
  for (const receiver of receivers) {
    const refusal = refusedBy.get(keyOf(receiver));
    if (refusal === undefined && error === undefined) continue;
    if (refusal === undefined ? isTextRefused : isFinal(refusal.responseCode)) refused.push(receiver);
    else delayed.push(receiver);
  }
  if (refused.length + delayed.length === 0) return undefined;
  const [first] = rejected;
  const reason = first === undefined ? (error ?? '') : `${first.recipient}: ${first.message}`;
  return { error: reason.slice(0, LONGEST_ERROR), refused, delayed };
}

function isFinal(responseCode: number | undefined): boolean {
  return responseCode !== undefined && responseCode >= PERMANENT;
}

/** The library writes domains in lower case. */
function keyOf(address: string): string {
  const at = address.lastIndexOf('@');
  return address.slice(0, at) + address.slice(at).toLowerCase();
}
