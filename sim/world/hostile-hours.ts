// Runs hours of faults drawn from a seed, and then a calm phase in which everything must recover.

import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { STEADY_MS } from '../../machines/session/charger-clock.js';
import { toInstant } from '../../src/wire/instants.js';
import type { RareBranch } from '../checks/reached.js';
import type { FaultKind, TraceEvent } from '../log/trace-event.js';
import { createDraw, type Draw } from '../scenario/draw.js';
import type { ChargerRun } from './charger-run.js';
import {
  FAR,
  type HostileSite,
  hostileSiteOf,
  OTHER_TENANT,
  oneOf,
  START_MS,
  TENANT,
  YARD,
} from './hostile-site.js';
import { CALM, type Weather, type Wire } from './wire.js';
import { createWorld, type World } from './world.js';
import type { NodeFault } from './world-nodes.js';
import type { Violation } from './world-record.js';

// Random faults by seed: of wires, chargers, the service, the gateway, the broker and the database.

/** Mean time between two faults of a kind, in ms, per charger or for the service. */
interface Strengths {
  readonly weatherEveryMs: number;
  readonly partitionEveryMs: number;
  readonly rebootEveryMs: number;
  readonly crashEveryMs: number;
  readonly databaseBusyEveryMs: number;
  readonly brokerRestartEveryMs: number;
  /** Undefined without a gateway. */
  readonly gatewayCrashEveryMs?: number;
}

/** Draws the intervals for a seed: all kinds often, or one kind often and the others now and then. */
function drawStrengths(random: RandomGenerator, hasGateway = false): Strengths {
  const minutes = (least: number, most: number) => 60_000 * least * (most / least) ** uniformFloat64(random);
  return {
    weatherEveryMs: minutes(8, 60),
    partitionEveryMs: minutes(10, 90),
    rebootEveryMs: minutes(12, 120),
    crashEveryMs: minutes(20, 240),
    databaseBusyEveryMs: minutes(20, 120),
    brokerRestartEveryMs: minutes(40, 240),
    ...(hasGateway ? { gatewayCrashEveryMs: minutes(20, 240) } : {}),
  };
}

const LONGEST_PARTITION_MS = 180_000;
const LONGEST_SESSION_BREAK_MS = 20_000;
const LONGEST_STORM_MS = 300_000;

const LONGEST_BUSY_MS = 60_000;
const LONGEST_BROKER_RESTART_MS = 15_000;
const NODE_FAULTS = [
  'nodeFrozen',
  'nodeCutFromDatabase',
  'nodeCutFromBroker',
  'nodeClockOff',
  'nodeCutFromNodes',
] as const;
const NODE_FAULT_EVERY_MS = 300_000;
const TROUBLED_EVERY_MS = 30_000;
const LONGEST_NODE_FAULT_MS = 30_000;

export class RandomFaults {
  /** Number of faults so far, by kind. */
  readonly struck = new Map<FaultKind | NodeFault, number>();
  readonly #world: World;
  readonly #random: RandomGenerator;
  readonly #strengths: Strengths;
  #isOver = false;

  /** The faults begin at once. */
  constructor(world: World, seed: number, strengths: Strengths) {
    this.#world = world;
    this.#random = mersenne(seed);
    this.#strengths = strengths;
    for (const run of world.runs) this.#strikeCharger(run);
    this.#strikeService();
    this.#trouble();
    if (world.nodeCount > 0) this.#strikeNodes();
  }

  /** Ends the faults and repairs their effects. */
  end(): void {
    this.#isOver = true;
    this.#world.setDatabaseBusy(false);
    this.#world.endNodeFaults();
    for (const run of this.#world.runs) {
      for (const wire of run.wires) wire.mend();
      if (!run.isConnected) this.#world.disconnect(run, 0);
    }
  }

