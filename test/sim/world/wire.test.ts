// The wire of a connection that keeps the order of what it carries: what was held back waits no longer once it is mended.
import { expect, it } from 'vitest';
import type { ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { Agenda } from '../../../sim/world/agenda.js';
import { CALM, type Weather, Wire } from '../../../sim/world/wire.js';

const HELD: Weather = { ...CALM, holdShare: 1, holdMs: 120_000 };
/** A message takes no longer where nothing is wrong, ms. */
const USUAL_MS = 50;

/** An ordered wire that is up, and how to say something on it and let time pass; `heard` is what arrived, and when. */
function ordered() {
  let nowMs = 0;
  const agenda = new Agenda(() => nowMs);
  const heard: { readonly word: string; readonly atMs: number }[] = [];
  const wire = new Wire({
    address: {
      tenantUuid: 'tenant' as TenantUuid,
      locationId: 'quay' as LocationId,
      controllerUuid: 'quay-a' as ControllerUuid,
    },
    receiver: { limit() {}, sync() {}, answer() {} },
    agenda,
    monotonicMs: () => nowMs,
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

it('holds back what is said in bad weather, and what is said after it until that has arrived', () => {
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

it('delivers all that it held as soon as it is mended, in its order, and what is said then as usual', () => {
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
