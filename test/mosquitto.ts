// A separate mosquitto for tests: the broker that operators run beside several nodes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';

/**
 * Accepts all clients, by default on a free port of this host. `isClientIdTheUsername` distinguishes clients by their
 * user names, as operators should: ids of chargers are unique only within their tenant.
 */
export async function startMosquitto(
  options: { readonly port?: number; readonly isClientIdTheUsername?: boolean } = {},
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-mosquitto-'));
  const port = options.port ?? (await freePort());
  const file = join(directory, 'mosquitto.conf');
  writeFileSync(
    file,
    `listener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\nmax_queued_messages 0\nuse_username_as_clientid ${options.isClientIdTheUsername ?? false}\n`,
  );
  const broker = spawn('mosquitto', ['-c', file], { stdio: 'ignore' });
  const ended = once(broker, 'exit');
  await eventually(async () => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect').finally(() => socket.destroy());
  });
  return {
    url: `mqtt://127.0.0.1:${port}`,
    async stop() {
      broker.kill();
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
