// A charger behind the gateway that sets its clock back by an answer that was long on its way: its lease lasts longer than the service
// gave it, nobody hears of it any more, and its location keeps to the limit all the same.
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

/** A charger asks what time it is so long after its start. */
const HEARTBEAT_S = 900;
/** Its car came right before that, so that no newer limit than the one it keeps is on its way. */
const COMES_S = 897;
/** The answer is so long on its way, and what was asked before it waits behind it. */
const HELD_S = 26;
/** A lease of that length is over for the service: its own seconds may last 2 % longer, and 10 s are left for it to react. */
const OVER_AFTER_S = LEASE_TTL_S * 1.02 + 10;
/** The other car has had time to draw what it was given. */
const FOLLOWS_S = 4;
/** Of a car at what the location leaves it: 28.9 A at least, three phases of 230 V. */
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

/** Both chargers, once the first has had the answer, late, and lost its connection right after. `before`: when it is about to ask. */
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

/** Until the other has followed what it is given where the lease of the first is over. */
const UNTIL_OVER_MS = 1000 * (OVER_AFTER_S + FOLLOWS_S - HELD_S - 1);

it.each([
  { meanwhile: 'while the service runs on', happens: () => {} },
  {
    meanwhile: 'while the service is killed and starts again',
    happens: (world: World) => world.crash(5_000),
  },
])('What it may draw stays reserved beyond the end of its lease, $meanwhile', async ({ happens }) => {
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
});

it('It is not told what time it is where the service does not hear that it asks, and the other has the rest in time', async () => {
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
