// A world takes the same course with messages as objects and as bytes through the real broker. With the broker, every
// message passes it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HUNGRY } from '../../../sim/charger/traffic.js';
import type { ChargerTraits, Misbehaviour } from '../../../sim/charger/traits.js';
import { createTraceHash } from '../../../sim/log/event-codec.js';
import { RandomFaults } from '../../../sim/world/hostile-hours.js';
import type { WorldOptions } from '../../../sim/world/world.js';
import { createWorld, type World } from '../../../sim/world/world.js';
import { parseProvisioning } from '../../../src/provisioning/parse-provisioning.js';
import { toInstant } from '../../../src/wire/instants.js';
import { ackSchema, limitSchema, meterSchema, stateSchema, syncSchema } from '../../../src/wire/mqtt.js';
import { parseTopic } from '../../../src/wire/topics.js';
import { onlyInCi, testCases } from '../../seeds.js';
import { type BrokerTap, tapBroker } from './broker-tap.js';

const START_MS = Date.parse('2026-06-01T00:00:00Z');
const MINUTE_MS = 60_000;
const TRANSPORTS = ['inProcess', 'mqtt'] as const;
type Transport = (typeof TRANSPORTS)[number];

const SCHEMAS = {
  state: stateSchema,
  meter: meterSchema,
  ack: ackSchema,
  limit: limitSchema,
  sync: syncSchema,
};

/** Frequent enough for ten minutes to contain every fault. */
const ALL_AT_ONCE = {
  weatherEveryMs: 3 * MINUTE_MS,
  partitionEveryMs: 4 * MINUTE_MS,
  rebootEveryMs: 4 * MINUTE_MS,
  crashEveryMs: 4 * MINUTE_MS,
  databaseBusyEveryMs: 5 * MINUTE_MS,
  brokerRestartEveryMs: 5 * MINUTE_MS,
};

/** One for each charger; `others-ids` is missing, because only the broker refuses it. */
const BAD: readonly Misbehaviour[] = [
  ...(['garbage', 'flood', 'power-only', 'old-boot', 'no-ack', 'forget-then'] as const),
  ...(['backward-counters', 'false-ack', 'ignore-limits', 'impossible-power'] as const),
];

interface RunTimeline {
  readonly hash: string;
  readonly counts: World['counts'];
  readonly violations: World['violations'];
}

function tenants() {
  const connectors = ['1', '2'].map((connectorId) => ({
    connectorId,
    phases: 3,
    voltageV: 230,
    maxCurrentA: 32,
    failsafeA: 0,
  }));
  const locations = ['north', 'south'].map((locationId) => ({
    locationId,
    name: locationId,
    permanentLimitKw: 40,
    chargers: Array.from({ length: 5 }, (_, i) => ({ controllerUuid: `${locationId}-${i}`, connectors })),
  }));
  const tenantUuid = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10';
  const tenant = {
    tenantUuid,
    name: 'Transports',
    features: ['energy-management'],
    apiKeys: [{}],
    locations,
  };
  return parseProvisioning(JSON.stringify({ tenants: [tenant] }), 'transports').tenants;
}

/** Ten minutes in process without faults, run once for all comparisons. */
const undisturbed = new Map<number, Promise<RunTimeline>>();

function playUndisturbed(seed: number): Promise<RunTimeline> {
  const course = undisturbed.get(seed) ?? play('inProcess', seed, operate);
  undisturbed.set(seed, course);
  return course;
}

async function play(
  transport: Transport,
  seed: number,
  course: (world: World) => Promise<void>,
  traitsOf: (number: number) => Partial<ChargerTraits> = () => ({}),
  ocppOf?: WorldOptions['ocppOf'],
): Promise<RunTimeline> {
  const hash = createTraceHash();
  let chargers = 0;
  const world = await createWorld({
    tenants: tenants(),
    seed,
    transport,
    startMs: START_MS,
    visitorsOf: () => HUNGRY,
    traitsOf: () => traitsOf(chargers++),
    ...(ocppOf === undefined ? {} : { ocppOf }),
    onEvent: (event) => hash.add(event),
  });
  try {
    await course(world);
    const { counts, violations } = world;
    return { hash: hash.digest(), counts: { ...counts }, violations: [...violations] };
  } finally {
    await world.close();
  }
}

/** Ten minutes in which an operator lowers limits, locks a connector and caps both locations. */
async function operate(world: World): Promise<void> {
  const between = (fromMs: number, toMs: number) => ({
    startTime: toInstant(world.nowMs() + fromMs),
    endTime: toInstant(world.nowMs() + toMs),
  });
  await world.call('POST', '/clusters', {
    name: 'both',
    locationIds: ['north', 'south'],
    limitKw: 60,
  });
  await world.advance(2 * MINUTE_MS);
  const evening = { ...between(MINUTE_MS, 4 * MINUTE_MS), limitKw: 12, priority: 3 };
  await world.call('POST', '/locations/north/schedules', evening);
  const lock = { ...between(0, 5 * MINUTE_MS), limitKw: 11, priority: 1 };
  await world.call('POST', '/chargers/south-0/connectors/1/schedules', lock);
  await world.advance(3 * MINUTE_MS);
  await world.call('PUT', '/locations/south/limit', { limitKw: 25 });
  await world.advance(5 * MINUTE_MS);
}

async function suffer(world: World, seed: number): Promise<void> {
  const randomFaults = new RandomFaults(world, seed, ALL_AT_ONCE);
  world.agenda.at(3.5 * MINUTE_MS, () => world.restartBroker(3_000));
  world.agenda.at(6 * MINUTE_MS, () => world.crash(4_000));
  world.agenda.at(7.5 * MINUTE_MS, () => world.setDatabaseBusy(true));
  world.agenda.at(8 * MINUTE_MS, () => world.setDatabaseBusy(false));
  await operate(world);
  randomFaults.end();
  await world.advance(2 * MINUTE_MS);
  for (const kind of ['loss', 'duplication', 'hold', 'partition', 'reboot'] as const) {
    expect(randomFaults.struck.get(kind), kind).toBeGreaterThan(0);
  }
}

