// A real broker that takes logins, or refuses them with a code of the test's choice, and can break every connection.
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Duplex, pipeline, Transform } from 'node:stream';
import { Aedes } from 'aedes';

/** Return codes of CONNACK in MQTT 3.1.1. */
export const SERVER_UNAVAILABLE = 3;
export const NOT_AUTHORIZED = 5;

export interface RefusingBroker {
  readonly url: string;
  /** How often a client tried to log in. */
  attemptsOf(clientId: string): number;
  /** From now on; undefined: everybody is taken. */
  refuseWith(code: typeof SERVER_UNAVAILABLE | typeof NOT_AUTHORIZED | undefined): void;
  cutAll(): void;
  /** It reads nothing more from any connection that there is. */
  freezeAll(): void;
  /** What it was told, or spoke as a last will, in that order. */
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
