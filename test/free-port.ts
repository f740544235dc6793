// A port that a program started later can listen on, for as long as a test wants it.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports that systems give to connections: one of those is soon somebody's else. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_000;

/** A port of 127.0.0.1 on which nothing listens, chosen at random so that tests side by side do not meet. */
export async function freePort(): Promise<number> {
  const port = randomInt(FIRST_PORT, LAST_PORT);
  return (await isFree(port)) ? port : freePort();
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
