// The 6 A of a lock beside a charger without a lease, whose maximum leaves no remaining capacity for them (R44).
import { beforeEach, describe, expect, it } from 'vitest';
import type { Connector } from '../../machines/power/connector.js';
import type { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { decideWith, lockAt } from './connector-actor.js';
import { budgetOf, newSupervisor, placeInReach } from './location-parts.js';

/** More than the maximum of one charger at 10 % above its voltage, and less than this plus 6 A. */
const LIMIT_W = 25_000;
const SETTLE_MS = 10_000;
/** A lease by a slow clock, and the settling time. */
const OVER_MS = 61_200 + SETTLE_MS;
const LOCKED_AT_MS = 40_000;

let supervisor: LocationSupervisor;
let hb: number;

function place(key: string): Connector {
  return placeInReach(supervisor, key);
}

function describeAs(connector: Connector, lease: 'heartbeat' | 'none'): void {
  supervisor.describe(connector, { failsafeA: 0, lease, keepsThen: true, boot: 'a' }, 0);
}

function hear(connector: Connector, nowMs: number, said: Partial<MeterReading> = {}): void {
  const reading = { boot: 'a', hb: ++hb, status: 'Charging', powerW: 0, limitA: 0, ...said } as const;
  supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
  supervisor.receive(connector, reading, { now: nowMs, nowMs });
  supervisor.renew(connector, nowMs);
}

/** The charger acknowledges its last limit. */
function take(connector: Connector, nowMs: number): void {
  const { lastSeq: seq } = connector.account;
  const ack = { epoch: 1, seq, boot: 'a', result: 'APPLIED', appliedA: undefined } as const;
  supervisor.applyAck(connector, ack, nowMs);
}

function leave(connector: Connector): void {
  connector.actor.send({ type: 'meter.missed' });
  supervisor.lose(connector);
}

/** New limits sent at `nowMs`, A, by connector. */
function toldAt(nowMs: number, limitW = LIMIT_W): Record<string, number> {
  const { grants } = decideWith(supervisor, budgetOf(limitW), nowMs);
  return Object.fromEntries(grants.map(({ connector, grant }) => [connector.key, grant.limitTenthsA / 10]));
}

beforeEach(() => {
  supervisor = newSupervisor();
  hb = 0;
});

describe('A lock beside a connector whose limit is its maximum, and not applied yet', () => {
  let other: Connector;
  let locked: Connector;

  beforeEach(() => {
    [other, locked] = [place('other'), place('locked')];
    describeAs(other, 'none');
    hear(other, 0);
    hear(locked, 0);
    expect(toldAt(5_000)).toEqual({ locked: 0, other: 32 });
    for (const nowMs of [10_000, 20_000, 30_000]) hear(other, nowMs);
    hear(locked, 30_000);
    lockAt(locked.actor, 22);
  });

  it('waits until it has taken 6 A for the lock, and has settled', () => {
    expect(toldAt(LOCKED_AT_MS)).toEqual({ other: 6 });
    take(other, LOCKED_AT_MS + 1_000);
    expect(toldAt(LOCKED_AT_MS + SETTLE_MS)).toEqual({});
    expect(toldAt(LOCKED_AT_MS + 1_000 + SETTLE_MS)).toEqual({ locked: 6 });
  });

  it.each([
    ['takes nothing', () => {}, { other: 6 }],
    ['is out of reach', () => leave(other), {}],
  ])('waits no longer than for a lease where it %s', (_, happen, sent) => {
    happen();
    expect(toldAt(LOCKED_AT_MS)).toEqual(sent);
    expect(toldAt(30_000 + OVER_MS - 1)).toEqual({});
    expect(toldAt(30_000 + OVER_MS)).toEqual({ locked: 6 });
  });
});

it('A lock waits for a charger that returns, which gets less only after the lock', () => {
  const [back, leaseless, locked] = [place('back'), place('leaseless'), place('locked')];
  for (const connector of [back, leaseless, locked]) hear(connector, 0, { status: 'Available' });
  hear(back, 1_000);
  expect(toldAt(5_000)).toMatchObject({ back: 32 });
  take(back, 5_000);
  leave(back);
  describeAs(leaseless, 'none');
  leave(leaseless);
  hear(locked, 30_000);
  expect(toldAt(30_000)).toEqual({});
  lockAt(locked.actor, 22);
  back.actor.send({ type: 'meter.received' });
  hear(back, 35_000, { limitA: 32, powerW: 22_080 });
  expect(toldAt(35_000)).toEqual({ back: 0 });
  take(back, 36_000);
  expect(toldAt(36_000 + SETTLE_MS - 1)).toEqual({});
  expect(toldAt(36_000 + SETTLE_MS)).toEqual({ locked: 6 });
});

describe('A lock beside one without a lease that has 6 A, where there is no room for both', () => {
  /** More than the 6 A of one charger at 10 % above its voltage, and less than that of two. */
  const LOW_W = 6_000;
  let other: Connector;

  beforeEach(() => {
    const locked = place('locked');
    other = place('other');
    describeAs(other, 'none');
    hear(other, 0);
    hear(locked, 0, { status: 'Available' });
    decideWith(supervisor, budgetOf(LOW_W), 5_000);
    take(other, 6_000);
    for (const nowMs of [10_000, 15_000, 20_000, 25_000, 30_000])
      hear(other, nowMs, { limitA: 6, powerW: 4_140 });
    toldAt(30_000, LOW_W);
    hear(locked, 32_000);
    lockAt(locked.actor, 22);
    expect(other.granted.sentTenthsA).toBe(60);
  });

  it('waits until that has taken 0 A, and has settled', () => {
    take(other, 33_000);
    expect(toldAt(LOCKED_AT_MS, LOW_W)).toEqual({ other: 0 });
    take(other, LOCKED_AT_MS + 1_000);
    expect(toldAt(LOCKED_AT_MS + SETTLE_MS, LOW_W)).toEqual({});
    expect(toldAt(LOCKED_AT_MS + 1_000 + SETTLE_MS, LOW_W)).toEqual({ locked: 6 });
  });

  it('waits no longer than for a lease where that has taken nothing for a while', () => {
    expect(toldAt(LOCKED_AT_MS, LOW_W)).toEqual({ other: 0 });
    expect(toldAt(30_000 + OVER_MS - 1, LOW_W)).toEqual({});
    expect(toldAt(30_000 + OVER_MS, LOW_W)).toEqual({ locked: 6 });
  });
});

it.each([
  ['takes nothing newer', () => {}, { other: 0 }],
  ['goes out of reach', leave, {}],
])(
  'A lock waits no longer than for a lease if another charger reports open ends of leases, and %s',
  (_, happen, sent) => {
    const [other, locked] = [place('other'), place('locked')];
    hear(other, 0);
    hear(locked, 0, { status: 'Available' });
    expect(toldAt(5_000)).toMatchObject({ other: 32 });
    take(other, 6_000);
    hear(other, 30_000, { limitA: 32, powerW: 22_080, isEndOpen: true });
    hear(locked, 30_000);
    lockAt(locked.actor, 22);
    happen(other);
    expect(toldAt(LOCKED_AT_MS)).toEqual(sent);
    expect(toldAt(30_000 + OVER_MS - 1)).toEqual({});
    expect(toldAt(30_000 + OVER_MS)).toEqual({ locked: 6 });
  },
);
