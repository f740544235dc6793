// Decides the division of a location's power: limit and chargers in, grants out. The module uses no clock and no
// network.

import { FOLLOWED_AFTER_MS } from '../limits/load-estimate.js';
import { tenthsAOf } from '../values/units.js';
import type { Budget } from './budget.js';
import type { ConnectorActor } from './connector.machine.js';
import { type ConnectorControl, isControlled, reserveWorstCase, setStored } from './connector-control.js';
import { applyAck, applyReading } from './connector-readings.js';
import { ConnectorRegistry, type ProvisionedConnector, staleAfterMsOf } from './connector-registry.js';
import { allowFailsafes, doOwnFailsafesFit, lacksConfirmedKeepsThen } from './failsafes.js';
import type { Fuses } from './fuses.js';
import { type Ack, type GrantTiming, horizonMsOf, type LeaseKind } from './grant.js';
import { type DecidedGrant, GrantIssuer } from './grant-issuer.js';
import { GrantLedger } from './grant-ledger.js';
import { nextReleaseByTimeMs } from './ledger-capacity.js';
import { LocationDraw } from './location-draw.js';
import { MeterLedger, type MeterReading } from './meter-ledger.js';
import { nextSwitchAtMs } from './phase-choice.js';
import { forbidReallocation } from './reallocated-phases.js';
import {
  fittedLimitsOf,
  isOverbooked,
  lateAmong,
  nextLateAtMs,
  type SharedCapacity,
  setTargetsBeside,
} from './remaining-capacity.js';
import { LocationReservedPower } from './reserved-power.js';
import { followDecision, nextTurnAtMs } from './rotation.js';
import { powerNeedOf, shortageOf } from './shortage.js';
import type { StoredReservation } from './stored-reservation.js';
import { isReleasing } from './unverified-chargers.js';

export interface Decision {
  readonly grants: readonly DecidedGrant[];
  /** Time of the next decision if no event comes before, monotonic ms. */
  readonly nextAtMs: number;
  /** Reason that no grants can keep the limit; undefined if the limit can be kept. */
  readonly unattainable: string | undefined;
  /** The reservation or the need differs from the previous decision, so that clusters divide their caps again. */
  readonly isReservedOtherwise: boolean;
}

export interface SupervisorOptions {
  /** Heartbeat and lease apply to chargers without their own. */
  readonly timing: GrantTiming;
  /** Ownership term of this service and `epoch` of its grants; higher than any before. */
  readonly ownerTerm: number;
}

/** Description that a charger sends of a connector. */
interface OwnDescription {
  readonly failsafeA: number;
  readonly lease: LeaseKind;
  readonly keepsThen: boolean;
  readonly boot?: string | undefined;
  readonly endsWithSession?: boolean | undefined;
  readonly switchesPhases?: boolean | undefined;
}

/** After a failed write of a reservation, renewals leave without a write for this many heartbeats. */
const STORES_AGAIN_AFTER_HEARTBEATS = 3;
/** Interval between decisions without events. */
const REST_MS = 60_000;
/** Another order may come for this long after an unannounced decrease or an operator limit. */
const ORDERS_EXPECTED_FOR_MS = 3_600_000;

export class LocationSupervisor {
  /** Readings of its connectors. */
  readonly meters: MeterLedger;
  /** Entitlements of its connectors. */
  readonly ledger: GrantLedger;
  /** The location's reservation as its clusters read it. */
  readonly reserved: LocationReservedPower;
  /** Total draw of its connectors. */
  readonly draw: LocationDraw;
  readonly timing: GrantTiming;
  #horizonMs: number;
  readonly #ownerTerm: number;
  readonly #connectors: ConnectorRegistry;
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
    this.#connectors = new ConnectorRegistry(this.ledger, this.meters, timing);
    this.draw = new LocationDraw(this.meters, this.#connectors);
    this.#issuer = new GrantIssuer(this.ledger, ownerTerm);
  }

  /** By `connectorKey`. Only the supervisor's methods write these objects. */
  get controls(): ReadonlyMap<string, Readonly<ConnectorControl>> {
    return this.#connectors.controls;
  }

  /**
   * From this monotonic time, ms, a decision must precede any grant: the budget of the last decision no longer holds.
   */
  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  /** Budget of the last decision, W; 0 before the first. */
  get budgetW(): number {
    return this.#issuer.budgetW;
  }

  /** Time from now to the end of the longest lease that is granted now, ms. */
  get horizonMs(): number {
    return this.#horizonMs;
  }

