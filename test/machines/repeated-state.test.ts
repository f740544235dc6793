// A repeated state message of a charger changes nothing (P8). A new one still counts.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Connector } from '../../machines/power/connector.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { createConnectorActor, decideWith } from './connector-actor.js';
import { budgetOf } from './location-parts.js';

const OWNER_TERM = 1;
const TIMING = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
const BUDGET = budgetOf(50_000);
const SPEC = { phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6, isActive: true } as const;
const KEEPING = { failsafeA: 6, lease: 'heartbeat', keepsThen: true } as const;

let supervisor: LocationSupervisor;
let connector: Connector;
let nowMs: number;
let hb: number;

/** A heartbeat of a charger without a car that takes every grant, and a decision after it. */
function beat(boot: string): void {
  nowMs += 10_000;
  const { lastSeq } = connector.account;
  const reading = {
    powerW: 0,
    status: 'Available' as const,
    boot,
    hb: ++hb,
    epoch: OWNER_TERM,
    seq: lastSeq,
  };
  supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
  supervisor.receive(connector, reading, { now: nowMs, nowMs });
  decideWith(supervisor, BUDGET, nowMs);
  supervisor.renew(connector, nowMs);
}

beforeEach(() => {
  [nowMs, hb] = [0, 0];
  supervisor = new LocationSupervisor({ timing: TIMING, ownerTerm: OWNER_TERM });
  const actor = createConnectorActor('c/1');
  actor.send({ type: 'meter.received' });
  connector = supervisor.place({ key: 'c/1', spec: SPEC }, actor, nowMs);
  supervisor.describe(connector, { ...KEEPING, boot: 'a' }, nowMs);
  for (let i = 0; i < 12; i++) beat('a');
});

describe('A charger that keeps its last limit, without a car', () => {
  it('has nothing reserved, whatever its first state and however often that comes again', () => {
    expect(supervisor.reservedW).toBe(0);
    supervisor.describe(connector, { ...KEEPING, failsafeA: 0, boot: 'a' }, nowMs);
    for (const failsafeA of [6, 0, 6, 3])
      supervisor.describe(connector, { ...KEEPING, failsafeA, boot: 'a' }, nowMs);
    expect(supervisor.reservedW).toBe(0);
  });

  it('has its fail-safe reserved if it starts anew and reports that, or reports a higher one than ever', () => {
    supervisor.describe(connector, { ...KEEPING, boot: 'b' }, nowMs);
    expect(supervisor.reservedW).toBeGreaterThan(4_000);
    for (let i = 0; i < 12; i++) beat('b');
    expect(supervisor.reservedW).toBe(0);
    supervisor.describe(connector, { ...KEEPING, failsafeA: 8, boot: 'b' }, nowMs);
    expect(supervisor.reservedW).toBeGreaterThan(5_000);
  });

  it('has it reserved if it reports that it no longer keeps it', () => {
    supervisor.describe(connector, { ...KEEPING, keepsThen: false, boot: 'a' }, nowMs);
    expect(supervisor.reservedW).toBeGreaterThan(4_000);
  });
});
