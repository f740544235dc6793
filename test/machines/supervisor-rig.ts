// A location under attack: a supervisor, the worst permitted chargers, bad links and crashes, checked at every event.
import { expect } from 'vitest';
import type { Grant } from '../../machines/ledger/grant.js';
import type { StoredReservation } from '../../machines/ledger/ledger.js';
import type { BuildingOnPhases } from '../../machines/power/budget.js';
import { isLocked } from '../../machines/power/connector.js';
import { type Fuses, GRID_PHASES, NO_FUSES, nameOfCircuitPhase } from '../../machines/power/fuses.js';
import type { DecidedGrant } from '../../machines/power/granted.js';
import type { Decision, LocationSupervisor } from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { Agenda, Dice } from './agenda.js';
import { type Acknowledged, type ChargerTraits, HostileCharger } from './hostile-charger.js';
import { HostileLink } from './hostile-link.js';
import { KnownLimits } from './known-limits.js';
import { HORIZON_MS, type SiteOptions, SupervisedSite } from './supervised-site.js';

type Upward =
  | { readonly kind: 'meter'; readonly reading: MeterReading }
  | { readonly kind: 'ack'; readonly ack: Acknowledged };

interface Place {
  readonly charger: HostileCharger;
  readonly up: HostileLink<Upward>;
  readonly down: HostileLink<Grant>;
  lockKw: number | undefined;
  /** Its fail-safe as reported at its start. */
  retainedFailsafeTenthsA: number;
  retainedBoot: string;
}

/** Count of each event. A rig in which an event never happens proves nothing about it. */
export type Happened = Record<
  | 'grants'
  | 'raises'
  | 'decreases'
  | 'staleRefused'
  | 'expiredRefused'
  | 'leasesEnded'
  | 'reboots'
  | 'crashes'
  | 'paused'
  | 'lastResort'
  | 'floorsForced'
  | 'unattainable'
  | 'reallocated'
  | 'lentEnded'
  | 'narrowed'
  | 'lockedWhileLent',
  number
>;

