// The attack bench as an operator runs it, but small: real processes, with an honest tenant next to an attacking one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Dice } from '../../tools/bench/attack-dice.js';
import { Books } from '../../tools/bench/attack-kills.js';
import { needing } from '../needs.js';
import { apiKeyOf, HARBOUR, runService, site, tenantWith } from '../service/running-service.js';

function attack(...options: readonly string[]) {
  const child = spawn(process.execPath, ['dist/tools/bench/attack.js', ...options]);
  onTestFinished(() => void child.kill('SIGTERM'));
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes) => {
      printed += bytes;
    });
  return once(child, 'close').then(([code]) => ({ code: code as number | null, printed }));
}

describe('npm run attack', needing(process.platform === 'linux' ? undefined : 'Linux'), () => {
  it('loses no write, leaks no data and refuses no honest client during 300 requests and two kills', async () => {
    const { code, printed } = await attack('--requests=300', '--packets=1000', '--kills=2', '--seed=5');
    expect(printed).toContain('held: 0 lost, 0 leaks');
    expect(printed).toMatch(/"requests":300,.*"kills":2,.*"lost":0,"leaks":0,/);
    expect(code).toBe(0);
  });

  it('fails if its time is over before all its requests are sent', async () => {
    const { code, printed } = await attack('--minutes=0', '--requests=100', '--packets=0', '--kills=0');
    expect(printed).toMatch(/the time was over after 0 requests, 0 packets and 0 kills\n.*FAILED/s);
    expect(code).toBe(1);
  });

  it('refuses an invalid number', async () => {
    const { code, printed } = await attack('--requests=many');
    expect(printed).toContain('--requests');
    expect(printed).toContain('must be a whole number from 0 to 10000000');
    expect(code).toBe(1);
  });
});

/**
 * Forwards requests to the service at `url`, but answers write number `forgets` itself without forwarding it. Breaks
 * the connection of every write after the first `writes`.
 */
async function forgetfulProxy(url: string, forgets: number, writes: number) {
  let seen = 0;
  const server = createServer((asked, answer) => {
    if (asked.method !== 'GET') seen++;
    if (seen > writes && asked.method !== 'GET') {
      asked.socket.destroy();
      return;
    }
    if (asked.method !== 'GET' && seen === forgets) {
      asked.resume();
      answer.end('{}');
      return;
    }
    const { method, headers, url: path = '/' } = asked;
    const passedOn = request(url + path, { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 0, response.headers);
      response.pipe(answer);
    });
    asked.pipe(passedOn);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each([
  ['nothing', 0, 0],
  ['a write in the middle', 20, 1],
])('Books find %s among the acknowledged but lost writes', async (_, forgets, lost) => {
  const service = await runService([tenantWith(HARBOUR, [site('quay-1'), site('quay-2')])]);
  onTestFinished(() => service.stop());
  const url = await forgetfulProxy(service.httpUrl, forgets, 60);
  const books = new Books(() => url, apiKeyOf(HARBOUR), ['quay-1', 'quay-2']);
  await books.open();
  await books.write(new Dice(1), () => {});
  expect(books.acknowledged).toBe(60);
  expect(await books.checkHistory()).toHaveLength(lost);
});
