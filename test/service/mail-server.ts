// A mail server that keeps the mails it takes, and refuses texts, senders and receivers while a test wants it to.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Of the header, by name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

export interface MailServer {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** Attempts, refused ones included. */
  readonly attempts: readonly ReceivedMail[];
  isRefusing: boolean;
  /** The text of a mail is refused; by default as `isRefusing` has it. */
  refuses: (mail: ReceivedMail) => boolean;
  /** The SMTP code of such a refusal. */
  refusalCode: number;
  /** An answer to a text waits for it. */
  answersAfter: Promise<void>;
  /** By address: the SMTP code with which it is refused, as a sender or receiver; or the whole answer. */
  readonly refusedWith: Map<string, number | string>;
  /** Receivers that were asked for, refused ones included. */
  readonly asked: readonly string[];
  /** Connections that are open. */
  connections(): number;
  stop(): Promise<void>;
}

export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const attempts: ReceivedMail[] = [];
  const asked: string[] = [];
  const refusedWith = new Map<string, number | string>();
  const verdictOn = (address: string): Error | undefined => {
    const answer = refusedWith.get(address);
    if (answer === undefined) return undefined;
    const [code, ...words] = typeof answer === 'string' ? answer.split(' ') : [answer, `no ${address} here`];
    return Object.assign(new Error(words.join(' ')), { responseCode: Number(code) });
  };
  const smtp = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    disableReverseLookup: true,
    // An answer has an enhanced code only if the test gives one.
    hideENHANCEDSTATUSCODES: true,
    onMailFrom: ({ address }, _session, done) => done(verdictOn(address)),
    onRcptTo({ address }, _session, done) {
      asked.push(address);
      done(verdictOn(address));
    },
    onData(stream, { envelope }, done) {
      void text(stream).then((raw) => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const mail = parsed(
          raw,
          from,
          envelope.rcptTo.map(({ address }) => address),
        );
        attempts.push(mail);
        const { answersAfter, refusalCode: responseCode } = server;
        const isRefused = server.refuses(mail);
        void answersAfter.then(() => {
          if (isRefused) return done(Object.assign(new Error('no room'), { responseCode }));
          mails.push(mail);
          return done();
        });
      });
    },
  });
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { port }: AddressInfo = smtp.server.address() as AddressInfo;
  const server: MailServer = {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    attempts,
    isRefusing: false,
    refuses: () => server.isRefusing,
    answersAfter: Promise.resolve(),
    refusalCode: 450,
    refusedWith,
    asked,
    connections: () => smtp.connections.size,
    stop: () => new Promise((resolve) => smtp.close(() => resolve())),
  };
  return server;
}

function parsed(raw: string, from: string, to: readonly string[]): ReceivedMail {
  const end = raw.indexOf('\r\n\r\n');
  const head = raw.slice(0, end).replace(/\r\n[ \t]+/g, ' ');
  const headers = new Map(
    head.split('\r\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const body = raw.slice(end + 4);
  const isQuoted = headers.get('content-transfer-encoding') === 'quoted-printable';
  const plain = isQuoted
    ? body
        .replace(/=\r\n/g, '')
        .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    : body;
  return { from, to, headers, text: plain.replace(/\r\n/g, '\n') };
}
