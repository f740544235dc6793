// A management system for tests: a server of `ocpp-rpc` that records received calls and can call its chargers.
import { type IHandlersOption, RPCServer } from 'ocpp-rpc';
import type * as serverClient from 'ocpp-rpc/lib/server-client.js';
import { freePort } from '../free-port.js';

type Client = serverClient.default;

export interface CsmsCall {
  readonly method: string;
  readonly params: unknown;
}

export interface Csms {
  readonly url: string;
  readonly heard: CsmsCall[];
  /** Passwords of the chargers' logins. */
  readonly passwords: (string | undefined)[];
  /** Answers by method; other methods get an ordinary answer of a CSMS. */
  readonly answers: Map<string, () => Promise<Record<string, unknown>>>;
  /** The connected charger. */
  readonly charger: Client | undefined;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function createCsms(protocols = ['ocpp1.6']): Promise<Csms> {
  const port = await freePort();
  const heard: CsmsCall[] = [];
  const passwords: (string | undefined)[] = [];
  const answers = new Map<string, () => Promise<Record<string, unknown>>>();
  let server: RPCServer | undefined;
  let charger: Client | undefined;

  async function answer({ method = '', params }: IHandlersOption): Promise<Record<string, unknown>> {
    heard.push({ method, params });
    const own = answers.get(method);
    if (own !== undefined) return own();
    if (method === 'BootNotification')
      return { status: 'Accepted', currentTime: new Date().toISOString(), interval: 300 };
    if (method === 'Heartbeat') return { currentTime: new Date().toISOString() };
    if (method === 'StartTransaction') return { transactionId: 4711, idTagInfo: { status: 'Accepted' } };
    if (method === 'Authorize') return { idTagInfo: { status: 'Blocked' } };
    if (method === 'DataTransfer') return { status: 'Accepted', data: 'of the CSMS' };
    return {};
  }

  return {
    url: `ws://127.0.0.1:${port}/steve`,
    heard,
    passwords,
    answers,
    get charger() {
      return charger;
    },
    async start() {
      server = new RPCServer({ protocols, strictMode: false });
      server.auth((accept, _, handshake) => {
        passwords.push(handshake.password?.toString());
        accept({});
      });
      server.on('client', (client: Client) => {
        charger = client;
        client.handle(answer);
      });
      await server.listen(port, '127.0.0.1');
    },
    async stop() {
      await server?.close({ code: 1001, reason: 'Stopped', force: true });
      charger = undefined;
    },
  };
}