interface Live {
  readonly controllerUuid: string;
  readonly link: string;
  readonly chargingStatus: string;
}

function connectorsIn(live: unknown): readonly Live[] {
  return (live as { connectors: readonly Live[] }).connectors;
}

describe('A world with messages in process or through the broker (P15)', () => {
  testCases({ always: [1], more: [2] }, 'has the same events without faults, seed %i', async (seed) => {
    const inProcess = await playUndisturbed(seed);
    expect(await play('mqtt', seed, operate)).toEqual(inProcess);
    expect(inProcess.violations).toEqual([]);
    expect(inProcess.counts.toChargers).toBeGreaterThan(100);
  });

  testCases({ always: [1], more: [2, 3] }, 'has the same events under all faults, seed %i', async (seed) => {
    const inProcess = await play('inProcess', seed, (world) => suffer(world, seed));
    expect(await play('mqtt', seed, (world) => suffer(world, seed))).toEqual(inProcess);
  });

  it('has the same events with chargers that misbehave in different ways', onlyInCi(), async () => {
    const traitsOf = (i: number) => ({ misbehaviours: BAD.slice(i, i + 1) });
    const inProcess = await play('inProcess', 5, operate, traitsOf);
    expect(await play('mqtt', 5, operate, traitsOf)).toEqual(inProcess);
  });

  it('has the same events with OCPP chargers that restart, and a gateway that stops', async () => {
    const course = async (world: World) => {
      await world.advance(MINUTE_MS);
      for (const run of world.runs.slice(0, 3)) world.reboot(run);
      await world.advance(MINUTE_MS);
      world.crashGateway(MINUTE_MS);
      await world.advance(2 * MINUTE_MS);
    };
    const inProcess = await play('inProcess', 1, course, undefined, () => ({}));
    expect(await play('mqtt', 1, course, undefined, () => ({}))).toEqual(inProcess);
  });

  it('has other events with another seed', async () => {
    const [one, other] = [await playUndisturbed(1), await playUndisturbed(2)];
    expect(other.hash).not.toBe(one.hash);
  });
});

describe('The broker of a world', () => {
  let tap: BrokerTap;
  beforeEach(() => {
    tap = tapBroker();
  });
  afterEach(() => tap.close());

  const sent = (...kinds: readonly string[]) =>
    tap.publications.filter(({ topic }) => kinds.includes(parseTopic(topic)?.kind ?? ''));

  it('passes every message of chargers and service in the form of the contract', async () => {
    const { counts } = await play('mqtt', 1, operate);
    expect(tap.connects).toBe(10);
    expect(sent('state', 'meter', 'ack')).toHaveLength(counts.fromChargers);
    expect(sent('limit')).toHaveLength(counts.toChargers);
    expect(tap.publications).toHaveLength(counts.fromChargers + counts.toChargers);
    const unlike = tap.publications.filter(({ topic, payload }) => {
      const { kind } = parseTopic(topic) ?? {};
      return kind === undefined || !SCHEMAS[kind].safeParse(JSON.parse(payload)).success;
    });
    expect(unlike).toEqual([]);
  });

  it('delivers the payloads that leave the broker, not the originals', async () => {
    tap.close();
    tap = tapBroker((text) =>
      text
        .replace(/"status":"SuspendedEVSE"/g, '"status":"Unavailable"  ')
        .replace(/"reason":"\w+"/g, (reason) => '"reason":"lock"'.padEnd(reason.length)),
    );
    await play('mqtt', 1, async (world) => {
      await world.advance(MINUTE_MS);
      const { body } = await world.call('GET', '/locations/north/live');
      const statuses = connectorsIn(body).map(({ chargingStatus }) => chargingStatus);
      expect(statuses).toContain('Unavailable');
      expect(statuses).not.toContain('SuspendedEVSE');
      const reasons = world.runs.flatMap(({ charger }) => charger.limits().map(({ reason }) => reason));
      expect(new Set(reasons)).toEqual(new Set(['lock']));
    });
  });

  it('passes no messages of a world in process', async () => {
    await play('inProcess', 1, (world) => world.advance(MINUTE_MS));
    expect([tap.connects, tap.publications.length]).toEqual([0, 0]);
  });

  it('publishes the last will from the CONNECT of a charger after its loss is noticed', async () => {
    const links: unknown[] = [];
    await play('mqtt', 1, async (world) => {
      for (const _ of ['before', 'after']) {
        await world.advance(MINUTE_MS);
        const { body } = await world.call('GET', '/locations/north/live');
        links.push(connectorsIn(body).find(({ controllerUuid }) => controllerUuid === 'north-0')?.link);
        for (const run of world.runs.slice(0, 1)) world.disconnect(run, 10 * MINUTE_MS);
      }
    });
    expect(links).toEqual(['online', 'offline']);
    // The broker published the last will of the charger's CONNECT. No charger published such a message.
    expect(sent('state').filter(({ payload }) => payload.includes('"online":false'))).toEqual([]);
  });

  it('disconnects a charger that publishes for another, and accepts it again', async () => {
    const course = await play(
      'mqtt',
      1,
      (world) => world.advance(2 * MINUTE_MS),
      (i) => (i === 0 ? { misbehaviours: ['others-ids'] } : {}),
    );
    expect(course.violations).toEqual([]);
    expect(tap.connects).toBeGreaterThan(11);
  });
});
