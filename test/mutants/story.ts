// What everybody outside the service sees of half an hour, line by line: answers, stream, log, metrics, limits and currents.
import {
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type LocationId,
  type TenantUuid,
} from '../../machines/values/ids.js';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import { createArrivals } from '../../sim/sessions/arrivals.js';
import { sessionsOf } from '../../sim/sessions/sessions-of.js';
import { createWorld, type World } from '../../sim/world/world.js';
import { createActorSystem } from '../../src/actor-system.js';
import type { Metrics } from '../../src/metrics.js';
import type { Clock } from '../../src/ports/clock.js';
import type { MeterSink } from '../../src/ports/telemetry.js';
import type { Seams } from '../../src/service.js';
import { toInstant } from '../../src/wire/rest.js';

/** Hears one line; false where it has heard enough. */
export type OnLine = (line: string) => boolean;

const MINUTE_MS = 60_000;
const LASTS_MINUTES = 28;
const LOOK_EVERY_MINUTES = 0.5;
const TENANT = 'harbour' as TenantUuid;

/** Two sites with more cars than their limits have room for, one with a meter, and four that a grid operator may limit. */
const SCENE = parseScenario(
  `name: Two sites
start: 2026-06-01T12:00:00Z
duration: ${LASTS_MINUTES}m
provision:
  tenants:
    - tenantUuid: ${TENANT}
      name: Harbour Charging
      features: [energy-management]
      locations:
        - locationId: quay
          name: Quay
          permanentLimitKw: 24
          gridLimitKw: 40
          chargers:
            - { controllerUuid: q1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
            - { controllerUuid: q2, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
            - { controllerUuid: q3, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
        - locationId: pier
          name: Pier
          permanentLimitKw: 22
          chargers:
            - { controllerUuid: p1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
            - { controllerUuid: p2, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
        - locationId: tower
          name: Tower
          permanentLimitKw: 100
          gridLimitKw: 60
          siteMeter: { meterUuid: m1, maxBuildingKw: 40, reserveKw: [1, 4] }
          chargers:
            - { controllerUuid: t1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
        - { locationId: alone, name: Alone, permanentLimitKw: 10, operator: { operatorUuid: o1, failsafeKw: 5, heartbeatS: 30 } }
        - { locationId: held, name: Held, permanentLimitKw: 10, operator: { operatorUuid: o2, failsafeKw: 5, heartbeatS: 30 } }
        - { locationId: freed, name: Freed, permanentLimitKw: 10, operator: { operatorUuid: o3, failsafeKw: 5, heartbeatS: 30 } }
        - { locationId: lost, name: Lost, permanentLimitKw: 10, operator: { operatorUuid: o4, failsafeKw: 5, heartbeatS: 30 } }
vehicles:
  - { name: van, maxKw: 22, phases: 3, taper: none }
  - { name: scooter, maxKw: 5, phases: 3, taper: none }
sessions:
  visits:
    - { connector: q3/1, vehicle: van, arrives: +20s, leaves: +20m, energyKwh: 500 }
    - { connector: q1/1, vehicle: van, arrives: +30s, energyKwh: 500 }
    - { connector: q2/1, vehicle: van, arrives: +50s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +135s, leaves: +150s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +165s, leaves: +180s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +195s, leaves: +210s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +225s, leaves: +240s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +255s, leaves: +270s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +285s, leaves: +300s, energyKwh: 500 }
    - { connector: p2/1, vehicle: scooter, arrives: +30s, energyKwh: 500 }
    - { connector: p1/1, vehicle: van, arrives: +40s, leaves: +14m, energyKwh: 500 }
    - { connector: p1/1, vehicle: van, arrives: +20m, energyKwh: 500 }
`,
  'two-sites.yaml',
);

/** What is asked every half minute. */
const READS = [
  '/locations',
  '/locations/quay/limits',
  '/locations/quay/live',
  '/locations/pier/limits',
  '/locations/pier/live',
  '/chargers/q1/connectors/1/schedules',
  '/chargers/p1/connectors/1/schedules',
  '/locations/tower/site-meter',
  '/locations/tower/live',
  '/locations/alone/operator-limit',
  '/locations/held/operator-limit',
  '/locations/freed/operator-limit',
  '/locations/lost/operator-limit',
  '/organizations/limits',
  '/clusters',
  '/alarms',
];

/** Metrics that tell of modes; those that tell of time hang on the machine that runs this. */
const COUNTED = [
  'connectors',
  'throttledConnectors',
  'openAlarms',
  'alarms',
  'grants',
  'actorsRebuilt',
] as const;

/** What the service hears of chargers, beside what the virtual ones say. */
interface Ear {
  readonly sink: MeterSink;
  readonly clock: Clock;
}