  /** Total reservation of the location's connectors, W. */
  get reservedW(): number {
    return this.ledger.totalW;
  }

  /** The location has no connectors, and had none at the last decision, so a decision changes nothing. */
  get isUnconcerned(): boolean {
    return this.controls.size === 0 && this.reserved.isNothing;
  }

  /** Its connection and feeders. */
  get fuses(): Fuses {
    return this.#connectors.fuses;
  }

  /** Replaces the fuses or changes their ratings. */
  rewire(fuses: Fuses): void {
    this.#connectors.rewire(fuses);
  }

  /**
   * Adds or updates a connector. With the same rating it keeps all its state, also after its location and machine are
   * rebuilt.
   * @param actor machine with lock, throttle and link
   */
  place(connector: ProvisionedConnector, actor: ConnectorActor, nowMs: number): ConnectorControl {
    return this.#connectors.place(connector, actor, nowMs);
  }

  /** Removes all other connectors, and adapts the horizon to the remaining ones. */
  keepOnly(keys: { has(key: string): boolean }): void {
    this.#connectors.keepOnly(keys);
    this.#reach();
  }

  /** Applies a reading; true if a decision should follow. */
  receive(control: ConnectorControl, reading: MeterReading, nowMs: number): boolean {
    return applyReading(this.ledger, control, reading, this.#ownerTerm, nowMs);
  }

  /** `refused`: no such grant was sent. `news`: a decision should follow. */
  applyAck(control: ConnectorControl, ack: Ack, nowMs: number): 'refused' | 'taken' | 'news' {
    const isOurs = ack.epoch === this.#ownerTerm && ack.seq > 0 && ack.seq <= control.account.lastSeq;
    if (!isOurs || (ack.boot ?? '') !== control.boot) return 'refused';
    if (ack.result === 'REJECTED' && forbidReallocation(this.ledger, control)) return 'news';
    if (ack.result !== 'APPLIED') return 'taken';
    return applyAck(this.ledger, control, ack.seq, ack.appliedA, nowMs) ? 'news' : 'taken';
  }

  /**
   * Applies a charger's own description: fail-safe and lease kind. If the charger keeps `thenA`, a report of an earlier
   * fail-safe is no news. A higher fallback then results only from a recorded grant or a restart.
   */
  describe(control: ConnectorControl, own: OwnDescription, nowMs: number): void {
    const { lease, keepsThen, failsafeA, boot = '' } = own;
    const failsafeTenthsA = Math.min(tenthsAOf(failsafeA), control.account.maxTenthsA);
    const saidTenthsA = control.said?.boot === boot ? control.said.failsafeTenthsA : -1;
    const isNews = !keepsThen || failsafeTenthsA > saidTenthsA;
    const description = { lease, keepsThen, ...(isNews && { failsafeTenthsA }) };
    this.ledger.describe(control.account, description, nowMs);
    control.said = { boot, failsafeTenthsA: Math.max(saidTenthsA, failsafeTenthsA) };
    if (own.endsWithSession === true) control.endsWithSessionIn = boot;
    else if (control.endsWithSessionIn === boot) control.endsWithSessionIn = undefined;
    if (own.switchesPhases === true) control.switchesPhasesIn = boot;
    else if (control.switchesPhasesIn === boot) control.switchesPhasesIn = undefined;
    reserveWorstCase(this.ledger, control);
  }

  /**
   * The grid operator last limited the location at `atMs`, monotonic, before this service started, as far as recorded.
   */
  expectOrdersSince(atMs: number): void {
    this.#orderedAtMs = atMs;
  }

  /** The charger fell silent or disconnected. Its last limit is not the basis of the next grant. */
  lose(control: ConnectorControl): void {
    control.sentTenthsA = undefined;
    control.untaken = undefined;
  }

  /** The budget of the last decision holds only until `atMs`. */
  expireBudget(atMs: number): void {
    this.#validUntilMs = Math.min(this.#validUntilMs, atMs);
  }

  /** The connector should report from `nowMs` on. */
  awaitFrom(control: ConnectorControl, nowMs: number): void {
    control.awaitedSinceMs = nowMs;
  }

  /**
   * The connector did not report in time. If it had a grant before the service start, it counts with its full
   * entitlement.
   */
  presumeMaximum(control: ConnectorControl): void {
    control.lastWBeforeStart ??= Number.POSITIVE_INFINITY;
  }

  setStoring(control: ConnectorControl, isStoring: boolean): void {
    control.isStoring = isStoring;
  }

  /** Records the reservation that is certainly on disk. */
  setStored(control: ConnectorControl, stored: StoredReservation): void {
    setStored(control, stored);
  }

  /** Records the lease kind on disk; undefined if unknown. */
  setStoredLease(control: ConnectorControl, lease: LeaseKind | undefined): void {
    control.storedLease = lease;
  }

  /** The grant has been stored and leaves now. */
  noteLeft({ control, grant }: DecidedGrant): void {
    this.ledger.noteLeft(control.account, grant.seq);
  }

  /**
   * The grant was not stored, or was stored too late, and never leaves. The previous limit stays valid and is renewed.
   */
  withdraw(decided: DecidedGrant, nowMs: number): void {
    const { grant, beforeTenthsA } = decided;
    const control: ConnectorControl = decided.control;
    control.storesAgainAtMs = nowMs + STORES_AGAIN_AFTER_HEARTBEATS * control.timing.heartbeatMs;
    if (control.account.lastSeq !== grant.seq || control.sentTenthsA === undefined) return;
    control.sentTenthsA = beforeTenthsA;
  }

  /** Renewal of the current limit after a heartbeat; undefined if none is due. */
  renew(control: ConnectorControl, nowMs: number): DecidedGrant | undefined {
    return this.#issuer.renew(control, nowMs);
  }

  /** Divides the budget and returns the grants to send. */
  decide(budget: Budget, nowMs: number): Decision {
    const { budgetW, building, clusterRoomW, raisesToW } = budget;
    const provisioned = this.#connectors.fuses;
    const fuses = building === undefined ? provisioned : provisioned.beside(building.nowTenthsA);
    const atWorst = building === undefined ? provisioned : provisioned.beside(building.mostTenthsA);
    this.ledger.limitCircuitPhases(fuses.capacitiesTenthsA);
    this.#validUntilMs = budget.untilMs;
    if (budget.operatorW < Number.POSITIVE_INFINITY) this.#orderedAtMs = nowMs;
    if (budget.isLimitOrdered && budget.limitW < this.#issuer.budgetW) {
      // No notice preceded this order: otherwise it would have been the budget a lease earlier.
      this.#followedByMs = nowMs + FOLLOWED_AFTER_MS;
      this.#orderedAtMs = nowMs;
    }
    this.ledger.release(nowMs);
    const controls = [...this.#connectors.controls.values()];
    for (const { account } of controls.filter((control) => lacksConfirmedKeepsThen(control, nowMs)))
      this.ledger.reserveOwnFailsafe(account);
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
      shareW < Number.POSITIVE_INFINITY && controls.some((control) => isReleasing(control, nowMs));
    return {
      grants,
      isReservedOtherwise: this.reserved.noteDecision(need, { shareW, isReleasing: isAnyLettingGo }),
      nextAtMs: Math.max(this.#nextAtMs(controlled, room, nowMs), nowMs + 1),
      unattainable: shortageOf(need, budget.limitW, controls, fuses),
    };
  }

  /** Updates the horizon. If it grows, a decision must precede the next lease. */
  #reach(): void {
    const { settleMs } = this.timing;
    const horizonMs = horizonMsOf({ ttlMs: this.#connectors.longestTtlMs, settleMs });
    if (horizonMs > this.#horizonMs) this.expireBudget(Number.NEGATIVE_INFINITY);
    this.#horizonMs = horizonMs;
  }

  /** Time of the next raise, turn or release that no message triggers. */
  #nextAtMs(controlled: readonly ConnectorControl[], room: SharedCapacity, nowMs: number): number {
    let nextMs = Math.min(nowMs + REST_MS, this.#validUntilMs);
    const lateAtMs = nextLateAtMs(controlled, nowMs);
    if (lateAtMs !== undefined && isOverbooked(this.ledger, [...this.controls.values()], room))
      nextMs = Math.min(nextMs, lateAtMs);
    nextMs = Math.min(nextMs, this.#issuer.nextRaiseAtMs(controlled, nowMs) ?? nextMs);
    const withCar = controlled.filter(({ demand }) => demand.hasCar);
    nextMs = Math.min(nextMs, nextTurnAtMs(withCar, nowMs, this.timing.settleMs) ?? nextMs);
    nextMs = Math.min(nextMs, nextSwitchAtMs(withCar, nowMs));
    for (const { account } of this.controls.values()) {
      nextMs = Math.min(nextMs, this.ledger.nextReleaseAtMs(account) ?? nextMs);
      nextMs = Math.min(nextMs, nextReleaseByTimeMs(account, nowMs));
    }
    return nextMs;
  }
}
