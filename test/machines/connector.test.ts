// Effect of a connector's reported voltage on the power reserved for its current (R11), and of its first report to a new
// service on its phases (R34).
import { expect, it } from 'vitest';
import { Ledger } from '../../machines/ledger/ledger.js';
import { createConnector } from '../../machines/power/connector.js';
import { applyReading } from '../../machines/power/connector-readings.js';
import { ConnectorRegistry } from '../../machines/power/connector-registry.js';
import { NO_FUSES } from '../../machines/power/fuses.js';
import { MeterLedger } from '../../machines/power/meter-ledger.js';
import { createConnectorActor } from './connector-actor.js';

const TIMING = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
const SPEC = { phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6, isActive: true } as const;

const MINUTE_MS = 60_000;

/** W reserved for a connector with a fail-safe of 6 A after each of the voltage readings, which are a minute apart. */
function reservedW(...readings: readonly (readonly number[] | undefined)[]): readonly number[] {
  const ledger = new Ledger(TIMING);
  const slot = new MeterLedger(30_000).addConnector('crane/1');
  const provisioned = { spec: SPEC, timing: TIMING, fuses: NO_FUSES };
  const before = { lease: 'heartbeat', isNonCompliant: false, lastW: 0 } as const;
  const actor = createConnectorActor('crane/1');
  const connector = createConnector(ledger, 'crane/1', slot, actor, provisioned, before, 0);
  return readings.map((voltageV, i) => {
    applyReading(connector, { powerW: 0, boot: 'b', hb: i + 1, voltageV }, 1, {
      now: i * MINUTE_MS,
      nowMs: i * MINUTE_MS,
    });
    return connector.account.boundW;
  });
}

it('counts the highest measured phase (rule 11)', () => {
  expect(reservedW(undefined, [229.2, 232, 228], [231.4, 240, 229])).toEqual(
    [253, 232, 240].map((voltageV) => voltageV * 18),
  );
});

it('counts at least the nominal voltage: where it sags, it may be back before the next reading', () => {
  expect(reservedW([221, 220, 219], [208, 208, 208])).toEqual([4140, 4140]);
});

it('counts a voltage for an hour after it was measured last', () => {
  const quiet = Array.from({ length: 61 }, () => [231, 231, 231]);
  const reserved = reservedW([238, 238, 238], [240, 240, 240], ...quiet);
  expect(reserved.slice(1, 61)).toEqual(Array.from({ length: 60 }, () => 240 * 18));
  expect(reserved.slice(61)).toEqual([231 * 18, 231 * 18]);
});

it('takes a voltage that cannot be one for no measurement: it makes no room for more current', () => {
  expect(reservedW([0, 0, 0], [-230, 0, 12], [], [206.9, 0, 0])).toEqual([4554, 4554, 4554, 4554]);
  expect(reservedW([230, 230, 230], [0, 0, 0])).toEqual([4140, 4140]);
});

it('accepts no more than 15 % above the nominal voltage', () => {
  expect(reservedW([400, 400, 400])).toEqual([265 * 18]);
});

it('is reserved on all phases by the first report to a new service that shows current on another phase (R34)', () => {
  const registry = new ConnectorRegistry(new Ledger(TIMING), new MeterLedger(30_000), TIMING);
  const boundsWith = (key: string, currentA: readonly number[]) => {
    const promised = { limitTenthsA: 200, thenTenthsA: 0, lease: 'heartbeat', phases: 1 } as const;
    const spec = { ...SPEC, failsafeA: 0 };
    const connector = registry.place({ key, spec, promised }, createConnectorActor(key), 0);
    const held = { boot: 'b', hb: 1, session: 's', epoch: 1, seq: 7, limitA: 20 };
    applyReading(connector, { ...held, powerW: 4_600, currentA }, 2, { now: 1_000, nowMs: 1_000 });
    return connector.account.bounds;
  };
  expect(boundsWith('crane/1', [20, 0, 0])).toEqual([200, 0, 0]);
  expect(boundsWith('crane/2', [20, 20, 20])).toEqual([200, 200, 200]);
});
