// A separate nats-server for tests, which can be killed, frozen and started again at the same address.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';

export interface NatsServer {
  readonly url: string;
  /** Without a message to its clients. */
  kill(): Promise<void>;
  /** Starts the server again, at the same address. */
  start(): Promise<void>;
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** Listens on a free port of this host, open to all clients, unless `options` of the program change that. */
export async function startNats(...options: readonly string[]): Promise<NatsServer> {
  const port = await freePort();
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    server = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port), ...options], { stdio: 'ignore' });
    await eventually(async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect').finally(() => socket.destroy());
    });
  }

  async function kill(): Promise<void> {
    if (server === undefined) return;
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    server = undefined;
    await ended;
  }

  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    start,
    kill,
    stop: kill,
    pause: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),
  };
}
