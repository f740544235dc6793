// A location without any connected charger, as after each start. Its decisions grant nothing and are rare.
import { describe, expect, it } from 'vitest';
import { createConnectorActor, decideWith } from './connector-actor.js';
import { budgetOf, newSupervisor, SPEC } from './location-parts.js';

const BUDGET = budgetOf(50_000);

function site() {
  const supervisor = newSupervisor();
  const actor = createConnectorActor('c/1');
  const connector = supervisor.place({ key: 'c/1', spec: SPEC }, actor, 0);
  /** The charger connects with a car that draws 16 A, and reports that limit from before the start. */
  const report = (nowMs: number) => {
    const reading = { boot: 'b', hb: 1, status: 'Charging', powerW: 11_000, limitA: 16 } as const;
    supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
    actor.send({ type: 'meter.received' });
    supervisor.receive(connector, reading, { now: nowMs, nowMs });
  };
  return { supervisor, connector, report };
}

describe('A location that no charger has connected to', () => {
  it('decides nothing, and looks at itself again after a minute', () => {
    const { supervisor } = site();
    expect(decideWith(supervisor, BUDGET, 0)).toMatchObject({ grants: [], nextAtMs: 60_000 });
    expect(decideWith(supervisor, BUDGET, 60_000)).toMatchObject({ grants: [], nextAtMs: 120_000 });
  });

  it('reports that its limit does not hold the fail-safes of unreachable connectors', () => {
    const { supervisor, connector } = site();
    const { unattainable } = decideWith(supervisor, { ...BUDGET, budgetW: 1_000, limitW: 1_000 }, 0);
    expect(unattainable).toContain('reserved for connectors that no limit reaches');
    expect(connector.decided).toMatchObject({ targetTenthsA: 60, reason: 'failsafe' });
  });

  it('waits for the others, once a charger reports, to the end of the 3 s since its first decision', () => {
    const { supervisor, report } = site();
    decideWith(supervisor, BUDGET, 0);
    report(1_000);
    expect(decideWith(supervisor, BUDGET, 1_000).nextAtMs).toBe(3_000);
  });
});
