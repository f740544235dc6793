// The one place where a location decides who may draw how much: limit and chargers in, grants out. No clock, no wire.

import { FOLLOWED_AFTER_MS } from '../limits/load-estimate.js';
import { tenthsAOf } from '../values/units.js';
import type { Budget } from './budget.js';
import type { ConnectorActor } from './connector.machine.js';
import { type ConnectorControl, isControlled, reserveWorstCase, setStored } from './connector-control.js';
import { hearAck, hearReading } from './connector-readings.js';
import { allowFailsafes, doOwnFailsafesFit, isWronglyTakenToKeep } from './failsafes.js';
import type { Fuses } from './fuses.js';
import { type Ack, type GrantTiming, horizonMsOf, type LeaseKind } from './grant.js';
import { type DecidedGrant, GrantIssuer } from './grant-issuer.js';
import { GrantLedger } from './grant-ledger.js';
import { KnownConnectors, type ProvisionedConnector, staleAfterMsOf } from './known-connectors.js';
import { letsGoAtMs } from './ledger-room.js';
import { barLending } from './lent-phases.js';
import { LocationDraw } from './location-draw.js';
import { MeterLedger, type MeterReading } from './meter-ledger.js';
import { nextSwitchAtMs } from './phase-choice.js';
import { LocationReservedPower } from './reserved-power.js';
import {
  fittedLimitsOf,
  isOverbooked,
  lateAmong,
  nextLateAtMs,
  type SharedRoom,
  setTargetsBeside,
} from './room-beside.js';
import { powerNeedOf, shortageOf } from './shortage.js';
import type { StoredReservation } from './stored-reservation.js';
import { isLettingGo } from './told-anyway.js';
import { followDecision, nextTurnAtMs } from './turns.js';

export interface Decision {
  readonly grants: readonly DecidedGrant[];
  /** When to decide again if nothing happens before, monotonic ms. */
  readonly nextAtMs: number;
  /** Why the limit cannot be kept by any grants; undefined where it can. */
  readonly unattainable: string | undefined;
  /** Its chargers may be entitled to less than after the decision before, or need other than then: its clusters share anew. */
  readonly isReservedOtherwise: boolean;
}

export interface SupervisorOptions {
  /** Heartbeat and lease are those of chargers that have none of their own. */
  readonly timing: GrantTiming;
  /** Of this service, and the `epoch` of its grants: higher than that of any before it. */
  readonly ownerTerm: number;
}

/** What a charger says of a connector. */
interface OwnDescription {
  readonly failsafeA: number;
  readonly lease: LeaseKind;
  readonly keepsThen: boolean;
  readonly boot?: string | undefined;
  readonly endsWithSession?: boolean | undefined;
  readonly switchesPhases?: boolean | undefined;
}

/** After a reservation that could not be written, renewals go without one for this long. */
const STORES_AGAIN_AFTER_HEARTBEATS = 3;
/** Without anything happening a location looks at itself this often. */
const REST_MS = 60_000;
/** Who ordered less without a word before, or a grid operator that limited the location, may do so again for this long. */
const ORDERS_EXPECTED_FOR_MS = 3_600_000;

export class LocationSupervisor {
  /** What its connectors report. */
  readonly meters: MeterLedger;
  /** What they may be entitled to. */
  readonly ledger: GrantLedger;
  /** The same to its clusters. */
  readonly reserved: LocationReservedPower;
  /** What they draw together. */
  readonly draw: LocationDraw;
  readonly timing: GrantTiming;
  #horizonMs: number;
  readonly #ownerTerm: number;
  readonly #connectors: KnownConnectors;
  readonly #issuer: GrantIssuer;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #followedByMs = Number.NEGATIVE_INFINITY;
  #orderedAtMs = Number.NEGATIVE_INFINITY;

