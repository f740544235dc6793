// A restarted charger. A locked one keeps its own fail-safe. A lock waits for the draw of another one from before its
// restart.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Connector } from '../../machines/power/connector.js';
import type { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { createConnectorActor, decideWith, lockAt } from './connector-actor.js';
import { budgetOf, newSupervisor, SPEC } from './location-parts.js';

/** More than the 6 A of a lock, and less than both fail-safes. The chargers keep no `thenA` over a restart. */
const LOW_W = 5_000;

let supervisor: LocationSupervisor;
let hb: number;

function connectorOf(key: string): Connector {
  const connector = supervisor.connectors.get(key);
  if (connector === undefined) throw new Error(`no connector ${key}`);
  return connector;
}

function hear(key: string, nowMs: number, said: Partial<MeterReading>): void {
  const connector = connectorOf(key);
  const reading = { boot: 'a', hb: ++hb, status: 'Charging', powerW: 0, limitA: 6, ...said } as const;
  supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
  supervisor.receive(connector, reading, { now: nowMs, nowMs });
}

/**
 * The limit sent to the locked connector after its charger restarted and the location's limit fell, A. undefined if
 * none was sent.
 */
function toldA(said: Partial<MeterReading>): number | undefined {
  hear('locked', 20_000, { boot: 'b', ...said });
  const { grants } = decideWith(supervisor, budgetOf(LOW_W), 20_000);
  expect(supervisor.ledger.totalW).toBeGreaterThan(LOW_W);
  const sent = grants.find(({ connector }) => connector.key === 'locked');
  return sent && sent.grant.limitTenthsA / 10;
}

beforeEach(() => {
  hb = 0;
  supervisor = newSupervisor();
  for (const key of ['locked', 'other']) {
    const actor = createConnectorActor(key);
    actor.send({ type: 'meter.received' });
    if (key === 'locked') lockAt(actor, 11);
    const connector = supervisor.place({ key, spec: SPEC }, actor, 0);
    supervisor.describe(connector, { failsafeA: 6, lease: 'heartbeat', keepsThen: false, boot: 'a' }, 0);
    hear(key, 0, {});
  }
  // Both chargers have more than that when the limit falls, and the other one does not follow yet.
  decideWith(supervisor, { ...budgetOf(30_000), lowestW: LOW_W, lowestOwnW: LOW_W }, 5_000);
});

describe('A locked charger that started anew, where the others have made no room yet', () => {
  it('is sent its present 6 A', () => {
    expect(toldA({})).toBe(6);
  });

  it('is left as it is where it may be at them on fewer phases', () => {
    expect(toldA({ session: 'one', currentA: [0, 0, 0] })).toBeUndefined();
  });

  it('is sent 0 A if it is at less', () => {
    expect(toldA({ limitA: 0 })).toBe(0);
  });
});

describe('A lock whose 6 A another charger makes room for, which starts anew and has no lease', () => {
  const SETTLE_MS = 10_000;
  /** The other charger is sent 0 A for the lock at LOWERED_AT_MS and restarts at STARTED_AT_MS. */
  const LOWERED_AT_MS = 20_000;
  const STARTED_AT_MS = 25_000;

  /** New limits sent at `nowMs`, A, by connector. */
  function toldAt(nowMs: number): Record<string, number> {
    const { grants } = decideWith(supervisor, budgetOf(LOW_W), nowMs);
    return Object.fromEntries(grants.map(({ connector, grant }) => [connector.key, grant.limitTenthsA / 10]));
  }

  /** The other charger acknowledges its last limit. */
  function take(boot: string, nowMs: number): void {
    const connector = connectorOf('other');
    const ack = {
      epoch: 1,
      seq: connector.account.lastSeq,
      boot,
      result: 'APPLIED',
      appliedA: undefined,
    } as const;
    supervisor.applyAck(connector, ack, nowMs);
  }

  /** The restarted charger reports its maximum as its fallback, until it has a fail-safe profile. */
  function startOther(): void {
    const own = { failsafeA: 32, lease: 'none', keepsThen: false, boot: 'b' } as const;
    supervisor.describe(connectorOf('other'), own, STARTED_AT_MS);
    hear('other', STARTED_AT_MS, { boot: 'b', limitA: 0 });
  }

  beforeEach(() => {
    hb = 0;
    supervisor = newSupervisor();
    const place = (key: string, said: Partial<MeterReading>) => {
      const actor = createConnectorActor(key);
      actor.send({ type: 'meter.received' });
      const connector = supervisor.place({ key, spec: { ...SPEC, failsafeA: 0 } }, actor, 0);
      supervisor.describe(connector, { failsafeA: 0, lease: 'heartbeat', keepsThen: true, boot: 'a' }, 0);
      hear(key, 0, { limitA: 0, ...said });
      return actor;
    };
    place('other', {});
    const locked = place('locked', { status: 'Available' });
    expect(toldAt(5_000)).toEqual({ locked: 0, other: 6.5 });
    take('a', 5_000);
    hear('other', LOWERED_AT_MS, { limitA: 6.5, powerW: 4_485 });
    hear('locked', LOWERED_AT_MS, { limitA: 0 });
    lockAt(locked, 11);
    expect(toldAt(LOWERED_AT_MS)).toEqual({ other: 0 });
  });

  it("waits until the other's current has settled, and no longer, though its maximum is reserved", () => {
    take('a', LOWERED_AT_MS);
    startOther();
    expect(toldAt(STARTED_AT_MS)).toEqual({ other: 0 });
    expect(toldAt(LOWERED_AT_MS + SETTLE_MS - 1)).toEqual({});
    expect(toldAt(LOWERED_AT_MS + SETTLE_MS)).toEqual({ locked: 6 });
  });

  it('waits, if it had not applied that before, until it applies its new limit', () => {
    startOther();
    expect(toldAt(STARTED_AT_MS)).toEqual({ other: 0 });
    take('b', STARTED_AT_MS + 1_000);
    expect(toldAt(STARTED_AT_MS + SETTLE_MS)).toEqual({});
    expect(toldAt(STARTED_AT_MS + 1_000 + SETTLE_MS)).toEqual({ locked: 6 });
  });

  it('waits for one that takes nothing no longer than for a lease', () => {
    startOther();
    expect(toldAt(STARTED_AT_MS)).toEqual({ other: 0 });
    // The last grant answers the heartbeat at 0.
    const leaseOverAtMs = 61_200 + SETTLE_MS;
    const { nextAtMs } = decideWith(supervisor, budgetOf(LOW_W), leaseOverAtMs - 1_000);
    expect(nextAtMs).toBe(leaseOverAtMs);
    expect(toldAt(nextAtMs - 1)).toEqual({});
    expect(toldAt(nextAtMs)).toEqual({ locked: 6 });
  });
});

describe('Chargers that keep nothing over a start, in a cluster that leaves less than their fail-safes', () => {
  const reservedAnywayA = () =>
    ['locked', 'other'].map((key) => connectorOf(key).account.ownFailsafeTenthsA / 10);

  it('have these reserved all the same: the limit of the location itself holds them', () => {
    decideWith(supervisor, { ...budgetOf(11_000), lowestW: LOW_W, lowestOwnW: 11_000 }, 20_000);
    expect(reservedAnywayA()).toEqual([6, 6]);
    decideWith(supervisor, { ...budgetOf(11_000), lowestW: LOW_W, lowestOwnW: LOW_W }, 30_000);
    expect(reservedAnywayA()).toEqual([0, 0]);
  });
});
