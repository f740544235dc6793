// A real broker that accepts logins, or refuses them with a chosen code, and can break every connection.
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Duplex, pipeline, Transform } from 'node:stream';
import { Aedes } from 'aedes';

/** Return codes of CONNACK in MQTT 3.1.1. */
export const SERVER_UNAVAILABLE = 3;
export const NOT_AUTHORIZED = 5;

export interface RefusingBroker {
  readonly url: string;
  /** Number of login attempts of the client. */
  attemptsOf(clientId: string): number;
  /** For later logins; undefined accepts all. */
  refuseWith(code: typeof SERVER_UNAVAILABLE | typeof NOT_AUTHORIZED | undefined): void;
  cutAll(): void;
  /** Stops reading from every present connection. */
  freezeAll(): void;
  /** Payloads of received messages and of published last wills, in order. */
  readonly heard: readonly string[];
  close(): Promise<void>;
}

export async function startRefusingBroker(): Promise<RefusingBroker> {
  let code: number | undefined;
  const attempts = new Map<string, number>();
  const sockets = new Set<Socket>();
  const frozen = new WeakSet<Socket>();
  const heard: string[] = [];
  const broker = await Aedes.createBroker({
    authenticate({ id }, _username, _password, done) {
      attempts.set(id, (attempts.get(id) ?? 0) + 1);
      if (code === undefined) done(null, true);
      else done(Object.assign(new Error('refused'), { returnCode: code }), null);
    },
  });
  broker.on('publish', ({ payload }, client) => {
    if (client !== null) heard.push(payload.toString());
  });
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    const read = new Transform({
      transform: (chunk, _, done) => {
        if (!frozen.has(socket)) done(null, chunk);
      },
    });
    pipeline(socket, read, () => {});
    broker.handle(Duplex.from({ readable: read, writable: socket }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    attemptsOf: (clientId) => attempts.get(clientId) ?? 0,
    refuseWith(next) {
      code = next;
    },
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
    freezeAll() {
      for (const socket of sockets) frozen.add(socket);
    },
    heard,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => broker.close(() => server.close(() => done())));
    },
  };
}