  constructor({ timing, ownerTerm }: SupervisorOptions) {
    this.timing = timing;
    this.#horizonMs = horizonMsOf(timing);
    this.#ownerTerm = ownerTerm;
    this.ledger = new GrantLedger(timing);
    this.reserved = new LocationReservedPower(this.ledger);
    this.meters = new MeterLedger(staleAfterMsOf(timing));
    this.#connectors = new KnownConnectors(this.ledger, this.meters, timing);
    this.draw = new LocationDraw(this.meters, this.#connectors);
    this.#issuer = new GrantIssuer(this.ledger, ownerTerm);
  }

  /** By `connectorKey`; to read, and to hand back to the supervisor's methods, which alone write them. */
  get controls(): ReadonlyMap<string, Readonly<ConnectorControl>> {
    return this.#connectors.controls;
  }

  /** From here on a decision must come before any grant: the budget of the last one no longer holds. Monotonic ms. */
  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  /** The budget of the last decision, W; 0 before the first. */
  get budgetW(): number {
    return this.#issuer.budgetW;
  }

  /** How far the longest lease that is given now reaches, ms. */
  get horizonMs(): number {
    return this.#horizonMs;
  }

  /** What is reserved for the location's connectors together, W. */
  get reservedW(): number {
    return this.ledger.totalW;
  }

  /** It has no connectors, and had none at the last decision: no decision could say anything. */
  get isUnconcerned(): boolean {
    return this.controls.size === 0 && this.reserved.isNothing;
  }

  /** Its connection and feeders. */
  get fuses(): Fuses {
    return this.#connectors.fuses;
  }

  /** Other fuses than before, or other ratings of them. */
  rewire(fuses: Fuses): void {
    this.#connectors.rewire(fuses);
  }

  /**
   * Takes the connector in, or what changed of it: with the same rating it keeps all that is known of it, also where its
   * location was built anew and its machine with it.
   * @param actor its machine, which knows lock, throttle and link.
   */
  place(connector: ProvisionedConnector, actor: ConnectorActor, nowMs: number): ConnectorControl {
    return this.#connectors.place(connector, actor, nowMs);
  }

  /** Lets go of all other connectors, and looks as far ahead as these need. */
  keepOnly(keys: { has(key: string): boolean }): void {
    this.#connectors.keepOnly(keys);
    this.#reach();
  }

  /** Folds a reading in; true where a decision should follow. */
  hear(control: ConnectorControl, reading: MeterReading, nowMs: number): boolean {
    return hearReading(this.ledger, control, reading, this.#ownerTerm, nowMs);
  }

  /** `refused` for what was never sent; `news` where a decision should follow. */
  hearAck(control: ConnectorControl, ack: Ack, nowMs: number): 'refused' | 'taken' | 'news' {
    const isOurs = ack.epoch === this.#ownerTerm && ack.seq > 0 && ack.seq <= control.holding.lastSeq;
    if (!isOurs || (ack.boot ?? '') !== control.boot) return 'refused';
    if (ack.result === 'REJECTED' && barLending(this.ledger, control)) return 'news';
    if (ack.result !== 'APPLIED') return 'taken';
    return hearAck(this.ledger, control, ack.seq, ack.appliedA, nowMs) ? 'news' : 'taken';
  }

  /**
   * What a charger says it falls back to by itself, and how it counts leases. One that keeps what grants say fell back to
   * more than it said before only by a grant that is known here, or by starting anew: what came before is no news, however
   * late it comes again.
   */
  describe(control: ConnectorControl, own: OwnDescription, nowMs: number): void {
    const { lease, keepsThen, failsafeA, boot = '' } = own;
    const failsafeTenthsA = Math.min(tenthsAOf(failsafeA), control.holding.maxTenthsA);
    const saidTenthsA = control.said?.boot === boot ? control.said.failsafeTenthsA : -1;
    const isNews = !keepsThen || failsafeTenthsA > saidTenthsA;
    const description = { lease, keepsThen, ...(isNews && { failsafeTenthsA }) };
    this.ledger.describe(control.holding, description, nowMs);
    control.said = { boot, failsafeTenthsA: Math.max(saidTenthsA, failsafeTenthsA) };
    if (own.endsWithSession === true) control.endsWithSessionIn = boot;
    else if (control.endsWithSessionIn === boot) control.endsWithSessionIn = undefined;
    if (own.switchesPhases === true) control.switchesPhasesIn = boot;
    else if (control.switchesPhasesIn === boot) control.switchesPhasesIn = undefined;
    reserveWorstCase(this.ledger, control);
  }

  /** A grid operator limited the location last at `atMs`, monotonic, as far as is known of a time before this service. */
  expectOrdersSince(atMs: number): void {
    this.#orderedAtMs = atMs;
  }

  /** It fell silent or went away: what it was told last is not built upon when it comes back. */
  lose(control: ConnectorControl): void {
    control.sentTenthsA = undefined;
    control.untaken = undefined;
  }

  /** From `atMs` on the budget of the last decision no longer holds. */
  expireBudget(atMs: number): void {
    this.#validUntilMs = Math.min(this.#validUntilMs, atMs);
  }

  /** From `nowMs` on it is expected to report. */
  awaitFrom(control: ConnectorControl, nowMs: number): void {
    control.awaitedSinceMs = nowMs;
  }

  /** It did not report in time: where it was promised something before the start, it is taken to draw all it may. */
  presumeMaximum(control: ConnectorControl): void {
    control.heardBeforeW ??= Number.POSITIVE_INFINITY;
  }

  /** Whether a reservation that a grant waits for is on its way to the disk. */
  setStoring(control: ConnectorControl, isStoring: boolean): void {
    control.isStoring = isStoring;
  }

  /** What is surely on disk of what it is reserved for. */
  setStored(control: ConnectorControl, stored: StoredReservation): void {
    setStored(control, stored);
  }

  /** How the disk has it count its leases; undefined where that is not known. */
  setStoredLease(control: ConnectorControl, lease: LeaseKind | undefined): void {
    control.storedLease = lease;
  }

  /** It is on disk, and leaves now. */
  noteLeft({ control, grant }: DecidedGrant): void {
    this.ledger.noteLeft(control.holding, grant.seq);
  }

  /** It could not be written, or came too late, and never left: what the connector was told before goes on, and is renewed. */
  withdraw(decided: DecidedGrant, nowMs: number): void {
    const { grant, beforeTenthsA } = decided;
    const control: ConnectorControl = decided.control;
    control.storesAgainAtMs = nowMs + STORES_AGAIN_AFTER_HEARTBEATS * control.timing.heartbeatMs;
    if (control.holding.lastSeq !== grant.seq || control.sentTenthsA === undefined) return;
    control.sentTenthsA = beforeTenthsA;
  }

  /** The same limit again for a charger whose heartbeat just came, where it is time. */
  renew(control: ConnectorControl, nowMs: number): DecidedGrant | undefined {
    return this.#issuer.renew(control, nowMs);
  }

  /** Who may draw how much from now on, and what has to be sent for it. */
  decide(budget: Budget, nowMs: number): Decision {
    const { budgetW, building, clusterRoomW, raisesToW } = budget;
    const provisioned = this.#connectors.fuses;
    const fuses = building === undefined ? provisioned : provisioned.beside(building.nowTenthsA);
    const atWorst = building === undefined ? provisioned : provisioned.beside(building.mostTenthsA);
    this.ledger.limitPoles(fuses.capacitiesTenthsA);
    this.#validUntilMs = budget.untilMs;
    if (budget.operatorW < Number.POSITIVE_INFINITY) this.#orderedAtMs = nowMs;
    if (budget.isLimitOrdered && budget.limitW < this.#issuer.budgetW) {
      // Nobody announced it: it would have been the budget a lease before.
      this.#followedByMs = nowMs + FOLLOWED_AFTER_MS;
      this.#orderedAtMs = nowMs;
    }
    this.ledger.release(nowMs);
    const controls = [...this.#connectors.controls.values()];
    for (const { holding } of controls.filter((control) => isWronglyTakenToKeep(control, nowMs)))
      this.ledger.presumeForgetful(holding);
    allowFailsafes(controls, budget.lowestW, atWorst.capacitiesTenthsA, nowMs);
    this.ledger.reserveOwnFailsafes(doOwnFailsafesFit(controls, budget.lowestOwnW, nowMs));
    const controlled: ConnectorControl[] = [];
    const uncontrolled: ConnectorControl[] = [];
    for (const control of controls) (isControlled(control) ? controlled : uncontrolled).push(control);
    const limits = fittedLimitsOf(budget, this.#followedByMs, nowMs);
    const room = { limits, operatorW: budget.operatorW, fuses };
    const late = isOverbooked(this.ledger, controls, room) ? lateAmong(controlled, nowMs) : [];
    const { ledger, timing } = this;
    const circumstances = { ledger, room, settleMs: timing.settleMs, horizonMs: this.#horizonMs, nowMs };
    setTargetsBeside(budget, { controlled, uncontrolled, late }, circumstances);
    for (const control of controlled) followDecision(control, nowMs);
    const need = powerNeedOf(controlled, uncontrolled, nowMs);
    const areOrdersExpected = nowMs - this.#orderedAtMs < ORDERS_EXPECTED_FOR_MS;
    const grantRoom = { budgetW, clusterRoomW, raisesToW, need, areOrdersExpected };
    const grants = this.#issuer.issue(controlled, uncontrolled, grantRoom, late, nowMs);
    const { clusterShareW: shareW } = budget;
    const isAnyLettingGo =
      shareW < Number.POSITIVE_INFINITY && controls.some((control) => isLettingGo(control, nowMs));
    return {
      grants,
      isReservedOtherwise: this.reserved.noteDecision(need, { shareW, isLettingGo: isAnyLettingGo }),
      nextAtMs: Math.max(this.#nextAtMs(controlled, room, nowMs), nowMs + 1),
      unattainable: shortageOf(need, budget.limitW, controls, fuses),
    };
  }

  /** How far leases reach: where that is further than before, a decision comes before the next of them. */
  #reach(): void {
    const { settleMs } = this.timing;
    const horizonMs = horizonMsOf({ ttlMs: this.#connectors.longestTtlMs, settleMs });
    if (horizonMs > this.#horizonMs) this.expireBudget(Number.NEGATIVE_INFINITY);
    this.#horizonMs = horizonMs;
  }

  /** When a raise, a turn or a release is due that no message announces. */
  #nextAtMs(controlled: readonly ConnectorControl[], room: SharedRoom, nowMs: number): number {
    let nextMs = Math.min(nowMs + REST_MS, this.#validUntilMs);
    const lateAtMs = nextLateAtMs(controlled, nowMs);
    if (lateAtMs !== undefined && isOverbooked(this.ledger, [...this.controls.values()], room))
      nextMs = Math.min(nextMs, lateAtMs);
    nextMs = Math.min(nextMs, this.#issuer.nextRaiseAtMs(controlled, nowMs) ?? nextMs);
    const withCar = controlled.filter(({ demand }) => demand.hasCar);
    nextMs = Math.min(nextMs, nextTurnAtMs(withCar, nowMs, this.timing.settleMs) ?? nextMs);
    nextMs = Math.min(nextMs, nextSwitchAtMs(withCar, nowMs));
    for (const { holding } of this.controls.values()) {
      nextMs = Math.min(nextMs, this.ledger.nextReleaseAtMs(holding) ?? nextMs);
      nextMs = Math.min(nextMs, letsGoAtMs(holding, nowMs));
    }
    return nextMs;
  }
}
