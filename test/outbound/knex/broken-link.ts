// A connection to PostgreSQL that breaks during a commit, the worst moment.
import { connect, createServer, type Socket } from 'node:net';

/** Effect on the next COMMIT and on its connection. */
export type AtCommit =
  /** The COMMIT never arrives, and the connection breaks. */
  | 'lost'
  /** The COMMIT arrives, and its answer breaks the connection instead of arriving. */
  | 'unanswered'
  /** The COMMIT arrives, and the connection breaks at once. */
  | 'cut'
  /** The COMMIT arrives, and no answer ever comes. */
  | 'silent';

export interface BrokenLink {
  /** URL of the same database through this link. */
  readonly databaseUrl: string;
  /**
   * Applies `how` to the next COMMIT, and resolves afterwards.
   * @param about text in a statement of the intended transaction, because a service also commits on its own
   */
  breakAtCommit(how: AtCommit, about?: string): Promise<void>;
  /** Discards all data in both directions until the returned function is called. */
  freeze(): () => void;
  close(): Promise<void>;
}

/** A link to the server of `databaseUrl` that works until one of its functions breaks it. */
export async function openBrokenLink(databaseUrl: string): Promise<BrokenLink> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  let next: { readonly how: AtCommit; readonly about: string; readonly done: () => void } | undefined;

  function carry(near: Socket): void {
    const far = connect(Number(target.port), target.hostname);
    const both = [near, far];
    let muted = false;
    let transaction = '';
    const hangUp = () => both.forEach((socket) => void socket.destroy());
    for (const socket of both) {
      sockets.add(socket);
      socket.on('error', hangUp);
      socket.on('close', () => {
        sockets.delete(socket);
        hangUp();
      });
    }
    near.on('data', (chunk) => {
      if (isFrozen) muted = true;
      if (muted) return;
      transaction += chunk.toString('latin1');
      const isCommit = chunk.includes('COMMIT');
      const isMeant = isCommit && next !== undefined && transaction.includes(next.about);
      if (isCommit) transaction = '';
      if (next === undefined || !isMeant) return void far.write(chunk);
      const { how, done } = next;
      next = undefined;
      if (how === 'lost') hangUp();
      else far.write(chunk);
      if (how === 'cut') far.end(() => near.destroy());
      if (how === 'unanswered') far.once('data', hangUp);
      muted = true;
      done();
    });
    far.on('data', (chunk) => {
      muted ||= isFrozen;
      if (!muted) near.write(chunk);
    });
  }

  const server = createServer(carry);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  const url = new URL(databaseUrl);
  url.port = String(address.port);
  return {
    databaseUrl: url.href,
    breakAtCommit: (how, about = '') =>
      new Promise((done) => {
        next = { how, about, done };
      }),
    freeze() {
      isFrozen = true;
      return () => {
        isFrozen = false;
      };
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
