// Effects on a limit while its write is pending persistence.
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ControllerUuid } from '../../../machines/values/ids.js';
import { supervisorOf } from '../../../src/actors/directory.js';
import { CRANE, createHarbour, HARBOUR, location, QUAY, ROWS } from '../harbour.js';

const FIRST = { ...CRANE, failsafeA: 0 };
const SECOND = { ...FIRST, controllerUuid: 'derrick' as ControllerUuid };

/** Two chargers under 30 kW, one with a car. A call of `write` completes the write of their limits. */
async function createQuay() {
  let write: () => void = () => {};
  const isWritten = new Promise<void>((resolve) => {
    write = resolve;
  });
  const locations = [{ ...location(QUAY, [FIRST, SECOND]), permanentLimitKw: 30 }];
  const rows = { ...ROWS, locations, clusters: [], profiles: [] };
  const harbour = createHarbour(rows, () => isWritten);
  const { clock, directory, enforcement, sink, grants } = harbour;
  const say = ({ controllerUuid }: typeof CRANE, lease: 'heartbeat' | 'none') =>
    sink.recordState(HARBOUR, QUAY, controllerUuid, {
      online: true,
      boot: 'b',
      connectors: [{ id: '1', lease, keepsThen: true, failsafeA: 0 }],
    });
  const beat = (charger: typeof CRANE, status: 'Charging' | 'Available') =>
    harbour.meterOf(QUAY, charger).record({ powerW: 0, boot: 'b', hb: 1, status }, clock.monotonicMs());
  enforcement.start();
  for (const charger of [FIRST, SECOND]) say(charger, 'heartbeat');
  beat(FIRST, 'Charging');
  beat(SECOND, 'Available');
  clock.advance(3_100);
  const quay = directory.tenants.get(HARBOUR)?.locations.get(QUAY);
  if (quay === undefined) throw new Error('there is no quay');
  const toldA = () => grants.map(({ limitTenthsA }) => limitTenthsA / 10);
  return {
    clock,
    say,
    toldA,
    reservedW: () => supervisorOf(quay).reservedW,
    async write() {
      write();
      await setImmediate();
    },
  };
}

it('leaves once it is on disk', async () => {
  const { toldA, reservedW, write } = await createQuay();
  // 32 A on three phases of 253 V.
  expect(reservedW()).toBe(24_288);
  expect(toldA()).not.toContain(32);
  await write();
  expect(toldA()).toContain(32);
});

it('leaves no more where another may draw its room by then, and nobody has decided since', async () => {
  const { clock, say, toldA, reservedW, write } = await createQuay();
  say(SECOND, 'none');
  expect(reservedW()).toBe(2 * 24_288);
  await write();
  expect(toldA()).not.toContain(32);
  clock.advance(200);
  await setImmediate();
  expect(toldA()).not.toContain(32);
});
