// A charger out of reach takes no lower limit. A lock whose 6 A do not fit beside the charger's entitlement waits for
// the end of that.
import { beforeEach, describe, expect, it } from 'vitest';
import type { LeaseKind } from '../../machines/ledger/grant.js';
import type { Connector } from '../../machines/power/connector.js';
import type { ConnectorActor } from '../../machines/power/connector.machine.js';
import type { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { createConnectorActor, decideWith, lockAt } from './connector-actor.js';
import { budgetOf, newSupervisor, SPEC } from './location-parts.js';

/** More than the 6 A of one connector, and less than the 6 A of two. */
const LIMIT_W = 7_000;
/** The 6 A of two connectors. Without a measured voltage, a current counts with 10 % more power (R11). */
const BOTH_W = 2 * 6 * 3 * 253;
const TOLD_AT_MS = 5_000;
const GONE_AT_MS = 15_000;
const LOCKED_AT_MS = 20_000;
const SETTLE_MS = 10_000;
/** The first grant answers a heartbeat at 0. */
const LEASE_OVER_AT_MS = 61_200 + SETTLE_MS;

interface Placed {
  readonly actor: ConnectorActor;
  readonly connector: Connector;
}

let supervisor: LocationSupervisor;
let hb: number;
let locked: Placed;

function place(key: string, lease: LeaseKind): Placed {
  const actor = createConnectorActor(key);
  const connector = supervisor.place({ key, spec: { ...SPEC, failsafeA: 0 } }, actor, 0);
  supervisor.describe(connector, { failsafeA: 0, lease, keepsThen: true, boot: 'a' }, 0);
  return { actor, connector };
}

function hear({ actor, connector }: Placed, nowMs: number, said: Partial<MeterReading> = {}): void {
  actor.send({ type: 'meter.received' });
  const reading = { boot: 'a', hb: ++hb, status: 'Charging', powerW: 0, limitA: 0, ...said } as const;
  supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
  supervisor.receive(connector, reading, { now: nowMs, nowMs });
}

/** Acknowledges the last limit. */
function take({ connector }: Placed, nowMs: number): void {
  const { lastSeq: seq } = connector.account;
  supervisor.applyAck(connector, { epoch: 1, seq, boot: 'a', result: 'APPLIED', appliedA: undefined }, nowMs);
}

function goAway({ actor, connector }: Placed): void {
  actor.send({ type: 'charger.disconnected' });
  supervisor.lose(connector);
}

/** New limits sent at `nowMs`, A, by connector. */
function toldAt(nowMs: number, limitW = LIMIT_W): Record<string, number> {
  const { grants } = decideWith(supervisor, budgetOf(limitW), nowMs);
  return Object.fromEntries(grants.map(({ connector, grant }) => [connector.key, grant.limitTenthsA / 10]));
}

/** Locks the connector, so that it is due at least 6 A under any limit. */
function lock(): void {
  hear(locked, LOCKED_AT_MS);
  lockAt(locked.actor, 11);
}

beforeEach(() => {
  hb = 0;
  supervisor = newSupervisor();
  locked = place('locked', 'heartbeat');
  hear(locked, 0, { status: 'Available' });
});

describe('A lock beside an unreachable charger without a lease whose last limit was 6 A', () => {
  let other: Placed;

  beforeEach(() => {
    other = place('other', 'none');
    hear(other, 0);
    expect(toldAt(TOLD_AT_MS)).toEqual({ locked: 0, other: 6 });
    take(other, TOLD_AT_MS);
    goAway(other);
    toldAt(GONE_AT_MS);
  });

  it('waits until the lease of those would have ended, and no longer, though its maximum is reserved', () => {
    lock();
    const { nextAtMs } = decideWith(supervisor, budgetOf(LIMIT_W), LEASE_OVER_AT_MS - 1_000);
    expect(nextAtMs).toBe(LEASE_OVER_AT_MS);
    expect(toldAt(nextAtMs - 1)).toEqual({});
    expect(toldAt(nextAtMs)).toEqual({ locked: 6 });
  });

  it('waits after its return until it has followed its limit for the lock', () => {
    lock();
    expect(toldAt(LOCKED_AT_MS)).toEqual({});
    hear(other, LOCKED_AT_MS + 1_000, { limitA: 6 });
    expect(toldAt(LOCKED_AT_MS + 1_000)).toEqual({ other: 0 });
    take(other, LOCKED_AT_MS + 2_000);
    expect(toldAt(LOCKED_AT_MS + 2_000 + SETTLE_MS - 1)).toEqual({});
    expect(toldAt(LOCKED_AT_MS + 2_000 + SETTLE_MS)).toEqual({ locked: 6 });
  });

  it('does not wait where both fit', () => {
    lock();
    expect(toldAt(LOCKED_AT_MS, BOTH_W - 1)).toEqual({});
    expect(toldAt(LOCKED_AT_MS + 1, BOTH_W)).toEqual({ locked: 6 });
  });

  it('does not wait where that is locked, and would keep its 6 A', () => {
    lockAt(other.actor, 11);
    lock();
    expect(toldAt(LOCKED_AT_MS)).toEqual({ locked: 6 });
  });

  it('is waited for by the other members of a cluster', () => {
    const { reserved } = supervisor;
    const inCluster = { ...budgetOf(LIMIT_W), clusterShareW: LIMIT_W };
    decideWith(supervisor, inCluster, LEASE_OVER_AT_MS - 1);
    expect(reserved.isReleasing).toBe(true);
    decideWith(supervisor, inCluster, LEASE_OVER_AT_MS);
    expect(reserved.isReleasing).toBe(false);
  });
});

it('A lock that can never fit waits for the lease of a charger that is out of reach', () => {
  const other = place('other', 'heartbeat');
  hear(other, 0);
  expect(toldAt(TOLD_AT_MS)).toEqual({ locked: 0, other: 9.2 });
  take(other, TOLD_AT_MS);
  goAway(other);
  // A third charger has never reported, and its maximum is reserved.
  place('third', 'none');
  lock();
  expect(toldAt(LOCKED_AT_MS)).toEqual({});
  expect(toldAt(LEASE_OVER_AT_MS - 1)).toEqual({});
  expect(toldAt(LEASE_OVER_AT_MS)).toEqual({ locked: 6 });
});