type Deed = (world: World, ask: Ask, ear: Ear) => Promise<void> | void;
type Ask = (method: string, path: string, body?: unknown) => Promise<void>;

function call(method: string, path: string, body?: unknown): Deed {
  return (_, ask) => ask(method, path, body);
}

/** A profile of these minutes. */
function submit(path: string, priority: number, limitKw: number, from: number, to: number): Deed {
  const at = (minute: number) => toInstant(SCENE.startsAtMs + minute * MINUTE_MS);
  return call('POST', `${path}/schedules`, { priority, limitKw, startTime: at(from), endTime: at(to) });
}

/** What the grid operator of a location sends at this minute; a heartbeat where it neither limits nor frees it. */
function operatorSays(locationId: string, minute: number, order: object = {}): readonly [number, Deed] {
  const sentAt = toInstant(SCENE.startsAtMs + minute * MINUTE_MS);
  const body = { source: 'grid', sentAt, ...order };
  return [minute, call('PUT', `/locations/${locationId}/operator-limit`, body)];
}

/** What the meter of the tower reads from this minute on, one after the other, kW. */
function towerReads(minute: number, ...readingsKw: readonly number[]): readonly [number, Deed] {
  const read: Deed = async (world, ask, { clock }) => {
    for (const readKw of readingsKw) {
      await ask('PUT', '/locations/tower/site-meter', {
        at: toInstant(clock.nowMs()),
        powerW: readKw * 1000,
      });
      await world.advance(TOWER_READ_EVERY_MS);
    }
  };
  return [minute, read];
}

const TOWER_READ_EVERY_MS = 2_000;

/** What the quay's connectors are doing, second by second. */
function watchQuay(seconds: number): Deed {
  return async (world, ask) => {
    for (let second = 0; second < seconds; second++) {
      await world.advance(1_000);
      await ask('GET', `${QUAY}/live`);
    }
  };
}

/** The broker may notice before the readings of the charger are missed, or after. */
function loseConnection(world: World, nth: number): void {
  const run = world.runs[nth];
  if (run !== undefined) world.disconnect(run, 1.5 * MINUTE_MS);
}

const P2: readonly [TenantUuid, LocationId, ControllerUuid] = [
  TENANT,
  'pier' as LocationId,
  'p2' as ControllerUuid,
];

/** A charger that is cut off is heard to be there, and says nothing of its power. */
function hearState(_world: World, _ask: Ask, { sink }: Ear): void {
  sink.recordState(...P2, { online: true, boot: 'another' });
}

/** A charger that is cut off sends a meter value, and never said that it is there. */
function hearMeter(_world: World, _ask: Ask, { sink, clock }: Ear): void {
  sink.connectorMeter(...P2, '1' as ConnectorId)?.record({ powerW: 500 }, clock.monotonicMs());
}

const QUAY = '/locations/quay';
const Q1 = '/chargers/q1/connectors/1';
const Q2 = '/chargers/q2/connectors/1';
const Q3 = '/chargers/q3/connectors/1';
const P1 = '/chargers/p1/connectors/1';
const ORGANIZATION = '/organizations';
// The first id is that of an alarm: the tower's meter is not heard for a minute.
const CLUSTER = '/clusters/id-2';

