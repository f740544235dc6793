// A charger that starts anew while its connector is locked: it is at its own fail-safe, and nobody takes that from it.
import { beforeEach, describe, expect, it } from 'vitest';
import type { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { createConnectorActor, lockAt } from './connector-actor.js';
import { budgetOf, newSupervisor, SPEC } from './location-parts.js';

/** More than the 6 A of a lock, less than the fail-safes of both chargers, which keep nothing over a start. */
const LOW_W = 5_000;

let supervisor: LocationSupervisor;
let hb: number;

function hear(key: string, nowMs: number, said: Partial<MeterReading>): void {
  const control = supervisor.controls.get(key);
  if (control === undefined) throw new Error(`no connector ${key}`);
  const reading = { boot: 'a', hb: ++hb, status: 'Charging', powerW: 0, limitA: 6, ...said } as const;
  supervisor.meters.record(control.slot, reading, nowMs);
  supervisor.hear(control, reading, nowMs);
}

/** What the locked connector is told once its charger started anew and the limit fell, A; undefined where nothing. */
function toldA(said: Partial<MeterReading>): number | undefined {
  hear('locked', 20_000, { boot: 'b', ...said });
  const { grants } = supervisor.decide(budgetOf(LOW_W), 20_000);
  expect(supervisor.ledger.totalW).toBeGreaterThan(LOW_W);
  const told = grants.find(({ control }) => control.key === 'locked');
  return told && told.grant.limitTenthsA / 10;
}

beforeEach(() => {
  hb = 0;
  supervisor = newSupervisor();
  for (const key of ['locked', 'other']) {
    const actor = createConnectorActor(key);
    actor.send({ type: 'meter.heard' });
    if (key === 'locked') lockAt(actor, 11);
    const control = supervisor.place({ key, spec: SPEC }, actor, 0);
    supervisor.describe(control, { failsafeA: 6, lease: 'heartbeat', keepsThen: false, boot: 'a' });
    hear(key, 0, {});
  }
  // Both have more than that by the time at which it falls, and the other does not follow yet.
  supervisor.decide({ ...budgetOf(30_000), lowestW: LOW_W }, 5_000);
});

describe('A locked charger that started anew, where the others have made no room yet', () => {
  it('is told the 6 A that it is at', () => {
    expect(toldA({})).toBe(6);
  });

  it('is left as it is where it may be at them on fewer phases', () => {
    expect(toldA({ session: 'one', currentA: [0, 0, 0] })).toBeUndefined();
  });

  it('is told 0 A where it is at less', () => {
    expect(toldA({ limitA: 0 })).toBe(0);
  });
});
