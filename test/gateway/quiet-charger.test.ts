// The gateway pings a silent charger to check its connection, and not one that sends messages.
import { once } from 'node:events';
import { RPCClient } from 'ocpp-rpc';
import { afterEach, expect, it, vi } from 'vitest';
import { eventually } from '../eventually.js';
import { CLIENT, type OcppSite, runOcppSite } from './ocpp-site.js';

/** For the gateway alone: the service keeps its own. */
const HEARTBEAT_S = 2;
let running: OcppSite;

class PingedClient extends RPCClient {
  pings = 0;

  override async connect(): Promise<unknown> {
    const connected = await super.connect();
    this._ws?.on('ping', () => this.pings++);
    return connected;
  }

  /** Pings, and waits for the answer without a limit. */
  async ping(): Promise<void> {
    if (this._ws === undefined) throw new Error('not connected');
    this._ws.ping();
    await once(this._ws, 'pong');
  }
}

afterEach(() => running.stop());

it('A charger is pinged after it is silent, and not before', async () => {
  running = await runOcppSite({ heartbeatS: HEARTBEAT_S });
  const client = new PingedClient({ ...CLIENT, endpoint: running.ocppUrl });
  // An answer would count as a message from the charger.
  client.handle(() => new Promise(() => {}));
  await client.connect();
  let receivedAtMs = performance.now();
  let sinceMs = receivedAtMs;
  await eventually(async () => {
    await client.call('Heartbeat', {});
    const nowMs = performance.now();
    // A stalled process was silent and may have been pinged, so the count begins again.
    if (nowMs - receivedAtMs > 500 * HEARTBEAT_S) {
      sinceMs = nowMs;
      client.pings = 0;
    }
    receivedAtMs = nowMs;
    expect(nowMs - sinceMs).toBeGreaterThan(1.5 * 1000 * HEARTBEAT_S);
  });
  expect(client.pings).toBe(0);
  await eventually(() => expect(client.pings).toBeGreaterThan(0));
  await client.close({ force: true });
});

it('A charger that sends only pings counts as connected', async () => {
  running = await runOcppSite({ heartbeatS: HEARTBEAT_S });
  const client = new PingedClient({ ...CLIENT, endpoint: running.ocppUrl });
  await client.connect();
  await eventually(() => expect(running.gateway.bridges[0]?.isOpen).toBe(true));
  const { session } = running.gateway.bridges[0] ?? {};
  if (session === undefined) throw new Error('there is no charger');
  const heard = vi.spyOn(session, 'received');
  for (let pongs = 0; pongs < 40; pongs++) await client.ping();
  expect(heard.mock.calls.length).toBeGreaterThanOrEqual(40);
  await client.close({ force: true });
});
