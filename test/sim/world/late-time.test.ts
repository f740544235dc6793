// A gateway charger sets its clock back by a delayed answer, so its lease is longer than granted. Then its connection
// is lost. Its location still keeps to the limit.
import { expect, it } from 'vitest';
import { HUNGRY } from '../../../sim/charger/traffic.js';
import type { ChargerRun } from '../../../sim/world/charger-run.js';
import { createWorld, type World } from '../../../sim/world/world.js';
import { parseProvisioning } from '../../../src/provisioning/parse-provisioning.js';

const START_MS = Date.parse('2026-06-01T00:00:00Z');
const LEASE_TTL_S = 180;
const CONNECTORS = [{ connectorId: '1', phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 }];
const TIMING = { heartbeatS: 30, leaseTtlS: LEASE_TTL_S };
const TENANT = {
  tenantUuid: '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10',
  name: 'OCPP',
  features: ['energy-management'],
  apiKeys: [{}],
  locations: [
    {
      locationId: 'quay',
      name: 'Quay',
      permanentLimitKw: 22,
      chargers: [
        { controllerUuid: 'late', ...TIMING, connectors: CONNECTORS },
        { controllerUuid: 'other', ...TIMING, connectors: CONNECTORS },
      ],
    },
  ],
};

/** Time from the charger's start to its question for the time. */
const HEARTBEAT_S = 900;
/** Its car arrives just before that question, so that no limit newer than the applied one is on its way. */
const COMES_S = 897;
/** Delay of the answer; earlier calls wait behind it. */
const HELD_S = 26;
/**
 * The service treats a lease of that length as over after this time: 2 % for a slow clock and 10 s of settling (R1).
 */
const OVER_AFTER_S = LEASE_TTL_S * 1.02 + 10;
/** Time in which the other car draws its new limit. */
const FOLLOWS_S = 4;
/** A car with nearly all of the location's limit: at least 28.9 A on three phases of 230 V. */
const NEARLY_ALL_W = 19_000;
const HUNGRY_AT = (arrivesAtS: number) => ({
  ...HUNGRY,
  firstArrivalS: [arrivesAtS, arrivesAtS] as const,
});

function newWorld(): Promise<World> {
  return createWorld({
    tenants: parseProvisioning(JSON.stringify({ tenants: [TENANT] }), 'late-time').tenants,
    seed: 1,
    startMs: START_MS,
    visitorsOf: ({ controllerUuid }) =>
      HUNGRY_AT(controllerUuid === 'late' ? COMES_S : HEARTBEAT_S + HELD_S + 60),
    ocppOf: ({ controllerUuid }) => (controllerUuid === 'late' ? { behaviours: ['sets-clock'] } : {}),
  });
}

/**
 * Both chargers, after the first got its delayed answer and at once lost its connection. `before` runs just before its
 * question.
 */
async function lateAnswer(world: World, before: (late: ChargerRun) => void = () => {}) {
  const [late, other] = world.runs;
  const [line] = late?.wires ?? [];
  if (late === undefined || other === undefined || line === undefined) throw new Error('no charger');
  while (!line.isUp) await world.advance(100);
  await world.advance(1000 * HEARTBEAT_S - 500);
  before(late);
  line.isCutDown = true;
  await world.advance(1000 * HELD_S);
  line.isCutUp = true;
  line.isCutDown = false;
  const leaseEndMs = () => late.charger.limits()[0]?.endsAtMs ?? 0;
  const endedAtMs = leaseEndMs();
  await world.advance(1000);
  world.disconnect(late, 600_000);
  return { late, other, isLonger: leaseEndMs() > endedAtMs };
}

/** Time until the other has followed its limit after the end of the first charger's lease. */
const UNTIL_OVER_MS = 1000 * (OVER_AFTER_S + FOLLOWS_S - HELD_S - 1);

it.each([
  { meanwhile: 'while the service runs on', happens: () => {} },
  {
    meanwhile: 'while the service is killed and starts again',
    happens: (world: World) => world.crash(5_000),
  },
])(
  'keeps the entitlement reserved after the lease of a charger that sets back its clock, $meanwhile',
  async ({ happens }) => {
    const world = await newWorld();
    try {
      const { late, other, isLonger } = await lateAnswer(world);
      expect(isLonger).toBe(true);
      happens(world);
      await world.advance(UNTIL_OVER_MS);
      expect(late.charger.physicalPowerW()).toBeGreaterThan(NEARLY_ALL_W);
      expect(other.charger.physicalPowerW()).toBe(0);
      await world.advance(300_000);
      expect(world.violations).toEqual([]);
    } finally {
      await world.close();
    }
  },
);

it('leaves the clock unchanged if the query for the time is lost, and grants the remaining capacity in time', async () => {
  const world = await newWorld();
  try {
    const { other, isLonger } = await lateAnswer(world, ({ wire }) => {
      wire.isCutUp = true;
    });
    expect(isLonger).toBe(false);
    await world.advance(UNTIL_OVER_MS);
    expect(other.charger.physicalPowerW()).toBeGreaterThan(0);
    await world.advance(300_000);
    expect(world.violations).toEqual([]);
  } finally {
    await world.close();
  }
});
