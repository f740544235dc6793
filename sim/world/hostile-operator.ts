// The actions of operators on a hostile day, drawn from its seed: every call of the interface, at the worst of times.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { toInstant } from '../../src/wire/instants.js';
import { FAR, type HostileSite, OTHER_TENANT, oneOf, TENANT, YARD } from './hostile-site.js';
import type { World } from './world.js';

const MOST_KW = 70;
const LONGEST_OUTAGE_MS = 20_000;
const REPEATED_AFTER_MS = 5_000;
const REPEATED_EACH = 3;

export class HostileOperator {
  readonly #world: World;
  readonly #site: HostileSite;
  readonly #random: RandomGenerator;
  readonly #deeds: readonly (() => Promise<void>)[];
  #clusterId: string | undefined;
  #deedsDone = 0;
  /** Last order of the grid operator, by location. */
  readonly #sentLast = new Map<string, object>();

  constructor(world: World, site: HostileSite, random: RandomGenerator) {
    this.#world = world;
    this.#site = site;
    this.#random = random;
    this.#deeds = [
      ...Array.from({ length: 9 }, () => () => this.#schedule()),
      ...Array.from({ length: 3 }, () => () => this.#setLimit()),
      ...Array.from({ length: 4 }, () => () => this.#lock()),
      ...Array.from({ length: 3 }, () => () => this.#cancel()),
      ...Array.from({ length: 3 }, () => () => this.#changeCluster()),
      () => this.#pressYard(),
      () => this.#dieWriting(),
      ...Array.from({ length: 2 }, () => () => world.checks.probes.tellAgain(this.#aLocation())),
    ];
  }

  /** Performs one action; now and then also a probe. */
  async act(): Promise<void> {
    const { probes } = this.#world.checks;
    this.#deedsDone++;
    if (this.#deedsDone % 40 === 5) await probes.tenantWalls();
    if (this.#deedsDone % 40 === 25) await probes.memberRemovals(TENANT, this.#site.locationIds);
    await oneOf(this.#deeds, this.#random)();
    if (this.#site.hasOperator) await this.#order();
  }

  /** The grid operator withdraws its orders. */
  async leave(): Promise<void> {
    if (!this.#site.hasOperator) return;
    for (const locationId of this.#site.locationIds)
      while (!(await this.#tell(locationId, { isActive: false, sentAt: toInstant(this.#world.nowMs()) })))
        await this.#world.advance(REPEATED_AFTER_MS);
  }

  #upTo(most: number): number {
    return uniformInt(this.#random, 0, most);
  }

  #aLocation(): string {
    return oneOf(this.#site.locationIds, this.#random);
  }

  #aLimitKw(): number {
    return uniformInt(this.#random, this.#site.leastKw, MOST_KW);
  }

  /** Begins from a minute ago to five minutes ahead, rarely up to two hours ahead; never over at the submission. */
  #window(): { startTime: string; endTime: string } {
    const now = this.#world.nowMs();
    const startsAtMs = now + 1_000 * uniformInt(this.#random, -60, this.#upTo(9) === 0 ? 7_200 : 300);
    const endsAtMs = Math.max(now + 5_000, startsAtMs + 1_000 * uniformInt(this.#random, 5, 900));
    return { startTime: toInstant(startsAtMs), endTime: toInstant(endsAtMs) };
  }

  #aProfile(): object {
    return { ...this.#window(), limitKw: this.#aLimitKw(), priority: this.#upTo(10) };
  }

  async #schedule(): Promise<void> {
    await this.#world.call('POST', `/locations/${this.#aLocation()}/schedules`, this.#aProfile());
  }

  async #setLimit(): Promise<void> {
    await this.#world.call('PUT', `/locations/${this.#aLocation()}/limit`, { limitKw: this.#aLimitKw() });
  }

  async #lock(): Promise<void> {
    const body = { ...this.#window(), limitKw: uniformInt(this.#random, 1, 22), priority: this.#upTo(2) };
    const charger = `${this.#aLocation()}-${this.#upTo(this.#site.lockable - 1)}`;
    await this.#world.call('POST', `/chargers/${charger}/connectors/1/schedules`, body);
  }

  /** The grid operator limits, lifts its limit or sends a heartbeat, sometimes late, twice or out of order. */
  async #order(): Promise<void> {
    const locationId = this.#aLocation();
    const sentAt = toInstant(this.#world.nowMs() - 1_000 * (this.#upTo(3) === 0 ? this.#upTo(90) : 0));
    const choice = this.#upTo(9);
    const limitKw = uniformInt(this.#random, this.#site.leastKw, MOST_KW);
    const order = { isActive: true, limitKw, sentAt };
    if (choice < 2) await this.#tell(locationId, { sentAt });
    else if (choice < 4) await this.#tell(locationId, { isActive: false, sentAt });
    else await this.#tell(locationId, choice < 7 ? order : { ...order, durationS: 60 + this.#upTo(1_800) });
    if (choice === 9) await this.#tell(locationId, order);
    const before = this.#sentLast.get(locationId);
    this.#sentLast.set(locationId, order);
    // The order before the newest one comes again after the newest.
    if (before !== undefined && this.#deedsDone % REPEATED_EACH === 0) await this.#tell(locationId, before);
  }

  /**
   * True if the service received the order. None is sent while the database is busy, since an unwritten order might
   * be lost.
   */
  async #tell(locationId: string, order: object): Promise<boolean> {
    if (this.#world.isDatabaseBusy) return false;
    const body = { source: 'grid', ...order };
    const { status } = await this.#world.call('PUT', `/locations/${locationId}/operator-limit`, body);
    return status === 200;
  }

  /** Cancels a planned, active or ended profile; the service refuses the ended one. */
  async #cancel(): Promise<void> {
    const locationId = this.#aLocation();
    const charger = `${locationId}-${this.#upTo(this.#site.lockable - 1)}`;
    const isLock = this.#upTo(2) === 0;
    const held = [...this.#world.oracle.profilesOf(isLock ? `${charger}/1` : locationId)];
    const priority = held.length === 0 ? this.#upTo(10) : oneOf(held, this.#random).priority;
    const path = isLock ? `/chargers/${charger}/connectors/1` : `/locations/${locationId}`;
    await this.#world.call('DELETE', `${path}/schedules/${priority}`);
  }

  async #changeCluster(): Promise<void> {
    if (!this.#site.hasCluster) return this.#schedule();
    if (this.#clusterId === undefined) {
      const body = {
        name: 'cluster',
        locationIds: this.#site.locationIds,
        limitKw: uniformInt(this.#random, 50, 90),
      };
      const { status, body: made } = await this.#world.call('POST', '/clusters', body);
      if (status === 201) this.#clusterId = (made as { clusterId: string }).clusterId;
      return;
    }
    const path = `/clusters/${this.#clusterId}`;
    const choice = this.#upTo(9);
    if (choice < 5) await this.#world.call('PATCH', path, { limitKw: uniformInt(this.#random, 40, 90) });
    else if (choice < 7)
      await this.#world.call('PATCH', path, { status: choice < 6 ? 'INACTIVE' : 'ACTIVE' });
    else if (choice < 9) await this.#world.call('POST', `${path}/schedules`, this.#aProfile());
    else if ((await this.#world.call('DELETE', path)).status === 200) this.#clusterId = undefined;
  }

  /** Limits that cannot be kept go to the location whose chargers keep none. */
  async #pressYard(): Promise<void> {
    const hasYard = this.#world.oracle.locationIds.includes(YARD);
    const path = `/locations/${hasYard ? YARD : FAR}/limit`;
    const limitKw = hasYard ? oneOf([3, 12, 50], this.#random) : uniformInt(this.#random, 20, 60);
    await this.#world.call('PUT', path, { limitKw }, hasYard ? TENANT : OTHER_TENANT);
  }

  /** The service dies or freezes while the call is under way. */
  async #dieWriting(): Promise<void> {
    this.#world.dieAtNextWrite(oneOf(this.#world.fates, this.#random), 1 + this.#upTo(LONGEST_OUTAGE_MS));
    const writes = [
      () => this.#schedule(),
      () => this.#setLimit(),
      () => this.#lock(),
      () => this.#cancel(),
      () => this.#changeCluster(),
    ];
    await oneOf(writes, this.#random)();
  }
}