/** By minute. Windows overlap, are replaced and cancelled before and while they are ACTIVE; others end by themselves. */
const STORY: readonly (readonly [minute: number, deed: Deed])[] = [
  // 6 A and no more from its arrival on, until the site has room for two of the three.
  [0, submit(Q3, 0, 4, 0, 4)],
  [0, watchQuay(12)],
  [1, call('POST', '/clusters', { name: 'Both', locationIds: ['quay', 'pier'], limitKw: 44 })],
  [1.5, submit(QUAY, 3, 20, 3, 6)],
  [1.5, submit(QUAY, 5, 10, 4, 5)],
  [2, submit(ORGANIZATION, 1, 500, 3, 9)],
  [2, submit(ORGANIZATION, 2, 400, 4, 12)],
  [2, submit(Q1, 1, 11, 3, 8)],
  [2, submit(Q1, 2, 7, 4, 6)],
  [2.5, submit(P1, 0, 9, 3, 20)],
  [3.5, call('PUT', `${QUAY}/limit`, { limitKw: 30 })],
  [5.5, call('DELETE', `${ORGANIZATION}/schedules/2`)],
  [6.5, submit(QUAY, 3, 18, 6.5, 16)],
  [7, submit(Q1, 1, 10, 7, 14)],
  [7.5, submit(QUAY, 3, 15, 7.5, 12)],
  [8, call('PATCH', CLUSTER, { limitKw: 25 })],
  [8.5, call('PATCH', CLUSTER, { status: 'INACTIVE' })],
  [9, call('DELETE', `${QUAY}/schedules/3`)],
  [9, call('PATCH', CLUSTER, { limitKw: 20 })],
  [9, call('PUT', '/locations/pier/limit', { limitKw: 25 })],
  [9.5, call('DELETE', `${Q1}/schedules/1`)],
  [10, call('PATCH', CLUSTER, { status: 'ACTIVE' })],
  [10.5, (world) => loseConnection(world, 1)],
  [11.5, (world) => world.runs[0] && world.reboot(world.runs[0])],
  [11.5, watchQuay(5)],
  [12, submit(QUAY, 2, 14, 12, 16)],
  [12, submit(Q2, 0, 8, 12, 17)],
  [12, submit(ORGANIZATION, 4, 300, 12, 16)],
  // Everything is built again from rows, with windows that have begun.
  [13, (world) => world.crash(3_000)],
  [15, (world) => loseConnection(world, 2)],
  [15.5, (world) => loseConnection(world, 0)],
  [18, call('PUT', `${QUAY}/limit`, { limitKw: 10 })],
  [19, (world) => loseConnection(world, 4)],
  [20, hearState],
  [22, (world) => loseConnection(world, 4)],
  [23, hearMeter],
  [22, call('PUT', `${QUAY}/limit`, { limitKw: 40 })],
  [24, call('DELETE', CLUSTER)],
  // Each state of the grid operator's limit, before and after everything is built again at 13.
  operatorSays('held', 12.5, { isActive: true, limitKw: 4 }),
  operatorSays('freed', 12.5, { isActive: false }),
  operatorSays('freed', 16),
  operatorSays('lost', 2, { isActive: true, limitKw: 3 }),
  operatorSays('lost', 2.5),
  operatorSays('lost', 15),
  operatorSays('lost', 15.5, { isActive: true, limitKw: 2, durationS: 30 }),
  operatorSays('lost', 16.5),
  // Read while cars come and go, late, silent; read again after everything is built anew; and what cannot be.
  towerReads(2, 20, 20, 20, 31, 31, 31, 31, 20, 20, 20),
  towerReads(17, 30, 30, -500),
  // Whose turn it is: the one that never had less than it wanted came first.
  [25, call('PUT', '/locations/pier/limit', { limitKw: 5 })],
];

/** Runs the production service and its chargers through the story, until it ends or `onLine` has heard enough. */
export async function tellStory(onLine: OnLine): Promise<void> {
  let isEnough = false;
  let metrics: Metrics | undefined;
  let ear: Ear | undefined;
  const tell = (line: string): void => {
    isEnough ||= !onLine(line);
  };
  const world = await openWorld(tell, (current, heard) => {
    metrics = current;
    ear = heard;
  });
  const ask: Ask = async (method, path, body) => {
    const answer = await world.call(method, path, body);
    tell(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  };
  try {
    for (let minute = 0; minute < LASTS_MINUTES && !isEnough; minute += LOOK_EVERY_MINUTES) {
      for (const [atMinute, deed] of STORY)
        if (atMinute === minute && ear !== undefined) await deed(world, ask, ear);
      for (const path of READS) await ask('GET', path);
      for (const name of COUNTED) tell(`${name} ${JSON.stringify((await metrics?.[name].get())?.values)}`);
      await world.advance(LOOK_EVERY_MINUTES * MINUTE_MS);
    }
  } finally {
    await world.close();
  }
}

function openWorld(
  tell: (line: string) => void,
  onSystem: (metrics: Metrics, ear: Ear) => void,
): Promise<World> {
  const { provision, seed, startsAtMs } = SCENE;
  const arrivals = createArrivals(sessionsOf(SCENE, seed), startsAtMs);
  const log: Seams['log'] = {
    debug: (fields, message) => message === 'effect' && tell(`log ${JSON.stringify(fields)}`),
    info() {},
    warn() {},
    error() {},
  };
  const createActors: Seams['createActors'] = (options) => {
    const system = createActorSystem(options);
    onSystem(options.metrics, { sink: system.meterSink, clock: options.clock });
    const listen = () =>
      system.application.subscribe(TENANT, undefined, (event) => tell(`stream ${JSON.stringify(event)}`));
    const start = system.start.bind(system);
    return Object.assign(system, { start: () => start().then(() => void listen()) });
  };
  return createWorld({
    tenants: provision.tenants,
    seed,
    startMs: startsAtMs,
    visitorsOf:
      ({ controllerUuid }) =>
      (connectorId) =>
        arrivals(connectorKey({ controllerUuid, connectorId })),
    onEvent: (event) => tell(JSON.stringify(event)),
    seams: { log, createActors },
  });
}
