// Conditions under which a grant may still leave after it was pending persistence.
import { beforeEach, expect, it } from 'vitest';
import { Ledger } from '../../machines/ledger/ledger.js';
import type { Connector } from '../../machines/power/connector.js';
import type { DecidedGrant } from '../../machines/power/granted.js';
import type { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { fitsStill } from '../../machines/power/location-supervisor.js';
import { createConnectorActor, decideWith, lockAt } from './connector-actor.js';
import { budgetOf, newSupervisor, SPEC } from './location-parts.js';

const LIMIT_W = 30_000;
/** End of a lease that answers a heartbeat at 0, settling included. */
const OVER_AT_MS = 71_200;

let supervisor: LocationSupervisor;
let charging: Connector;
let other: Connector;

function place(key: string): Connector {
  const actor = createConnectorActor(key);
  actor.send({ type: 'meter.received' });
  const connector = supervisor.place({ key, spec: { ...SPEC, failsafeA: 0 } }, actor, 0);
  supervisor.describe(connector, { failsafeA: 0, lease: 'heartbeat', keepsThen: true, boot: 'a' }, 0);
  const reading = { boot: 'a', hb: 1, status: 'Charging', powerW: 0, limitA: 0 } as const;
  supervisor.meters.record(connector.telemetry.slot, reading, 0);
  supervisor.receive(connector, reading, { now: 0, nowMs: 0 });
  return connector;
}

/** The same limit again for a heartbeat at 50 s. The grant is pending persistence. */
function prolonged(): DecidedGrant {
  const { account } = charging;
  const { sentTenthsA: limitTenthsA = 0 } = charging.granted;
  const renewal = { limitTenthsA, thenTenthsA: 0, receivedAtMs: 50_000, budgetW: LIMIT_W, isWaiting: true };
  const seq = account.grant(renewal);
  const grant = {
    epoch: 1,
    seq,
    boot: 'a',
    ref: 2,
    ttlMs: 60_000,
    limitTenthsA,
    limitW: 0,
    thenTenthsA: 0,
    thenW: 0,
  };
  return {
    connector: charging,
    grant: { ...grant, reason: 'fairShare' },
    mustStore: true,
    beforeTenthsA: limitTenthsA,
    sentBeforeAtMs: charging.granted.sentAtMs,
    leasedBeforeUntilMs: charging.granted.leasedUntilMs,
  };
}

beforeEach(() => {
  supervisor = newSupervisor();
  [charging, other] = [place('charging'), place('other')];
  for (const decided of decideWith(supervisor, budgetOf(LIMIT_W), 5_000).grants) supervisor.noteLeft(decided);
  expect(charging.granted.sentTenthsA).toBeGreaterThan(60);
});

it('prolongs the limit in force, with or without capacity, until that has ended', () => {
  const decided = prolonged();
  other.account.setWorstCase(true);
  expect(supervisor.ledger.totalW).toBeGreaterThan(LIMIT_W);
  expect(fitsStill(decided, supervisor, OVER_AT_MS - 1)).toBe(true);
  expect(fitsStill(decided, supervisor, OVER_AT_MS)).toBe(false);
});

it('never leaves once its own lease is over, because nothing is reserved for it, whatever the charger reports then', () => {
  const decided = prolonged();
  const overAtMs = OVER_AT_MS + 50_000;
  expect(fitsStill(decided, supervisor, overAtMs - 1)).toBe(true);
  expect(fitsStill(decided, supervisor, overAtMs)).toBe(false);
  supervisor.ledger.release(overAtMs);
  for (const lease of ['none', 'receipt', 'heartbeat'] as const) {
    charging.account.describe({ lease }, overAtMs);
    expect(fitsStill(decided, supervisor, overAtMs)).toBe(false);
  }
});

it('needs room after that, but for the minimum of a lock', () => {
  const decided = prolonged();
  expect(fitsStill(decided, supervisor, OVER_AT_MS)).toBe(true);
  other.account.setWorstCase(true);
  lockAt(charging.actor, 11);
  expect(fitsStill(decided, supervisor, OVER_AT_MS)).toBe(false);
  const least = { ...decided, grant: { ...decided.grant, limitTenthsA: charging.account.leastTenthsA } };
  expect(fitsStill(least, supervisor, OVER_AT_MS)).toBe(true);
});

it('needs fuses that carry it, too', () => {
  charging.account.describe({ circuitPhasesOfPhases: [[0], [0], [0]] });
  const decided = prolonged();
  supervisor.ledger.limitCircuitPhases([decided.grant.limitTenthsA]);
  expect(fitsStill(decided, supervisor, OVER_AT_MS)).toBe(true);
  supervisor.ledger.limitCircuitPhases([decided.grant.limitTenthsA - 1]);
  expect(fitsStill(decided, supervisor, OVER_AT_MS - 1)).toBe(true);
  expect(fitsStill(decided, supervisor, OVER_AT_MS)).toBe(false);
  lockAt(charging.actor, 11);
  expect(fitsStill(decided, supervisor, OVER_AT_MS)).toBe(false);
});

it('does not leave where its first limit no longer fits, because nothing of it is in force', () => {
  supervisor = newSupervisor();
  [charging, other] = [place('charging'), place('other')];
  const { grants } = decideWith(supervisor, budgetOf(LIMIT_W), 5_000);
  const decided = grants.find(({ connector }) => connector === charging);
  if (decided === undefined) throw new Error('nothing was granted');
  expect(decided.mustStore).toBe(true);
  expect(fitsStill(decided, supervisor, 6_000)).toBe(true);
  other.account.setWorstCase(true);
  expect(fitsStill(decided, supervisor, 6_000)).toBe(false);
});

it('leaves the next heartbeat its answer, where it is withdrawn', () => {
  const beat = (hb: number, nowMs: number) => {
    const reading = { boot: 'a', hb, status: 'Charging', powerW: 0, limitA: 21.7 } as const;
    supervisor.meters.record(charging.telemetry.slot, reading, nowMs);
    supervisor.receive(charging, reading, { now: nowMs, nowMs });
  };
  const { sentTenthsA } = charging.granted;
  beat(2, 10_000);
  const { grants } = decideWith(supervisor, budgetOf(2 * LIMIT_W), 19_500);
  const raise = grants.find(({ connector }) => connector === charging);
  expect(raise?.grant.limitTenthsA).toBeGreaterThan(sentTenthsA ?? 0);
  if (raise !== undefined) supervisor.withdraw(raise, 19_500);
  beat(3, 20_000);
  expect(supervisor.renew(charging, 20_000)?.grant).toMatchObject({ limitTenthsA: sentTenthsA, ref: 3 });
});

it('has the lease of the limit before it end too, once the charger reports that it counts from its heartbeats', () => {
  const ledger = new Ledger({ heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 });
  const account = ledger.add('a', {
    maxTenthsA: 320,
    failsafeTenthsA: 0,
    milliwattsPerTenth: 69_000,
    lease: 'receipt',
    keepsThen: true,
  });
  const given = { thenTenthsA: 0, receivedAtMs: 0, budgetW: LIMIT_W };
  account.grant({ ...given, limitTenthsA: 60 });
  account.grant({ ...given, limitTenthsA: 100, isWaiting: true });
  account.describe({ lease: 'heartbeat', keepsThen: true }, 20_000);
  expect(account.lastingTenthsA).toBe(60);
  ledger.release(OVER_AT_MS);
  expect(account.lastingTenthsA).toBe(0);
});
