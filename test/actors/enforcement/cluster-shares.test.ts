// Shares of a cluster while the entitlements of its members still exceed the cap.
import { describe, expect, it } from 'vitest';
import { clusterShareName } from '../../../machines/limits/cluster-shares.js';
import type { ClusterId, ControllerUuid } from '../../../machines/values/ids.js';
import { type LocationEntity, supervisorOf } from '../../../src/actors/directory.js';
import type { ClusterRecord } from '../../../src/ports/records.js';
import { CRANE, createHarbour, HARBOUR, location, PIER, QUAY, ROWS, START_MS } from '../harbour.js';

const DERRICK = { ...CRANE, controllerUuid: 'derrick' as ControllerUuid };
const WINCH = { ...CRANE, controllerUuid: 'winch' as ControllerUuid, failsafeA: 0 };
const LOCATIONS = [location(PIER, [DERRICK]), location(QUAY, [CRANE])];

function clusterOf(limitKw: number): ClusterRecord {
  return {
    clusterId: 'both' as ClusterId,
    name: 'Both',
    locationIds: [QUAY, PIER],
    limitKw,
    status: 'ACTIVE',
    createdAtMs: START_MS,
    updatedAtMs: START_MS,
  };
}

const shareOf = ({ actor }: LocationEntity, clusterId: string) =>
  actor.getSnapshot().context.sources.find(({ name }) => name === clusterShareName(clusterId))?.share;

function createPier(clusters: readonly ClusterRecord[]) {
  const rows = { ...ROWS, locations: LOCATIONS, profiles: [], clusters };
  const harbour = createHarbour(rows);
  const { clock, directory, recovery, enforcement } = harbour;
  enforcement.start();
  const clusterContext = () =>
    directory.tenants.get(HARBOUR)?.clusters.get('both')?.actor.getSnapshot().context;
  const of = (locationId: typeof PIER): LocationEntity => {
    const found = directory.tenants.get(HARBOUR)?.locations.get(locationId);
    if (found === undefined) throw new Error(`there is no ${locationId}`);
    return found;
  };
  let hb = 0;
  return {
    of,
    clusterContext,
    /** Records a reading of the derrick with a charging car. */
    async beat(): Promise<void> {
      const reading = { powerW: 9000, boot: 'b', hb: ++hb, status: 'Charging' } as const;
      harbour.meterOf(PIER, DERRICK).record(reading, clock.monotonicMs());
      clock.advance(200);
      await new Promise(setImmediate);
      clock.advance(9_800);
    },
    become: (changed: readonly ClusterRecord[]) =>
      recovery.reconcile(HARBOUR, { ...rows, clusters: changed }, clock.nowMs()),
    /** The most power that all members can use together, W. */
    takenW: () =>
      [of(PIER), of(QUAY)]
        .map((member) =>
          Math.max(
            clusterContext()?.shares.get(member.record.locationId)?.shareW ?? Number.POSITIVE_INFINITY,
            supervisorOf(member).reservedW,
          ),
        )
        .reduce((sum, each) => sum + each),
  };
}

describe("A location's first share of a cluster", () => {
  it('leaves out power that another member has still to give back (clusters: transitions included)', async () => {
    const pier = createPier([]);
    await pier.beat();
    await pier.beat();
    expect(supervisorOf(pier.of(PIER)).reservedW).toBeGreaterThan(20_000);
    pier.become([clusterOf(30)]);
    expect(pier.clusterContext()?.scale).toBe(0.3);
    expect(pier.takenW()).toBeLessThanOrEqual(30_000);
  });

  it('is all it is due where the members have as much together', () => {
    const pier = createPier([clusterOf(40)]);
    for (const id of [PIER, QUAY]) {
      expect(pier.clusterContext()?.shares.get(id)?.shareW).toBe(20_000);
      // The cluster and the location hold the same share.
      expect(shareOf(pier.of(id), 'both')?.shareW).toBe(20_000);
    }
  });

  it('is no more than before where the cluster is built anew with a higher cap', async () => {
    const pier = createPier([clusterOf(40)]);
    await pier.beat();
    await pier.beat();
    pier.become([clusterOf(20)]);
    expect(supervisorOf(pier.of(PIER)).reservedW).toBeGreaterThan(18_000);
    pier.become([clusterOf(25)]);
    expect(pier.takenW()).toBeLessThanOrEqual(25_000);
  });
});