  #strikeCharger(run: ChargerRun): void {
    this.#every(this.#strengths.weatherEveryMs, () => {
      const wire = this.#wireOf(run);
      wire.weather = this.#weather();
      this.#later(this.#upTo(LONGEST_STORM_MS), () => {
        wire.weather = CALM;
      });
    });
    this.#every(this.#strengths.partitionEveryMs, () => {
      if (this.#share() < 0.5) this.#partition(this.#wireOf(run));
      else if (this.#wireOf(run) === run.wires[0])
        this.#world.disconnect(run, this.#upTo(LONGEST_PARTITION_MS));
      else this.#world.breakSession(run, this.#upTo(LONGEST_SESSION_BREAK_MS));
    });
    this.#every(this.#strengths.rebootEveryMs, () => {
      this.#count('reboot');
      this.#world.reboot(run);
    });
  }

  /** The charger's only wire, or one of its wires through the gateway. */
  #wireOf({ wires, wire }: ChargerRun): Wire {
    if (wires.length === 1) return wire;
    return wires[uniformInt(this.#random, 0, wires.length - 1)] ?? wire;
  }

  #strikeService(): void {
    const { gatewayCrashEveryMs } = this.#strengths;
    if (gatewayCrashEveryMs !== undefined)
      this.#every(gatewayCrashEveryMs, () => {
        this.#count('gatewayCrash');
        this.#world.crashGateway(this.#upTo(LONGEST_OUTAGE_MS));
      });
    this.#every(this.#strengths.crashEveryMs, () => {
      this.#count('serviceCrash');
      this.#world.crash(this.#upTo(LONGEST_OUTAGE_MS));
    });
    this.#every(this.#strengths.brokerRestartEveryMs, () => {
      this.#count('brokerRestart');
      this.#world.restartBroker(this.#upTo(LONGEST_BROKER_RESTART_MS));
    });
    this.#every(this.#strengths.databaseBusyEveryMs, () => {
      this.#count('databaseBusy');
      this.#world.setDatabaseBusy(true);
      this.#later(this.#upTo(LONGEST_BUSY_MS), () => this.#world.setDatabaseBusy(false));
    });
  }

  /** Some fault is active at any time. */
  #trouble(): void {
    this.#world.noteTrouble();
    this.#later(TROUBLED_EVERY_MS, () => this.#trouble());
  }

  /** Faults of the active node or another one, shorter than its ownership lease or longer. */
  #strikeNodes(): void {
    this.#every(NODE_FAULT_EVERY_MS, () => {
      this.#count('serviceCrash');
      this.#world.crash(this.#upTo(LONGEST_OUTAGE_MS));
    });
    for (const fault of NODE_FAULTS) this.#strikeNodesBy(fault);
  }

  #strikeNodesBy(fault: NodeFault): void {
    this.#every(NODE_FAULT_EVERY_MS, () => {
      this.#count(fault);
      // Half of the faults hit the active node.
      const drawn = uniformInt(this.#random, 0, 2 * this.#world.nodeCount - 1);
      const place = drawn < this.#world.nodeCount ? drawn : 'active';
      this.#world.strikeNode(fault, place, this.#upTo(LONGEST_NODE_FAULT_MS), this.#share() < 0.5 ? 1 : -1);
    });
  }

  #share(): number {
    return uniformFloat64(this.#random);
  }

  #upTo(ms: number): number {
    return uniformInt(this.#random, 1, ms);
  }

  #count(kind: FaultKind | NodeFault): void {
    this.struck.set(kind, (this.struck.get(kind) ?? 0) + 1);
  }

  #later(ms: number, work: () => void): void {
    this.#world.agenda.at(this.#world.monotonicMs() + ms, () => {
      if (!this.#isOver) work();
    });
  }

  /** Repeats `strike` at random intervals (exponentially distributed). */
  #every(meanMs: number, strike: () => void): void {
    const waitMs = Math.ceil(-Math.log(1 - this.#share()) * meanMs);
    this.#later(waitMs, () => {
      strike();
      this.#every(meanMs, strike);
    });
  }

  #weather(): Weather {
    this.#count('loss');
    this.#count('duplication');
    this.#count('delay');
    this.#count('hold');
    return {
      lossShare: 0.5 * this.#share(),
      duplicateShare: 0.5 * this.#share(),
      delayMs: this.#upTo(20_000),
      holdShare: 0.5 * this.#share(),
      holdMs: this.#upTo(120_000),
    };
  }

  #partition(wire: Wire): void {
    this.#count('partition');
    const way = this.#share();
    wire.isCutUp = way < 0.7;
    wire.isCutDown = way > 0.3;
    this.#later(this.#upTo(LONGEST_PARTITION_MS), () => {
      wire.isCutUp = false;
      wire.isCutDown = false;
    });
  }
}

