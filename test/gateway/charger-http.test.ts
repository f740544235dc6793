// An HTTP client without a name or a password at the port for chargers: it ends nothing, and leaves room for chargers.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createGatewayMetrics } from '../../src/gateway/gateway-metrics.js';
import { ChargerHttp } from '../../src/gateway/ocpp/charger-http.js';

let http: ChargerHttp | undefined;
const opened: Socket[] = [];

afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await http?.close();
  http = undefined;
});

async function listening(openFiles?: number) {
  const metrics = createGatewayMetrics({ processMetrics: false });
  const asked: string[] = [];
  http = new ChargerHttp({
    tls: undefined,
    metrics,
    openFiles,
    onUpgrade: ({ url = '' }, socket) => {
      asked.push(url);
      socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
    },
  });
  const port = await http.listen(0, '127.0.0.1');
  const socketTo = async () => {
    const socket = connect(port, '127.0.0.1');
    opened.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const refusals = async () => (await metrics.refusals.get()).values;
  return { asked, socketTo, refusals };
}

const upgrade = (path: string) =>
  `GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`;

it('The charger port survives clients that send an invalid path and reset the connection', async () => {
  const { asked, socketTo } = await listening();
  for (let i = 0; i < 100; i++) {
    const socket = await socketTo();
    socket.write(upgrade('/%ff'));
    if (i % 2 === 0) await new Promise(setImmediate);
    socket.resetAndDestroy();
  }
  const good = await socketTo();
  good.write(upgrade('/ocpp/quay-a'));
  await once(good, 'data');
  expect(asked).toEqual(['/ocpp/quay-a']);
});

it('The charger port closes the oldest silent connections if there are too many, and keeps those with requests', async () => {
  const { asked, socketTo, refusals } = await listening(12);
  const [first, second] = [await socketTo(), await socketTo()];
  const gone = Promise.all([once(first, 'close'), once(second, 'close')]);
  const stays = await socketTo();
  stays.write(upgrade('/ocpp/quay-a'));
  await once(stays, 'data');
  for (let i = 0; i < 3; i++) await socketTo();
  await gone;
  expect(await refusals()).toEqual([{ labels: { reason: 'silent' }, value: 2 }]);
  expect(asked).toHaveLength(1);
});