describe('A charger that loses its lease', () => {
  const own = { id: '1', keepsThen: true, failsafeA: 0 } as const;

  /** Both chargers have leases and no car. The crane's location has just decided and decides again after 100 ms. */
  async function createIdle() {
    const harbour = createHarbour({ ...ROWS, locations: LOCATIONS, profiles: [], clusters: [clusterOf(40)] });
    const { clock, directory, enforcement, sink } = harbour;
    enforcement.start();
    let hb = 0;
    const say = (at: typeof PIER, { controllerUuid }: typeof CRANE, lease: 'heartbeat' | 'none') =>
      sink.recordState(HARBOUR, at, controllerUuid, {
        online: true,
        boot: 'b',
        connectors: [{ ...own, lease }],
      });
    const beat = (at: typeof PIER, charger: typeof CRANE) => {
      const reading = { powerW: 0, boot: 'b', hb: ++hb, status: 'Available' } as const;
      harbour.meterOf(at, charger).record(reading, clock.monotonicMs());
    };
    const of = (id: typeof PIER) => {
      const entity = directory.tenants.get(HARBOUR)?.locations.get(id);
      if (entity === undefined) throw new Error(`there is no ${id}`);
      return entity;
    };
    say(PIER, DERRICK, 'heartbeat');
    say(QUAY, CRANE, 'heartbeat');
    for (let beats = 0; beats < 3; beats++) {
      beat(PIER, DERRICK);
      beat(QUAY, CRANE);
      clock.advance(10_000);
      await new Promise(setImmediate);
    }
    beat(QUAY, CRANE);
    clock.advance(1);
    const raisesToW = () => shareOf(of(PIER), 'both')?.raisesToW;
    return { clock, say, raisesToW, reservedW: () => supervisorOf(of(QUAY)).reservedW };
  }

  it('counts with its maximum for the other members before its own location has decided', async () => {
    const { say, raisesToW, reservedW } = await createIdle();
    expect(raisesToW()).toBe(20_000);
    say(QUAY, CRANE, 'none');
    // 32 A on three phases of 253 V.
    expect(reservedW()).toBe(24_288);
    expect(raisesToW()).toBe(40_000 - 24_288);
  });

  it('and has it again before they had to give up theirs', async () => {
    const { clock, say, raisesToW } = await createIdle();
    say(QUAY, CRANE, 'none');
    say(QUAY, CRANE, 'heartbeat');
    clock.advance(200);
    expect(raisesToW()).toBe(20_000);
  });
});