// The actions of operators on a hostile day, drawn from its seed: every call of the interface, at the worst of times.
const MOST_KW = 70;
const LONGEST_OUTAGE_MS = 20_000;
const REPEATED_AFTER_MS = 5_000;
const REPEATED_EACH = 3;
const MINUTE_MS = 60_000;
const LONGEST_STAY_MS = 150 * MINUTE_MS;
const MOST_NEED_KWH = 40;

class HostileOperator {
  readonly #world: World;
  readonly #site: HostileSite;
  readonly #random: RandomGenerator;
  /** Declarations have random numbers of their own, so that they change no other call. */
  readonly #ofNeeds: Draw;
  readonly #deeds: readonly (() => Promise<void>)[];
  #clusterId: string | undefined;
  #deedsDone = 0;
  /** Last order of the grid operator, by location. */
  readonly #sentLast = new Map<string, object>();

  constructor(
    world: World,
    site: HostileSite,
    { seed, random }: { readonly seed: number; readonly random: RandomGenerator },
  ) {
    this.#world = world;
    this.#site = site;
    this.#random = random;
    this.#ofNeeds = createDraw(seed, 'declarations');
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
    await this.#declare();
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

  /**
   * A driver declares departure and needs in an app, changes or withdraws them. Some have left by then, and some
   * declarations are refused.
   */
  async #declare(): Promise<void> {
    const { share, whole, between } = this.#ofNeeds;
    const { locationIds, chargers } = this.#site;
    const locationId = locationIds[whole([0, locationIds.length - 1])];
    const path = `/chargers/${locationId}-${whole([0, chargers - 1])}/connectors/1/session`;
    const isWithdrawn = share() < 0.2;
    const departsAtMs = this.#world.nowMs() + whole([-MINUTE_MS, LONGEST_STAY_MS]);
    const energyNeedKwh = MOST_NEED_KWH * share() ** 2;
    const body = {
      ...(share() < 0.9 && { departureTime: toInstant(departsAtMs) }),
      ...(share() < 0.9 && { energyNeedKwh }),
      ...(share() < 0.6 && { minimumEnergyKwh: energyNeedKwh * between([0, 1.05]) }),
      ...(share() < 0.5 && { priority: whole([0, 3]) }),
    };
    if (isWithdrawn) await this.#world.call('DELETE', path);
    else await this.#world.call('PUT', path, body);
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

/** Size and length of the run. */
export interface HostileSetting {
  /** At each of two locations of one tenant; there are a few more elsewhere. */
  readonly chargers: number;
  readonly durationMs: number;
  /** Number of nodes that stand by for each other; one service if left out. */
  readonly nodes?: number | undefined;
  /** The nodes share the tenants instead of standing by. */
  readonly isSharded?: boolean | undefined;
  /** Most chargers use OCPP, through the gateway. */
  readonly speaksOcpp?: boolean | undefined;
}

interface HostileOptions extends HostileSetting {
  readonly seed: number;
  /** The run stops at the first violation. */
  readonly isFirstEnough?: boolean;
  readonly onEvent?: (event: TraceEvent) => void;
}

export interface HostileHours {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly struck: RandomFaults['struck'];
  readonly reached: ReadonlyMap<RareBranch, number>;
  readonly counts: World['counts'];
  /** Number of times that a node became active. */
  readonly terms: number;
}

/** After the last fault everything recovers within this time (P12). */
const HEALED_MS = 101_000;
/**
 * By then the gateway has found a charger's clock that went wrong before: both ends have replaced a dead
 * connection.
 */
const CLOCKS_SEEN_MS = 30_000;
/** Interval of the last `LOOKS` samples of the power before that; meanwhile the rotation passes from car to car. */
const LOOK_EVERY_MS = 5_000;
const LOOKS = 9;
/** The lease of a transaction ends with it, and the next one comes with a heartbeat: at most 15 s later. */
const MOST_LEASELESS_LOOKS = 3;
const BEST_SHARE = 0.95;

export async function runHostileHours(options: HostileOptions): Promise<HostileHours> {
  const {
    seed,
    chargers,
    durationMs,
    nodes,
    isSharded = false,
    speaksOcpp = false,
    isFirstEnough = false,
    onEvent,
  } = options;
  const random = mersenne(seed);
  const site = hostileSiteOf(seed, chargers, { speaksOcpp, hasNodes: nodes !== undefined });
  const { tenants, visitorsOf, traitsOf, ocppOf } = site;
  const world = await createWorld({
    tenants,
    seed,
    startMs: START_MS,
    visitorsOf,
    traitsOf,
    ocppOf,
    keepsMessages: true,
    ...(nodes === undefined ? {} : { nodes, isSharded }),
    ...(onEvent === undefined ? {} : { onEvent }),
  });
  const isOver = () => isFirstEnough && world.violations.length > 0;
  try {
    if (world.oracle.locationIds.includes(YARD)) world.watch.pardon(YARD);
    const operator = new HostileOperator(world, site, { seed, random });
    const randomFaults = new RandomFaults(world, seed, drawStrengths(random, speaksOcpp));
    const actEveryMs = 1_000 * uniformInt(random, 60, 300);
    for (let passedMs = 0; passedMs < durationMs && !isOver(); passedMs += actEveryMs) {
      await world.advance(actEveryMs);
      await operator.act();
    }
    randomFaults.end();
    await operator.leave();
    if (!isOver()) await heal(world, site);
    const { violations, counts, checks, terms } = world;
    return { seed, violations, struck: randomFaults.struck, reached: checks.reached.counts, counts, terms };
  } finally {
    await world.close();
  }
}

/** Power is compared with its best only if cars do not come and go; otherwise no best is known. */
async function heal(world: World, { locationIds, isHungry }: HostileSite): Promise<void> {
  const best = new Map((isHungry ? locationIds : []).map((locationId) => [locationId, 0]));
  await world.advance(CLOCKS_SEEN_MS);
  // The charger has no lease before its clock has been steady for `STEADY_MS`; the rest follows from then on.
  const isClockDoubted = world.runs.some(({ charger }) => charger.isClockDoubted === true);
  if (isClockDoubted) await world.advance(CLOCKS_SEEN_MS + STEADY_MS);
  await world.advance(HEALED_MS - CLOCKS_SEEN_MS - LOOKS * LOOK_EVERY_MS);
  let leaselessLooks = new Map<string, number>();
  for (let look = 0; look < LOOKS; look++) {
    await world.advance(LOOK_EVERY_MS);
    const leaseless = locationIds.flatMap((locationId) => world.checks.recovery.leaseless(locationId));
    leaselessLooks = new Map(leaseless.map((target) => [target, (leaselessLooks.get(target) ?? 0) + 1]));
    for (const [locationId, share] of best)
      best.set(locationId, Math.max(share, world.checks.recovery.shareOfBest(locationId)));
  }
  for (const [target, looks] of leaselessLooks)
    if (looks > MOST_LEASELESS_LOOKS)
      world.report({ invariant: 'P12', target, detail: 'it holds no lease though no fault occurred lately' });
  for (const [target, share] of best) {
    if (share >= BEST_SHARE) continue;
    const detail = `it draws ${(100 * share).toFixed(1)} % of the best possible though no fault occurred lately`;
    world.report({ invariant: 'P12', target, detail });
  }
}
