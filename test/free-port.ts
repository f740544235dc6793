// A port for a program that a test starts later.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to connections, because those are soon taken. Above 10,080, the last one that `fetch`
 * refuses (https://fetch.spec.whatwg.org/#port-blocking).
 */
const FIRST_PORT = 10_081;
const LAST_PORT = 32_000;

/** A port of 127.0.0.1 without a listener, at random so that parallel tests do not collide. */
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
