// What operators do on a hostile day, drawn from its seed: every call of the interface, at the worst of times.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { toInstant } from '../../src/wire/rest.js';
import { FAR, type HostileSite, OTHER_TENANT, oneOf, TENANT, YARD } from './hostile-site.js';
import type { World } from './world.js';

export interface HostileOperator {
  /** Does one thing, or asks one thing. */
  act(): Promise<void>;
}

const MOST_KW = 70;
const LONGEST_OUTAGE_MS = 20_000;

export function createHostileOperator(
  world: World,
  site: HostileSite,
  random: RandomGenerator,
): HostileOperator {
  const { locationIds, leastKw, lockable, hasCluster } = site;
  const { probes } = world.checks;
  let clusterId: string | undefined;

  const upTo = (most: number) => uniformInt(random, 0, most);
  const aLocation = () => oneOf(locationIds, random);
  const aLimitKw = () => uniformInt(random, leastKw, MOST_KW);

  /** Begins a minute ago to five minutes ahead, rarely hours ahead; never over when it is sent. */
  function window(): { startTime: string; endTime: string } {
    const now = world.nowMs();
    const startsAtMs = now + 1_000 * uniformInt(random, -60, upTo(9) === 0 ? 7_200 : 300);
    const endsAtMs = Math.max(now + 5_000, startsAtMs + 1_000 * uniformInt(random, 5, 900));
    return { startTime: toInstant(startsAtMs), endTime: toInstant(endsAtMs) };
  }

  const aProfile = () => ({ ...window(), limitKw: aLimitKw(), priority: upTo(10) });

  async function schedule(): Promise<void> {
    await world.call('POST', `/locations/${aLocation()}/schedules`, aProfile());
  }

  async function setLimit(): Promise<void> {
    await world.call('PUT', `/locations/${aLocation()}/limit`, { limitKw: aLimitKw() });
  }

  async function lock(): Promise<void> {
    const body = { ...window(), limitKw: uniformInt(random, 1, 22), priority: upTo(2) };
    const charger = `${aLocation()}-${upTo(lockable - 1)}`;
    await world.call('POST', `/chargers/${charger}/connectors/1/schedules`, body);
  }

  /** Takes back what is planned, applies or has ended: the last is refused. */
  async function cancel(): Promise<void> {
    const locationId = aLocation();
    const charger = `${locationId}-${upTo(lockable - 1)}`;
    const isLock = upTo(2) === 0;
    const held = [...world.oracle.profilesOf(isLock ? `${charger}/1` : locationId)];
    const priority = held.length === 0 ? upTo(10) : oneOf(held, random).priority;
    const path = isLock ? `/chargers/${charger}/connectors/1` : `/locations/${locationId}`;
    await world.call('DELETE', `${path}/schedules/${priority}`);
  }

  async function changeCluster(): Promise<void> {
    if (!hasCluster) return schedule();
    if (clusterId === undefined) {
      const body = { name: 'cluster', locationIds, limitKw: uniformInt(random, 50, 90) };
      const { status, body: made } = await world.call('POST', '/clusters', body);
      if (status === 201) clusterId = (made as { clusterId: string }).clusterId;
      return;
    }
    const path = `/clusters/${clusterId}`;
    const choice = upTo(9);
    if (choice < 5) await world.call('PATCH', path, { limitKw: uniformInt(random, 40, 90) });
    else if (choice < 7) await world.call('PATCH', path, { status: choice < 6 ? 'INACTIVE' : 'ACTIVE' });
    else if (choice < 9) await world.call('POST', `${path}/schedules`, aProfile());
    else if ((await world.call('DELETE', path)).status === 200) clusterId = undefined;
  }

  /** Limits that cannot be kept are for the location whose chargers keep none. */
  async function pressYard(): Promise<void> {
    const hasYard = world.oracle.locationIds.includes(YARD);
    const path = `/locations/${hasYard ? YARD : FAR}/limit`;
    const limitKw = hasYard ? oneOf([3, 12, 50], random) : uniformInt(random, 20, 60);
    await world.call('PUT', path, { limitKw }, hasYard ? TENANT : OTHER_TENANT);
  }

  /** The service dies while the call is on its way. */
  async function dieWriting(): Promise<void> {
    world.dieAtNextWrite(oneOf(['diedBefore', 'diedAfter'] as const, random), 1 + upTo(LONGEST_OUTAGE_MS));
    await oneOf([schedule, setLimit, lock, cancel, changeCluster], random)();
  }

  const deeds: readonly (() => Promise<void>)[] = [
    ...Array.from({ length: 9 }, () => schedule),
    ...Array.from({ length: 3 }, () => setLimit),
    ...Array.from({ length: 4 }, () => lock),
    ...Array.from({ length: 3 }, () => cancel),
    ...Array.from({ length: 3 }, () => changeCluster),
    pressYard,
    dieWriting,
    () => probes.tellAgain(aLocation()),
    () => probes.tellAgain(aLocation()),
  ];
  let deedsDone = 0;

  return {
    async act() {
      deedsDone++;
      if (deedsDone % 40 === 5) await probes.tenantWalls();
      if (deedsDone % 40 === 25) await probes.memberRemovals(TENANT, locationIds);
      await oneOf(deeds, random)();
    },
  };
}
