// The wire of an ordered connection: it delivers held messages as soon as it is mended.
import { expect, it } from 'vitest';
import type { ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { Agenda } from '../../../sim/world/agenda.js';
import { CALM, type Weather, Wire } from '../../../sim/world/wire.js';

const HELD: Weather = { ...CALM, holdShare: 1, holdMs: 120_000 };
/** Longest delay of a message without a fault, ms. */
const USUAL_MS = 50;

/**
 * An ordered wire that is up, with functions to send on it and to pass time; `heard` holds arrivals with their times.
 */
function ordered() {
  let nowMs = 0;
  const agenda = new Agenda({ nowMs: () => nowMs, monotonicMs: () => nowMs });
  const heard: { readonly word: string; readonly atMs: number }[] = [];
  const wire = new Wire({
    address: {
      tenantUuid: 'tenant' as TenantUuid,
      locationId: 'quay' as LocationId,
      controllerUuid: 'quay-a' as ControllerUuid,
    },
    receiver: { limit() {}, sync() {}, answer() {} },
    agenda,
    seed: 1,
    isOrdered: true,
  });
  wire.isUp = true;
  return {
    wire,
    heard,
    say: (word: string) => wire.travelUp({ arrive: () => heard.push({ word, atMs: nowMs }) }),
    passTo(untilMs: number) {
      for (; agenda.nextMs <= untilMs; agenda.happen()) nowMs = Math.max(nowMs, agenda.nextMs);
      nowMs = untilMs;
    },
  };
}

it('delays messages in bad weather, and later messages until those have arrived', () => {
  const { wire, heard, say, passTo } = ordered();
  wire.weather = HELD;
  say('held');
  wire.weather = CALM;
  say('after it');
  passTo(10_000);
  expect(heard).toEqual([]);
  passTo(130_000);
  expect(heard.map(({ word }) => word)).toEqual(['held', 'after it']);
});

it('delivers delayed messages in order as soon as it is mended, and later messages as usual', () => {
  const { wire, heard, say, passTo } = ordered();
  wire.weather = HELD;
  for (const word of ['first', 'second']) say(word);
  passTo(5_000);
  wire.mend();
  say('then');
  passTo(300_000);
  expect(heard.map(({ word }) => word)).toEqual(['first', 'second', 'then']);
  for (const { atMs } of heard) expect(atMs).toBeLessThanOrEqual(5_000 + USUAL_MS);
});