describe("A lock's 6 A that its share has no room for", () => {
  const LOCKED_FROM_MS = START_MS + 60_000;
  /** MOST_W: 32 A on three phases of 253 V. LEAST_W: 6 A. */
  const MOST_W = 24_288;
  const LEAST_W = 4_554;

  /** The winch at the pier is locked from LOCKED_FROM_MS and has no car. The derrick next to it keeps no lease. */
  function createLocked(capW: number, craneLease: 'heartbeat' | 'none') {
    const lock = {
      target: { kind: 'connector', ...WINCH, locationId: PIER },
      priority: 3,
      limitKw: 11,
      startsAtMs: LOCKED_FROM_MS,
      endsAtMs: LOCKED_FROM_MS + 600_000,
    } as const;
    const harbour = createHarbour({
      ...ROWS,
      locations: [location(PIER, [DERRICK, WINCH]), location(QUAY, [CRANE])],
      profiles: [lock],
      clusters: [clusterOf(capW / 1000)],
    });
    const { clock, directory, enforcement, sink, grants } = harbour;
    enforcement.start();
    const say = (at: typeof PIER, { controllerUuid }: typeof CRANE, lease: 'heartbeat' | 'none') =>
      sink.recordState(HARBOUR, at, controllerUuid, {
        online: true,
        boot: 'b',
        connectors: [{ id: '1', lease, keepsThen: true, failsafeA: 0 }],
      });
    say(PIER, WINCH, 'heartbeat');
    say(QUAY, CRANE, craneLease);
    const pier = directory.tenants.get(HARBOUR)?.locations.get(PIER);
    const quay = directory.tenants.get(HARBOUR)?.locations.get(QUAY);
    if (pier === undefined || quay === undefined) throw new Error('there is no pier, or no quay');
    let hb = 0;
    return {
      clock,
      reservedAtPierW: () => supervisorOf(pier).reservedW,
      reservedAtQuayW: () => supervisorOf(quay).reservedW,
      raisesAtQuayToW: () => shareOf(quay, 'both')?.raisesToW,
      loseDerrick: () => say(PIER, DERRICK, 'none'),
      loseCrane: () => say(QUAY, CRANE, 'none'),
      hasFloor: () => grants.some((each) => each.reason === 'lastResort' && each.limitTenthsA === 60),
      async beat(): Promise<void> {
        hb++;
        const chargers = [
          { at: PIER, charger: DERRICK, status: 'Available' },
          { at: PIER, charger: WINCH, status: 'Available' },
          { at: QUAY, charger: CRANE, status: 'Charging' },
        ] as const;
        for (const { at, charger, status } of chargers) {
          const reading = { powerW: 0, boot: 'b', hb, status } as const;
          harbour.meterOf(at, charger).record(reading, clock.monotonicMs());
        }
        clock.advance(10_000);
        await new Promise(setImmediate);
      },
    };
  }

  it('count for the other members once they are granted: their rise has to fit', async () => {
    const capW = 46_000;
    const site = createLocked(capW, 'none');
    site.loseDerrick();
    while (site.clock.nowMs() < LOCKED_FROM_MS - 10_000) await site.beat();
    expect(site.reservedAtPierW()).toBe(MOST_W);
    while (site.clock.nowMs() < LOCKED_FROM_MS + 20_000) await site.beat();
    expect(site.hasFloor()).toBe(true);
    expect(site.reservedAtPierW()).toBe(MOST_W + LEAST_W);
    expect(site.raisesAtQuayToW()).toBe(capW - MOST_W - LEAST_W);
  });

  it('wait until another member has given up its share, though they will never fit', async () => {
    const site = createLocked(24_000, 'heartbeat');
    while (site.clock.nowMs() < LOCKED_FROM_MS - 10_000) await site.beat();
    expect(site.reservedAtQuayW()).toBeGreaterThan(10_000);
    site.loseDerrick();
    let beats = 0;
    for (; !site.hasFloor() && beats < 20; beats++) {
      expect(site.reservedAtQuayW()).toBeGreaterThan(10_000);
      await site.beat();
    }
    expect(beats).toBeGreaterThan(4);
    expect(site.hasFloor()).toBe(true);
    // The provisioned fail-safe of the crane remains.
    expect(site.reservedAtQuayW()).toBe(LEAST_W);
  });

  it('wait no longer than that where the other member keeps all that is reserved for it', async () => {
    const site = createLocked(40_000, 'heartbeat');
    while (site.clock.nowMs() < LOCKED_FROM_MS - 10_000) await site.beat();
    site.loseDerrick();
    site.loseCrane();
    let beats = 0;
    for (; !site.hasFloor() && beats < 10; beats++) await site.beat();
    // A lease and the settling time.
    expect(beats).toBeGreaterThan(4);
    expect(beats).toBeLessThanOrEqual(8);
    expect(site.reservedAtQuayW()).toBe(MOST_W);
  });
});
