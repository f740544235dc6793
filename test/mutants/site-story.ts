// Half an hour of two sites: limits, locks, a cluster, an organization, cars, lost chargers and a crash.
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { World } from '../../sim/world/world.js';
import { toInstant } from '../../src/wire/instants.js';
import { type Ask, call, type Deed, type Ear, MINUTE_MS, type Story, sceneOf, TENANT } from './story.js';

const LASTS_MINUTES = 28;

/** Two sites with more cars than their limits allow to charge at once. */
const SCENE = sceneOf(
  'Two sites',
  LASTS_MINUTES,
  `        - locationId: quay
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
            - { controllerUuid: p2, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }`,
  `vehicles:
  - { name: van, maxKw: 22, phases: 3, taper: none }
  - { name: scooter, maxKw: 5, phases: 3, taper: none }
sessions:
  visits:
    - { connector: q3/1, vehicle: van, arrives: +20s, leaves: +20m, energyKwh: 500 }
    - { connector: q1/1, vehicle: van, arrives: +30s, energyKwh: 500 }
    - { connector: q2/1, vehicle: van, arrives: +50s, energyKwh: 500 }
    - { connector: p2/1, vehicle: scooter, arrives: +30s, energyKwh: 500 }
    - { connector: p1/1, vehicle: van, arrives: +40s, leaves: +14m, energyKwh: 500 }
    - { connector: p1/1, vehicle: van, arrives: +20m, energyKwh: 500 }
`,
);

/** Requests of every half minute. */
const READS = [
  '/locations',
  '/locations/quay/limits',
  '/locations/quay/live',
  '/locations/pier/limits',
  '/locations/pier/live',
  '/chargers/q1/connectors/1/schedules',
  '/chargers/p1/connectors/1/schedules',
  '/chargers/q1/connectors/1/session',
  '/organizations/limits',
  '/clusters',
  '/alarms',
];

function instantAt(minute: number): string {
  return toInstant(SCENE.startsAtMs + minute * MINUTE_MS);
}

/** Submits a profile for the minutes from `from` to `to`. */
function submit(path: string, priority: number, limitKw: number, from: number, to: number): Deed {
  const window = { startTime: instantAt(from), endTime: instantAt(to) };
  return call('POST', `${path}/schedules`, { priority, limitKw, ...window });
}

/** Reads the state of the quay's connectors every second. */
function watchQuay(seconds: number): Deed {
  return async (world, ask) => {
    for (let second = 0; second < seconds; second++) {
      await world.advance(1_000);
      await ask('GET', `${QUAY}/live`);
    }
  };
}

/** The broker may notice this before or after the charger's readings count as missed. */
function loseConnection(world: World, nth: number): void {
  const run = world.runs[nth];
  if (run !== undefined) world.disconnect(run, 1.5 * MINUTE_MS);
}

const P2: readonly [TenantUuid, LocationId, ControllerUuid] = [
  TENANT,
  'pier' as LocationId,
  'p2' as ControllerUuid,
];

/** The state message of a charger that is cut off, without any power reading. */
function hearState(_world: World, _ask: Ask, { sink }: Ear): void {
  sink.recordState(...P2, { online: true, boot: 'another' });
}

/** A meter value of a charger that is cut off, without a state message. */
function hearMeter(_world: World, _ask: Ask, { sink, clock }: Ear): void {
  sink.connectorMeter(...P2, '1' as ConnectorId)?.record({ powerW: 500 }, clock.monotonicMs());
}

const QUAY = '/locations/quay';
const Q1 = '/chargers/q1/connectors/1';
const Q2 = '/chargers/q2/connectors/1';
const Q3 = '/chargers/q3/connectors/1';
const P1 = '/chargers/p1/connectors/1';
const ORGANIZATION = '/organizations';
const CLUSTER = '/clusters/id-1';

/**
 * By minute. Windows overlap, and are replaced and cancelled before and while they are ACTIVE. Others end by
 * themselves.
 */
const DEEDS: Story['deeds'] = [
  // The connector has 6 A from its arrival on, until the site has enough power for two of the three.
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
  // It cannot have so much by then, which opens an alarm.
  [2.5, call('PUT', `${Q1}/session`, { energyNeedKwh: 12, priority: 3, departureTime: instantAt(25) })],
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
  // The service builds everything again from rows, with windows that have begun.
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
  // The rotation decides here. The car that never had less than its demand came first.
  [25, call('PUT', '/locations/pier/limit', { limitKw: 5 })],
];

export const SITE_STORY: Story = {
  name: 'two sites',
  scene: SCENE,
  lastsMinutes: LASTS_MINUTES,
  deeds: DEEDS,
  reads: READS,
};
