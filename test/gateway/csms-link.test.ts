// The connection to a management system that accepts it, and ends it.
import { afterEach, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { createGatewayMetrics } from '../../src/gateway/gateway-metrics.js';
import { CsmsLink } from '../../src/gateway/ocpp/csms-link.js';
import { eventually } from '../eventually.js';
import { silentLog } from '../service/running-service.js';
import { type Csms, createCsms } from './csms.js';

const GIVES_UP_MS = 5_000;
const SETTLED_MS = 60_000;

let csms: Csms;
let link: CsmsLink;

afterEach(async () => {
  await link.end();
  await csms.stop();
});

it('The connection to a CSMS is retried with growing delays, which reset after a connection of one minute', async () => {
  csms = await createCsms();
  await csms.start();
  const clock = createVirtualClock(0);
  const waits: number[] = [];
  link = new CsmsLink({
    url: csms.url,
    identity: 'quay-a',
    password: undefined,
    random: () => 0.5,
    clock: {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, callback) => {
        if (delayMs !== GIVES_UP_MS && delayMs !== SETTLED_MS) waits.push(delayMs);
        return clock.after(delayMs, callback);
      },
    },
    log: silentLog,
    rareLog: () => {},
    metrics: createGatewayMetrics({ processMetrics: false }),
  });
  /**
   * Ends the open connection from the management system's side after `ms`. @returns the delay of the next attempt, ms
   */
  async function endedAfter(ms: number): Promise<number | undefined> {
    const before = waits.length;
    await eventually(() => expect(link.isOpen).toBe(true));
    clock.advance(ms);
    await csms.charger?.close({ force: true });
    await eventually(() => expect(waits.length).toBe(before + 1));
    return waits.at(-1);
  }
  await link.open(['ocpp1.6']);
  for (const [lastsMs, waitMs] of [
    [0, 1_000],
    [0, 2_000],
    [SETTLED_MS - 1, 4_000],
    [SETTLED_MS, 1_000],
  ] as const) {
    expect(await endedAfter(lastsMs)).toBe(waitMs);
    clock.advance(waitMs);
  }
});
