// A large location gathers reports before it decides, but never while others wait for them.
import { describe, expect, it } from 'vitest';
import { createActor } from 'xstate';
import { locationMachine } from '../../machines/power/location.machine.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';

const SPEC = { phases: 3, voltageV: 230, maxCurrentA: 32, isActive: true, failsafeA: 0 } as const;
const TIMING = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };

function locationOf(connectors: number) {
  const supervisor = new LocationSupervisor({ timing: TIMING, ownerTerm: 1 });
  const actor = createActor(locationMachine, {
    input: {
      permanentLimitKw: connectors * 20,
      stack: [],
      connectors: Array.from({ length: connectors }, (_, i) => ({ key: `quay/${i}`, spec: SPEC, stack: [] })),
      supervisor,
      now: 0,
      nowMs: 0,
    },
  }).start();
  for (const connector of supervisor.connectors.values()) {
    actor.send({ type: 'connector.event', key: connector.key, event: { type: 'meter.received' } });
    supervisor.describe(connector, { failsafeA: 0, lease: 'heartbeat', keepsThen: true, boot: 'b' }, 0);
    const reading = { powerW: 0, boot: 'b', hb: 1, status: 'Charging', limitA: 0 } as const;
    supervisor.meters.record(connector.telemetry.slot, reading, 0);
    supervisor.receive(connector, reading, { now: 0, nowMs: 0 });
  }
  return {
    supervisor,
    /** Returns the time of the next decision, ms. */
    decide(limitKw: number, nowMs: number) {
      actor.send({ type: 'permanentLimit.set', limitKw, now: nowMs });
      actor.send({ type: 'decision.due', now: nowMs, nowMs });
      const { decision } = actor.getSnapshot().context;
      if (decision?.outcome !== 'decided') throw new Error('nothing was decided');
      for (const decided of decision.grants) supervisor.noteLeft(decided);
      return decision.nextAtMs;
    },
  };
}

describe('A large location', () => {
  it('gathers reports for 2 ms per connector above 50 connectors, and at most 2 s', () => {
    const gatheredMs = [1, 50, 51, 1_000, 1_200].map((size) => locationOf(size).supervisor.gathersForMs);
    expect(gatheredMs).toEqual([0, 0, 102, 2_000, 2_000]);
  });

  it('decides no earlier by time alone', () => {
    const { supervisor, decide } = locationOf(60);
    expect(decide(60 * 20, 1_000)).toBeGreaterThanOrEqual(1_000 + supervisor.gathersForMs);
  });

  it('gathers nothing while entitlements exceed the limit, because others wait for the reports (R10)', () => {
    const { supervisor, decide } = locationOf(60);
    decide(60 * 20, 1_000);
    expect(supervisor.gathersForMs).toBe(120);
    decide(60 * 6, 2_000);
    expect(supervisor.gathersForMs).toBe(0);
    decide(60 * 6, 60_000);
    decide(60 * 6, 200_000);
    expect(supervisor.gathersForMs).toBe(120);
  });
});