export class SupervisorRig {
  readonly agenda = new Agenda();
  readonly places: readonly Place[];
  isDiskSlow = false;
  readonly #counts = {
    grants: 0,
    raises: 0,
    decreases: 0,
    reboots: 0,
    crashes: 0,
    paused: 0,
    lastResort: 0,
    floorsForced: 0,
    unattainable: 0,
    lockedWhileLent: 0,
  };
  readonly #dice: Dice;
  readonly #fuses: Fuses;
  readonly #limits: KnownLimits;
  /** Releases ended entitlements at every event, because no result may depend on a late release. */
  readonly #isReleasedAtOnce: boolean;
  readonly #disk = new Map<string, StoredReservation>();
  readonly #siteOptions: SiteOptions;
  readonly #seqs = new Map<string, { epoch: number; seq: number; limitTenthsA: number }>();
  readonly #decided = new Map<string, Grant>();
  #site: SupervisedSite | undefined;
  #building: BuildingOnPhases | undefined;
  #epoch = 0;
  /** The 6 A of a lock granted above the budget, and the time until which the excess may be seen. */
  #forced: { readonly excessW: number; readonly untilMs: number }[] = [];

  constructor(
    seed: number,
    chargers: readonly ChargerTraits[],
    limitsW: readonly [number, ...number[]],
    fuses: Fuses = NO_FUSES,
  ) {
    this.#fuses = fuses;
    this.#dice = new Dice(seed);
    this.#isReleasedAtOnce = seed % 2 === 0;
    this.#limits = new KnownLimits(Math.min(...limitsW));
    this.places = chargers.map((traits) => this.#place(traits));
    this.#siteOptions = {
      agenda: this.agenda,
      dice: this.#dice,
      chargers,
      fuses,
      budgetAt: (nowMs) => ({
        ...this.#limits.budgetAt(nowMs),
        building: this.#building,
        isLockedAt: () => true,
      }),
      diskMs: () => (this.isDiskSlow ? this.#dice.oneOf(1, 5, 800, 4_000) : 5),
      lockKwOf: (key) => this.#of(key).lockKw,
      failsafeOf: (key) => this.#of(key).retainedFailsafeTenthsA,
      bootOf: (key) => this.#of(key).retainedBoot,
      publish: (decided) => this.#publish(decided),
      onDecided: ({ supervisor }, grants) => {
        for (const decided of grants) this.#watchFit(supervisor, decided);
      },
      onDecision: (site, decision) => this.#watchDecision(site, decision),
    };
    this.limitFrom(0, limitsW[0]);
    this.#site = new SupervisedSite(this.#siteOptions, ++this.#epoch, this.#disk);
    for (const place of this.places) this.#beatOn(place, this.#dice.below(10_000));
  }

  get happened(): Happened {
    let [staleRefused, expiredRefused, leasesEnded] = [0, 0, 0];
    let [reallocated, lentEnded, narrowed] = [0, 0, 0];
    for (const { charger } of this.places) {
      staleRefused += charger.refused.STALE;
      expiredRefused += charger.refused.EXPIRED;
      leasesEnded += charger.leasesEnded;
      reallocated += charger.reallocated;
      lentEnded += charger.lentEnded;
      narrowed += charger.narrowed;
    }
    return { ...this.#counts, staleRefused, expiredRefused, leasesEnded, reallocated, lentEnded, narrowed };
  }

  get dice(): Dice {
    return this.#dice;
  }

  get lowestW(): number {
    return this.#limits.lowestW;
  }

  get site(): SupervisedSite | undefined {
    return this.#site;
  }

  run(untilMs: number): void {
    this.agenda.run(untilMs, () => this.#check());
  }

  /** From now on the grid operator sets the limits. */
  takeOrders(): void {
    this.#limits.areOrders = true;
    this.#site?.decideSoon();
  }

  /**
   * Changes the location's limit from `fromMs` on: a scheduled change if that is later, else one that binds at once.
   */
  limitFrom(fromMs: number, limitW: number): void {
    this.#limits.set(fromMs, limitW, this.agenda.nowMs);
    this.#site?.decideSoon();
    this.agenda.after(fromMs - this.agenda.nowMs, () => this.#site?.decideSoon());
  }

  /** The building's current on each phase of the connection from now on, tenths of an ampere. */
  buildingTakes(nowTenthsA: readonly number[]): void {
    this.#building = { nowTenthsA, mostTenthsA: nowTenthsA };
    this.#site?.decideSoon();
  }

  lock(place: Place, limitKw: number | undefined): void {
    if (limitKw !== undefined && place.charger.isLent) this.#counts.lockedWhileLent++;
    place.lockKw = limitKw;
    this.#site?.decideSoon();
  }

  crash(backAfterMs: number): void {
    if (this.#site === undefined) return;
    this.#counts.crashes++;
    this.#site.crash();
    this.#site = undefined;
    this.agenda.after(backAfterMs, () => {
      this.#site = new SupervisedSite(this.#siteOptions, ++this.#epoch, this.#disk);
      this.#sync();
    });
  }

  restart(place: Place): void {
    this.#counts.reboots++;
    place.charger.restart(this.agenda.nowMs);
    place.retainedFailsafeTenthsA = place.charger.failsafeTenthsA;
    place.retainedBoot = place.charger.boot;
    this.agenda.after(this.#dice.below(3_000), () => this.#site?.describe(place.charger.traits.key));
    this.#beat(place);
  }

  /** W that the chargers can draw together at this instant. */
  ableW(): number {
    let sumW = 0;
    for (const { charger } of this.places) sumW += charger.ableW(this.agenda.nowMs);
    return sumW;
  }

  /** W that the chargers may draw by their limits in force. */
  servedW(): number {
    let sumW = 0;
    for (const { charger } of this.places) {
      sumW += (charger.limitTenthsA * charger.traits.voltageV * charger.phasesUsed) / 10;
    }
    return sumW;
  }

  limitW(): number {
    return this.#limits.at(this.agenda.nowMs);
  }

  /** Asks all chargers to report at once. A charger that is not reached reports at its next heartbeat. */
  #sync(): void {
    for (const place of this.places) {
      if (place.down.mode !== 'open' || (place.down.isNoisy && this.#dice.isOneIn(2))) continue;
      this.agenda.after(this.#dice.below(500), () => this.#beat(place));
    }
  }

  #of(key: string): Place {
    const place = this.places.find(({ charger }) => charger.traits.key === key);
    if (place === undefined) throw new Error(`no charger ${key}`);
    return place;
  }

  #place(traits: ChargerTraits): Place {
    const charger = new HostileCharger(traits);
    const up = new HostileLink<Upward>(this.agenda, this.#dice, (message) => {
      if (message.kind === 'meter') this.#site?.hear(traits.key, message.reading);
      else this.#site?.applyAck(traits.key, message.ack);
    });
    const down = new HostileLink<Grant>(this.agenda, this.#dice, (grant) => {
      const ack = charger.receive(grant, this.agenda.nowMs);
      const afterMs = ack.result === 'APPLIED' ? traits.ackAfterMs : 0;
      this.agenda.after(afterMs, () => up.send({ kind: 'ack', ack }));
    });
    return {
      charger,
      up,
      down,
      lockKw: undefined,
      retainedFailsafeTenthsA: traits.failsafeTenthsA,
      retainedBoot: charger.boot,
    };
  }

  #beatOn(place: Place, afterMs: number): void {
    this.agenda.after(afterMs, () => {
      this.#beat(place);
      this.#beatOn(place, 10_000 * place.charger.traits.secondLastsS);
    });
  }

  #beat({ charger, up }: Place): void {
    up.send({ kind: 'meter', reading: charger.beat(this.agenda.nowMs) });
  }

  /** The permitted power by the limits, plus the 6 A of locks, which are granted in any case. */
  #allowedW(): number {
    const { nowMs } = this.agenda;
    this.#forced = this.#forced.filter(({ untilMs }) => untilMs > nowMs);
    return this.#limits.allowedW(nowMs) + Math.max(0, ...this.#forced.map(({ excessW }) => excessW));
  }

  #check(): void {
    const { nowMs } = this.agenda;
    const ableW = this.ableW();
    const allowedW = this.#allowedW();
    if (ableW > allowedW + 0.5) expect.fail(`P1 at ${nowMs} ms: ${ableW} W of ${allowedW} W`);
    this.#checkFuses();
    if (this.#site === undefined) return;
    const { ledger, connectors } = this.#site.supervisor;
    if (this.#isReleasedAtOnce) ledger.release(nowMs);
    for (const { charger } of this.places) {
      const connector = connectors.get(charger.traits.key);
      for (const own of charger.gridPhases.keys()) {
        const able = charger.ableTenthsA(nowMs, own);
        const bound = connector?.account.bounds[own] ?? able;
        if (able > bound)
          expect.fail(`rule 1 at ${nowMs} ms: ${charger.traits.key} can draw ${able} of ${bound} on ${own}`);
      }
    }
  }

  /**
   * Highest possible current on each circuit phase, tenths of A. No lock and no late limit excuses an overloaded fuse
   * (R28).
   */
  ableTenthsA(): number[] {
    const ableTenthsA = this.#fuses.circuitPhases.map(() => 0);
    for (const { charger } of this.places) {
      const { fusesAbove = [] } = charger.traits;
      for (const [place, { feeder, phase }] of this.#fuses.circuitPhases.entries()) {
        if (feeder !== undefined && !fusesAbove.includes(feeder)) continue;
        for (const [own, each] of charger.gridPhases.entries())
          if (GRID_PHASES[each] === phase)
            ableTenthsA[place] = (ableTenthsA[place] ?? 0) + charger.ableTenthsA(this.agenda.nowMs, own);
      }
    }
    return ableTenthsA;
  }

  #checkFuses(): void {
    for (const [place, able] of this.ableTenthsA().entries()) {
      const circuitPhase = this.#fuses.circuitPhases[place];
      if (circuitPhase === undefined || able <= circuitPhase.capacityTenthsA) continue;
      const name = nameOfCircuitPhase(circuitPhase);
      expect.fail(
        `P1 at ${this.agenda.nowMs} ms: ${able} of ${circuitPhase.capacityTenthsA} tenths of A on ${name}`,
      );
    }
  }

  #watchDecision({ supervisor }: SupervisedSite, { unattainable }: Decision): void {
    const { nowMs } = this.agenda;
    if (unattainable !== undefined) this.#counts.unattainable++;
    const connectors = [...supervisor.connectors.values()];
    for (const {
      decided: { reason },
    } of connectors) {
      if (reason === 'paused') this.#counts.paused++;
      if (reason === 'lastResort') this.#counts.lastResort++;
    }
    // Unlocked connectors on other phases than a lowered lock continue. The tests of the allocation cover that.
    if (
      this.#fuses.circuitPhases.length > 0 ||
      !connectors.some(({ decided: { reason } }) => reason === 'lastResort')
    )
      return;
    // Locked connectors are lowered only if every reachable unlocked connector has a target of 0 (R16).
    for (const connector of connectors) {
      const { key, account } = connector;
      const { targetTenthsA, reason } = connector.decided;
      const { untaken } = connector.granted;
      const isTold =
        reason === 'paused' ||
        reason === 'minimumPause' ||
        reason === 'idle' ||
        reason === 'fairShare' ||
        reason === 'demand';
      // The connector's own fail-safe is reserved under any limit. A charger that has not taken its limit makes others
      // lower.
      const isTaking = targetTenthsA > account.ownFailsafeTenthsA && untaken === undefined;
      if (!isLocked(connector) && isTold && isTaking) {
        expect.fail(`rule 3 at ${nowMs} ms: ${key} keeps ${targetTenthsA} while locks are lowered`);
      }
    }
  }

  /** P2: a raised limit fits beside all entitlements of the others. */
  #watchFit({ reservedW, budgetW }: LocationSupervisor, { grant, connector }: DecidedGrant): void {
    const { key, account } = connector;
    const { epoch, limitTenthsA } = grant;
    const last = this.#decided.get(key);
    this.#decided.set(key, grant);
    const { failsafeTenthsA, keepsThen } = this.#of(key).charger.traits;
    const isOnMore = (grant.reallocated?.phases ?? 3) > (last?.reallocated?.phases ?? 3);
    const isAsBefore = last?.epoch === epoch && !isOnMore;
    const grantedTenthsA = isAsBefore ? Math.max(last.limitTenthsA, last.thenTenthsA) : 0;
    if (limitTenthsA <= Math.max(grantedTenthsA, keepsThen ? 0 : failsafeTenthsA) || account.isWorstCase)
      return;
    if (isLocked(connector) && limitTenthsA === 60) return;
    const sumW = reservedW - account.boundW + (limitTenthsA * account.milliwattsPerTenth) / 1000;
    if (sumW > budgetW + 1)
      expect.fail(`P2 at ${this.agenda.nowMs} ms: ${sumW} W of ${budgetW} W for ${key}`);
  }

  /** The 6 A of a lock are granted under any limit (R17). */
  #noteForced(): void {
    const { reservedW = 0, budgetW = 0 } = this.#site?.supervisor ?? {};
    const excessW = reservedW - budgetW;
    if (excessW <= 0) return;
    this.#counts.floorsForced++;
    this.#forced.push({ excessW, untilMs: this.agenda.nowMs + HORIZON_MS });
  }

  #publish({ grant, connector }: DecidedGrant): void {
    const { key } = connector;
    const { epoch, seq, boot, limitTenthsA, thenTenthsA } = grant;
    const last = this.#seqs.get(key) ?? { epoch: 0, seq: 0, limitTenthsA: 0 };
    const isRising = epoch > last.epoch || (epoch === last.epoch && seq > last.seq);
    if (!isRising) expect.fail(`P7: ${key} is told ${epoch}/${seq} after ${last.epoch}/${last.seq}`);
    const isBetween = [limitTenthsA, thenTenthsA].some((tenthsA) => tenthsA > 0 && tenthsA < 60);
    if (isBetween || limitTenthsA > connector.account.maxTenthsA)
      expect.fail(`P3: ${key} gets ${limitTenthsA}, then ${thenTenthsA}`);
    const { charger } = this.#of(key);
    const { limitA = 0 } = connector.telemetry.slot;
    const grantedTenthsA = last.epoch === epoch ? last.limitTenthsA : 10 * limitA;
    // A charger refuses a grant for another of its starts (R5).
    const isOn =
      boot === charger.boot && grantedTenthsA >= 60 && charger.hasLease && charger.limitTenthsA >= 60;
    // A fuse is never overloaded, not even for the 6 A of a lock (R28).
    const isOwed = isLocked(connector) && this.#fuses.circuitPhases.length === 0;
    if (isOwed && isOn && limitTenthsA < 60) {
      expect.fail(`P4 at ${this.agenda.nowMs} ms: locked ${key} gets ${limitTenthsA}`);
    }
    this.#seqs.set(key, { epoch, seq, limitTenthsA });
    if (isLocked(connector) && limitTenthsA === 60) this.#noteForced();
    this.#counts.grants++;
    if (limitTenthsA > last.limitTenthsA) this.#counts.raises++;
    if (limitTenthsA < last.limitTenthsA) this.#counts.decreases++;
    this.#of(key).down.send(grant);
  }
}
