// OCPP chargers behind the gateway's own sessions: in worlds with all faults, and in a world where only chargers
// misbehave.
import { describe, expect, it } from 'vitest';
import type { ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { HUNGRY, type Traffic } from '../../../sim/charger/traffic.js';
import { LEASELESS, type OcppBehaviour, type OcppTraits } from '../../../sim/charger/traits.js';
import { createTraceHash } from '../../../sim/log/event-codec.js';
import { createVirtualClock } from '../../../sim/virtual-clock.js';
import { runHostileHours } from '../../../sim/world/hostile-hours.js';
import { createWorld, type World } from '../../../sim/world/world.js';
import { WorldGateway } from '../../../sim/world/world-gateway.js';
import { parseProvisioning } from '../../../src/provisioning/parse-provisioning.js';
import { minutesOf, testCases } from '../../seeds.js';
import { silentLog } from '../../service/running-service.js';

const MINUTE_MS = 60_000;
const START_MS = Date.parse('2026-06-01T00:00:00Z');
const TENANT = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10';

interface Live {
  readonly connectors: readonly {
    readonly controllerUuid: string;
    readonly reason: string;
    readonly link: string;
    readonly limitA: number;
  }[];
}

/** Habits that only a restart or the charger's draw shows. */
const FOUND_LATER: readonly OcppBehaviour[] = ['shows-only', 'forgets-profiles'];

const AC_ONE = { connectorId: '1', phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 };
/** At 500 V at most; the cars of virtual chargers have 400 V. */
const DC_ONE = {
  connectorId: '1',
  powerType: 'DC',
  maxPowerKw: 50,
  minPowerKw: 5,
  failsafeKw: 5,
  maxVoltageV: 500,
};

const tenantOf = (connector: object) => ({
  tenantUuid: TENANT,
  name: 'OCPP',
  features: ['energy-management'],
  apiKeys: [{}],
  locations: [
    {
      locationId: 'quay',
      name: 'Quay',
      permanentLimitKw: 30,
      chargers: [
        {
          controllerUuid: 'c1',
          connectors: [connector],
        },
      ],
    },
  ],
});

/** One charger, of 32 A as a rule, at a location of 30 kW, with a hungry car. */
async function withCharger(
  traits: Partial<OcppTraits>,
  course: (world: World, live: () => Promise<Live['connectors'][number] | undefined>) => Promise<void>,
  traffic: Traffic = HUNGRY,
  connector: object = AC_ONE,
): Promise<World> {
  const world = await createWorld({
    tenants: parseProvisioning(JSON.stringify({ tenants: [tenantOf(connector)] }), 'ocpp-world').tenants,
    seed: 1,
    startMs: START_MS,
    visitorsOf: () => traffic,
    ocppOf: () => traits,
  });
  try {
    await course(world, async () => {
      const { body } = await world.call('GET', '/locations/quay/live');
      return (body as Live).connectors[0];
    });
    return world;
  } finally {
    await world.close();
  }
}

/** Reasons of the NO_LEASE alarms. */
async function alarmsOf(world: World): Promise<readonly string[]> {
  const { body } = await world.call('GET', '/alarms');
  const { alarms } = body as {
    readonly alarms: readonly { readonly kind: string; readonly reason: string }[];
  };
  return alarms.filter(({ kind }) => kind === 'NO_LEASE').map(({ reason }) => reason);
}

describe('A world of OCPP chargers under all faults', () => {
  const seeds = { always: [4], more: [7, 1, 5, 11] };
  testCases(seeds, 'holds every invariant, and recovers after the faults, seed %i', async (seed) => {
    const { violations, struck } = await runHostileHours({
      seed,
      chargers: 2,
      durationMs: 40 * MINUTE_MS,
      speaksOcpp: true,
    });
    expect(violations).toEqual([]);
    expect(struck.get('reboot')).toBeGreaterThan(0);
  });

  it('repeats every event with the same seed (P15)', async () => {
    const durationMs = minutesOf(15, 5) * MINUTE_MS;
    const hashOf = async (seed: number) => {
      const hash = createTraceHash();
      await runHostileHours({
        seed,
        chargers: 1,
        durationMs,
        speaksOcpp: true,
        onEvent: hash.add,
      });
      return hash.digest();
    };
    const first = await hashOf(7);
    expect(await hashOf(7)).toBe(first);
    expect(await hashOf(8)).not.toBe(first);
  });
});

describe('An OCPP charger', () => {
  it.each(['ocpp1.6', 'ocpp2.0.1', 'ocpp2.1'] as const)(
    'charges at its maximum with a lease in %s',
    async (protocol) => {
      await withCharger({ protocol }, async (world, live) => {
        await world.advance(2 * MINUTE_MS);
        expect(await live()).toMatchObject({ link: 'online', reason: 'maximum' });
        const [outlet] = world.runs[0]?.charger.outlets ?? [];
        expect(outlet?.holder.applied).toMatchObject({ limitA: 32, reason: 'maximum' });
      });
    },
  );

  it.each([
    ['in watts all of it', [], 29.9],
    ['in amperes the part of 400 V of 500 V', ['amperes-only'], 23.9],
    ['in whole amperes a little less', ['amperes-only', 'whole-amperes'], 23.5],
  ] as const)('of DC with a lease uses of 30 kW %s', async (_, behaviours, atLeastKw) => {
    const course: Parameters<typeof withCharger>[1] = async (world, live) => {
      await world.advance(4 * MINUTE_MS);
      expect(await live()).toMatchObject({ link: 'online', reason: 'fairShare' });
      const powerKw = (world.runs[0]?.charger.physicalPowerW() ?? 0) / 1000;
      expect(powerKw).toBeGreaterThan(atLeastKw);
      expect(powerKw).toBeLessThanOrEqual(behaviours.length === 0 ? 30 : 24);
    };
    await withCharger({ behaviours }, course, HUNGRY, DC_ONE);
  });

  it.each(LEASELESS.filter((each) => !FOUND_LATER.includes(each)))(
    'gets no lease with the behaviour %s',
    async (behaviour: OcppBehaviour) => {
      await withCharger({ behaviours: [behaviour] }, async (world, live) => {
        await world.advance(4 * MINUTE_MS);
        expect(await live()).toMatchObject({ link: 'online', reason: 'readOnly' });
        // It reports neither more than the sent limit nor that limit, so an alarm is not required.
        if (behaviour === 'ignores-profiles') return;
        expect(await alarmsOf(world)).toEqual([
          expect.stringMatching(/^The charger keeps no lease \(it .+\): 32 A, its maximum/),
        ]);
      });
    },
  );

  it('loses its lease at its next start if it forgets its profiles', async () => {
    const late = { ...HUNGRY, firstArrivalS: [60, 60] } as const;
    await withCharger(
      { behaviours: ['forgets-profiles'] },
      async (world, live) => {
        await world.advance(2 * MINUTE_MS);
        expect(await live()).toMatchObject({ reason: 'maximum' });
        for (const run of world.runs) world.reboot(run);
        await world.advance(2 * MINUTE_MS);
        expect(await live()).toMatchObject({ link: 'online', reason: 'readOnly' });
      },
      late,
    );
  });

  it('is treated as non-compliant if its meter shows a draw above the limit it shows', async () => {
    await withCharger({ behaviours: ['shows-only'] }, async (world, live) => {
      await world.advance(MINUTE_MS);
      expect((await world.call('PUT', '/locations/quay/limit', { limitKw: 10 })).status).toBe(200);
      await world.advance(MINUTE_MS);
      expect(await live()).toMatchObject({ reason: 'nonCompliant' });
    });
  });

  it.each([0.05, -0.05])('loses its lease with a clock that is wrong by %f', async (driftShare) => {
    await withCharger({ driftShare }, async (world, live) => {
      const reasons: unknown[] = [];
      for (let minute = 0; minute < 8; minute++) {
        await world.advance(MINUTE_MS);
        reasons.push((await live())?.reason);
      }
      expect(reasons).toContain('readOnly');
    });
  });

  it('falls back while its gateway is down, and has its lease again 30 s after the restart', async () => {
    await withCharger({}, async (world, live) => {
      await world.advance(2 * MINUTE_MS);
      world.crashGateway(2 * MINUTE_MS);
      await world.advance(75_000);
      expect(world.runs[0]?.charger.outlets[0]?.holder.applied).toMatchObject({ seq: 0, limitA: 6 });
      await world.advance(45_000 + 30_000);
      expect(await live()).toMatchObject({ link: 'online', reason: 'maximum' });
    });
  });

  it('is offline by its last will if its gateway stops after a restart of the charger', async () => {
    await withCharger({}, async (world, live) => {
      await world.advance(2 * MINUTE_MS);
      for (const run of world.runs) world.reboot(run);
      await world.advance(MINUTE_MS);
      expect(await live()).toMatchObject({ link: 'online', reason: 'maximum' });
      world.crashGateway(10 * MINUTE_MS);
      // A broker notices the loss within 45 s.
      await world.advance(45_000);
      expect(await live()).toMatchObject({ link: 'offline' });
    });
  });

  it('keeps charging under its lease during a short restart of the gateway', async () => {
    await withCharger({}, async (world) => {
      await world.advance(2 * MINUTE_MS);
      world.crashGateway(5_000);
      for (let second = 0; second < 60; second++) {
        await world.advance(1_000);
        expect(world.runs[0]?.charger.physicalPowerW()).toBeGreaterThan(20_000);
      }
    });
  });
});

describe('The gateway of a world', () => {
  it('starts only one instance after it stops twice', () => {
    const { tenants } = parseProvisioning(JSON.stringify({ tenants: [tenantOf(AC_ONE)] }), 'ocpp-world');
    const clock = createVirtualClock(START_MS);
    const gateway = new WorldGateway({ tenants, heartbeatMs: 10_000, clock, log: silentLog });
    const address = {
      tenantUuid: TENANT as TenantUuid,
      locationId: 'quay' as LocationId,
      controllerUuid: 'c1' as ControllerUuid,
    };
    gateway.die();
    gateway.die();
    gateway.start();
    const bridge = gateway.bridgeOf(address);
    gateway.start();
    expect(bridge).toBeDefined();
    expect(gateway.bridgeOf(address)).toBe(bridge);
  });
});
