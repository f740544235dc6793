// Decides the division of a location's power: limit and chargers in, grants out. The module uses no clock and no
// network.

import { type Ack, type GrantTiming, horizonMsOf, type LeaseKind, noticeMsOf } from '../ledger/grant.js';
import { Ledger, type StoredReservation } from '../ledger/ledger.js';
import type { ReservedPower } from '../limits/cluster-shares.js';
import { FOLLOWED_AFTER_MS } from '../limits/load-estimate.js';
import type { NeedSource, SessionNeed } from '../policy/session-needs.js';
import type { Budget, Instant, LookAhead } from './budget.js';
import { type Connector, isControlled, isLocked } from './connector.js';
import type { ConnectorActor, Turn } from './connector.machine.js';
import {
  applyAck,
  applyReading,
  awaitFrom,
  describe,
  type OwnDescription,
  presumeMaximum,
} from './connector-readings.js';
import { ConnectorRegistry, type ProvisionedConnector, staleAfterMsOf } from './connector-registry.js';
import { declareNeed } from './declared-cars.js';
import { Failsafes, lacksConfirmedKeepsThen } from './failsafes.js';
import { type Fuses, gridPhaseOf } from './fuses.js';
import { GrantIssuer, type LimitAhead, nextRaiseAtMs, outlastingW } from './grant-issuer.js';
import { type DecidedGrant, forgetSent, setStored, setStoredLease, setStoring, withdraw } from './granted.js';
import { estimatedWOf, ownCurrentsOf } from './measured-draw.js';
import { MeterLedger, type MeterReading } from './meter-ledger.js';
import type { DrawnPower, FeederCurrents, GridTenthsA } from './power-minute.js';
import { forbidReallocation, isReallocating, nextSwitchAtMs } from './reallocated-phases.js';
import {
  fittedLimitsOf,
  isOverbooked,
  lateAmong,
  nextLateAtMs,
  setTargetsBeside,
} from './remaining-capacity.js';
import { nextTurnAtMs, type TurnEvent, turnAfter, turnEventOf } from './rotation.js';
import { type PowerNeed, powerNeedOf, shortageOf } from './shortage.js';
import { isReleasing } from './unverified-chargers.js';

// Running sums of a location's draw: power, and the current per grid phase in total and per feeder, if fuses are known.
const NOTHING: GridTenthsA = [0, 0, 0];

class LocationDraw {
  readonly #meters: MeterLedger;
  readonly #registry: ConnectorRegistry;
  #estimatedW: number | undefined;
  #gridTenthsA: GridTenthsA | undefined;
  #feeders: FeederCurrents | undefined;
  /** Part of each connector in that sum. */
  #countedOf: Map<Connector, GridTenthsA> | undefined;

  constructor(meters: MeterLedger, registry: ConnectorRegistry) {
    this.#meters = meters;
    this.#registry = registry;
  }

  /** Measured power plus the estimates for silent connectors. */
  get now(): DrawnPower {
    const estimatedW = this.#estimatedW;
    const actualW = this.#meters.measuredW + (estimatedW ?? 0);
    return { actualW, estimatedW, gridTenthsA: this.#gridTenthsA, feeders: this.#feeders };
  }

  /** Updates the sums after a reading of `connector`. */
  follow(connector: Connector): void {
    if (this.#gridTenthsA === undefined || this.#countedOf === undefined) return;
    const counted = onGridPhases(connector);
    const before = this.#countedOf.get(connector) ?? NOTHING;
    if (isSame(counted, before)) return;
    this.#countedOf.set(connector, counted);
    this.#gridTenthsA = moved(this.#gridTenthsA, before, counted);
    const above = this.#registry.fuses.feedersAbove(connector.provisioned.spec.feeder);
    if (this.#feeders === undefined || above.length === 0) return;
    const { names, tenthsA } = this.#feeders;
    const all = [...tenthsA];
    for (const place of above) all[place] = moved(all[place] ?? NOTHING, before, counted);
    this.#feeders = { names, tenthsA: all };
  }

  /**
   * Recomputes the estimates, which fall with the entitlements of silent connectors. Connectors and fuses may have
   * changed.
   */
  estimate(): void {
    const { fuses, connectors } = this.#registry;
    this.#estimatedW = estimatedWOf(connectors.values());
    const [before, feedersBefore, names] = [this.#gridTenthsA, this.#feeders, fuses.feederNames];
    const areFusesKnown = fuses.circuitPhases.length > 0;
    this.#gridTenthsA = areFusesKnown ? NOTHING : undefined;
    this.#feeders = names.length === 0 ? undefined : { names, tenthsA: names.map(() => NOTHING) };
    this.#countedOf = areFusesKnown ? new Map() : undefined;
    for (const connector of connectors.values()) this.follow(connector);
    // Equal sums keep their object identity, so that `PowerMinute` detects an unchanged value.
    if (before !== undefined && this.#gridTenthsA !== undefined && isSame(before, this.#gridTenthsA))
      this.#gridTenthsA = before;
    if (areSame(feedersBefore, this.#feeders)) this.#feeders = feedersBefore;
  }
}

function isSame(a: GridTenthsA, b: GridTenthsA): boolean {
  return a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
}

function areSame(a: FeederCurrents | undefined, b: FeederCurrents | undefined): boolean {
  return (
    a !== undefined &&
    a.names === b?.names &&
    a.tenthsA.every((each, i) => isSame(each, b.tenthsA[i] ?? NOTHING))
  );
}

/** The sum after one part changes from `before` to `now`. */
function moved(sum: GridTenthsA, before: GridTenthsA, now: GridTenthsA): GridTenthsA {
  return [sum[0] + now[0] - before[0], sum[1] + now[1] - before[1], sum[2] + now[2] - before[2]];
}

/**
 * Tenths of an ampere. A current on an unknown grid phase counts on every phase that may carry it, as in the ledger.
 */
function onGridPhases(connector: Connector): GridTenthsA {
  const drawnA = ownCurrentsOf(connector);
  const counted: [number, number, number] = [0, 0, 0];
  const { provisioned, telemetry } = connector;
  for (let own = 0; own < telemetry.phases; own++) {
    const tenthsA = Math.max(0, Math.round(10 * (drawnA[own] ?? 0)));
    const place = gridPhaseOf(provisioned.spec.rotation, own);
    for (const grid of [0, 1, 2] as const)
      if (place === undefined || place === grid) counted[grid] = Math.max(counted[grid], tenthsA);
  }
  return counted;
}

/** Change of a location's reservation and need for its clusters, since the decision before. */
export type ReservedChange = 'none' | 'other' | 'beyondShare';

// Power that a location's chargers take of its clusters' caps, and the changes since the last decision.
class LocationReservedPower implements ReservedPower {
  readonly #ledger: Ledger;
  /** As of the last decision, or higher after a rise that the clusters have received. */
  #countedW = 0;
  #neededW = 0;
  #isLettingGo = false;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get reservedW(): number {
    return this.#ledger.totalW;
  }

  get neededW(): number {
    return this.#neededW;
  }

  lastingW(): number {
    return this.#ledger.lastingW();
  }

  get isReleasing(): boolean {
    return this.#isLettingGo;
  }

  /** The reservation is 0 now and was 0 after the last decision. */
  get isNothing(): boolean {
    return this.reservedW === 0 && this.#countedW === 0;
  }

  /**
   * True once for each rise of the reservation above `shareW` and above the clusters' last value. Such a rise happens
   * between decisions. `shareW` is the clusters' share for the location.
   */
  noteRise(shareW: number): boolean {
    const isRise = this.#isRise(shareW);
    if (isRise) this.#countedW = this.reservedW;
    return isRise;
  }

  /**
   * Records a decision. The clusters have to divide their caps again if the reservation fell, or the need or
   * `isReleasing` changed, and at once if the reservation exceeds the share, which a lock's minimum may cause (R47).
   */
  noteDecision(
    { lockedW, heldW, uncontrolledW }: PowerNeed,
    { shareW, isReleasing }: { readonly shareW: number; readonly isReleasing: boolean },
  ): ReservedChange {
    const neededW = lockedW + heldW + uncontrolledW;
    const isRise = this.#isRise(shareW);
    const isOther =
      this.reservedW < this.#countedW || neededW !== this.#neededW || isReleasing !== this.#isLettingGo;
    this.#countedW = this.reservedW;
    this.#neededW = neededW;
    this.#isLettingGo = isReleasing;
    if (isRise) return 'beyondShare';
    return isOther ? 'other' : 'none';
  }

  #isRise(shareW: number): boolean {
    return this.reservedW > Math.max(shareW, this.#countedW);
  }
}

/** Begin or end of a turn at a connector. */
interface DecidedTurn {
  readonly connector: Connector;
  readonly event: TurnEvent;
}

export interface Decision {
  readonly grants: readonly DecidedGrant[];
  readonly turns: readonly DecidedTurn[];
  /** Time of the next decision if no event comes before, monotonic ms. */
  readonly nextAtMs: number;
  /** Reason that no grants can keep the limit; undefined if the limit can be kept. */
  readonly unattainable: string | undefined;
  readonly reservedChange: ReservedChange;
}

export interface SupervisorOptions {
  /** Heartbeat and lease apply to chargers without their own. */
  readonly timing: GrantTiming;
  /** Ownership term of this service and `epoch` of its grants; higher than any before. */
  readonly ownerTerm: number;
}

/** Interval between decisions without events. */
const REST_MS = 60_000;
/**
 * A large location gathers reports for longer before it decides, so that the cost of a report does not grow with the
 * number of connectors. Up to `GATHERS_ABOVE` connectors enforcement's own interval applies.
 */
const GATHERS_ABOVE = 50;
const GATHERS_MS_EACH = 2;
const GATHERS_AT_MOST_MS = 2_000;
/** Another order may come for this long after an unannounced decrease or an operator limit. */
const ORDERS_EXPECTED_FOR_MS = 3_600_000;

export class LocationSupervisor {
  /** Readings of its connectors. */
  readonly meters: MeterLedger;
  /** Entitlements of its connectors. */
  readonly ledger: Ledger;
  /** The location's reservation as its clusters read it. */
  readonly reserved: LocationReservedPower;
  /** Total draw of its connectors. */
  readonly draw: LocationDraw;
  readonly timing: GrantTiming;
  #horizonMs: number;
  readonly #ownerTerm: number;
  readonly #registry: ConnectorRegistry;
  readonly #issuer: GrantIssuer;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  /** The newest limit ahead for which chargers were lowered before its notice. */
  #loweredFor = Number.NEGATIVE_INFINITY;
  #lockNoticeAtMs = Number.POSITIVE_INFINITY;
  #followedByMs = Number.NEGATIVE_INFINITY;
  #orderedAtMs = Number.NEGATIVE_INFINITY;
  /** As of the last decision. */
  #isOverbooked = false;

  constructor({ timing, ownerTerm }: SupervisorOptions) {
    this.timing = timing;
    this.#horizonMs = horizonMsOf(timing);
    this.#ownerTerm = ownerTerm;
    this.ledger = new Ledger(timing);
    this.reserved = new LocationReservedPower(this.ledger);
    this.meters = new MeterLedger(staleAfterMsOf(timing));
    this.#registry = new ConnectorRegistry(this.ledger, this.meters, timing);
    this.draw = new LocationDraw(this.meters, this.#registry);
    this.#issuer = new GrantIssuer(this.ledger, { ownerTerm, settleMs: timing.settleMs });
  }

  /** By `connectorKey`. */
  get connectors(): ReadonlyMap<string, Connector> {
    return this.#registry.connectors;
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

  get lookAhead(): LookAhead {
    return { noticeMs: noticeMsOf(this.timing), horizonMs: this.#horizonMs };
  }

  /**
   * Time in which the location gathers reports after a decision, ms. It is 0 while entitlements exceed the capacity:
   * others wait for these reports, and a limit has to be kept in time (R10).
   */
  get gathersForMs(): number {
    const { size } = this.connectors;
    if (size <= GATHERS_ABOVE || this.#isOverbooked) return 0;
    return Math.min(size * GATHERS_MS_EACH, GATHERS_AT_MOST_MS);
  }

  /** Total reservation of the location's connectors, W. */
  get reservedW(): number {
    return this.ledger.totalW;
  }

  /** The location has no connectors, and had none at the last decision, so a decision changes nothing. */
  get isUnconcerned(): boolean {
    return this.connectors.size === 0 && this.reserved.isNothing;
  }

  /** Its connection and feeders. */
  get fuses(): Fuses {
    return this.#registry.fuses;
  }

  /** Replaces the fuses or changes their ratings. */
  rewire(fuses: Fuses): void {
    this.#registry.rewire(fuses);
  }

  /**
   * Adds or updates a connector. With the same rating it keeps all its state, also after its location and machine are
   * rebuilt.
   * @param actor machine with lock, throttle and link
   */
  place(connector: ProvisionedConnector, actor: ConnectorActor, nowMs: number): Connector {
    return this.#registry.place(connector, actor, nowMs);
  }

  /** Removes all other connectors, and adapts the horizon to the remaining ones. */
  keepOnly(keys: { has(key: string): boolean }): void {
    this.#registry.keepOnly(keys);
    this.#reach();
  }

  /** Applies a reading; true if a decision should follow. */
  receive(connector: Connector, reading: MeterReading, at: Instant): boolean {
    return applyReading(connector, reading, this.#ownerTerm, at);
  }

  /** `refused`: no such grant was sent. `news`: a decision should follow. */
  applyAck(connector: Connector, ack: Ack, nowMs: number): 'refused' | 'taken' | 'news' {
    const isOurs = ack.epoch === this.#ownerTerm && ack.seq > 0 && ack.seq <= connector.account.lastSeq;
    if (!isOurs || (ack.boot ?? '') !== connector.telemetry.boot) return 'refused';
    if (ack.result === 'REJECTED' && forbidReallocation(connector)) return 'news';
    if (ack.result !== 'APPLIED') return 'taken';
    return applyAck(connector, ack.seq, ack.appliedA, nowMs) ? 'news' : 'taken';
  }

  /** Applies a charger's own description: fail-safe and lease kind. */
  describe(connector: Connector, own: OwnDescription, nowMs: number): void {
    describe(connector, own, nowMs);
  }

  /** Replaces the declarations of one source about the connector's car; undefined withdraws them. */
  declareNeed(connector: Connector, source: NeedSource, need: SessionNeed | undefined): void {
    declareNeed(connector, source, need);
  }

  /**
   * The grid operator last limited the location at `atMs`, monotonic, before this service started, as far as recorded.
   */
  expectOrdersSince(atMs: number): void {
    this.#orderedAtMs = atMs;
  }

  /** The charger fell silent or disconnected. */
  lose(connector: Connector): void {
    forgetSent(connector);
  }

  /** The budget of the last decision holds only until `atMs`. */
  expireBudget(atMs: number): void {
    this.#validUntilMs = Math.min(this.#validUntilMs, atMs);
  }

  awaitFrom(connector: Connector, nowMs: number): void {
    awaitFrom(connector, nowMs);
  }

  /** The connector did not report in time. */
  presumeMaximum(connector: Connector): void {
    presumeMaximum(connector);
  }

  setStoring(connector: Connector, isStoring: boolean): void {
    setStoring(connector, isStoring);
  }

  setStored(connector: Connector, stored: StoredReservation): void {
    setStored(connector, stored);
  }

  setStoredLease(connector: Connector, lease: LeaseKind | undefined): void {
    setStoredLease(connector, lease);
  }

  /** The grant has been stored and leaves now. */
  noteLeft({ connector, grant }: DecidedGrant): void {
    connector.account.noteLeft(grant.seq);
  }

  /** The grant was not stored, or was stored too late, and never leaves. */
  withdraw(decided: DecidedGrant, nowMs: number): void {
    withdraw(decided, nowMs);
  }

  /** Renewal of the current limit after a heartbeat; undefined if none is due. */
  renew(connector: Connector, nowMs: number): DecidedGrant | undefined {
    return this.#issuer.renew(connector, nowMs);
  }

  /** Divides the budget and returns the grants to send. */
  decide(known: Budget, nowMs: number): Decision {
    const { building } = known;
    const provisioned = this.#registry.fuses;
    const fuses = building === undefined ? provisioned : provisioned.beside(building.nowTenthsA);
    const atWorst = building === undefined ? provisioned : provisioned.beside(building.mostTenthsA);
    this.ledger.limitCircuitPhases(fuses.capacitiesTenthsA);
    this.#lockNoticeAtMs = known.lockNoticeAtMs;
    if (known.pausingW < Number.POSITIVE_INFINITY) this.#orderedAtMs = nowMs;
    if (known.isLimitOrdered && known.limitW < this.#issuer.budgetW) {
      // No notice preceded this order: otherwise it would have been the budget before.
      this.#followedByMs = nowMs + FOLLOWED_AFTER_MS;
      this.#orderedAtMs = nowMs;
    }
    this.ledger.release(nowMs);
    const connectors = [...this.connectors.values()];
    const [controlled, uncontrolled]: [Connector[], Connector[]] = [[], []];
    const failsafes = new Failsafes(known.lowestW, atWorst.capacitiesTenthsA);
    for (const connector of connectors) {
      if (lacksConfirmedKeepsThen(connector, nowMs)) connector.account.reserveOwnFailsafe();
      failsafes.count(connector, nowMs);
      (isControlled(connector) ? controlled : uncontrolled).push(connector);
    }
    failsafes.allow(connectors, nowMs);
    this.ledger.reserveOwnFailsafes(failsafes.doForgottenFit(known.lowestOwnW));
    const { budget, ahead } = this.#lookAhead(known, connectors);
    this.#validUntilMs = budget.untilMs;
    const limits = fittedLimitsOf(budget, this.#followedByMs, nowMs);
    const room = { limits, pausingW: budget.pausingW, fuses };
    const late = isOverbooked(this.ledger, connectors, room) ? lateAmong(controlled, nowMs) : [];
    const { settleMs } = this.timing;
    const circumstances = { room, settleMs, horizonMs: this.#horizonMs, nowMs };
    setTargetsBeside(budget, { controlled, uncontrolled, late }, circumstances);
    const need = powerNeedOf(controlled, uncontrolled, nowMs);
    const areOrdersExpected = nowMs - this.#orderedAtMs < ORDERS_EXPECTED_FOR_MS;
    const { budgetW, limitW, clusterRoomW, raisesToW, isLockedAt } = budget;
    const grantRoom = {
      budgetW,
      limitW,
      clusterRoomW,
      raisesToW,
      need,
      areOrdersExpected,
      isLockedAt,
      ahead,
    };
    const grants = this.#issuer.issue(controlled, uncontrolled, grantRoom, late, nowMs);
    const { clusterShareW: shareW } = budget;
    const isAnyLettingGo =
      shareW < Number.POSITIVE_INFINITY && connectors.some((connector) => isReleasing(connector, nowMs));
    this.#isOverbooked = isOverbooked(this.ledger, connectors, room);
    const { turns, nextAtMs } = this.#followUp(controlled, uncontrolled, nowMs);
    return {
      grants,
      turns,
      nextAtMs,
      reservedChange: this.reserved.noteDecision(need, { shareW, isReleasing: isAnyLettingGo }),
      unattainable: shortageOf(need, budget.limitW, connectors, fuses),
    };
  }

  /**
   * Rule R3: grants keep to a lower limit ahead from its notice on, if all that outlasts its start fits it. Otherwise
   * they keep to it at once, and until it begins: a charger that is cut off now would exceed it.
   */
  #lookAhead(
    known: Budget,
    connectors: readonly Connector[],
  ): { readonly budget: Budget; readonly ahead: readonly LimitAhead[] } {
    const leftWOf = (limitW: number, fromMs: number) => {
      let leftW = limitW;
      for (const connector of connectors) leftW -= outlastingW(connector, fromMs, known.isLockedAt);
      return leftW;
    };
    const { fall, limitW } = known;
    const fromMs = fall?.beginsAt.nowMs ?? Number.POSITIVE_INFINITY;
    const leftW = fall === undefined ? 0 : leftWOf(fall.budgetW, fromMs);
    const isLowered = fall !== undefined && (leftW < 0 || fall.beginsAt.now <= this.#loweredFor);
    if (isLowered) this.#loweredFor = fall.beginsAt.now;
    const budget = isLowered ? { ...known, ...fall, untilMs: Math.min(known.untilMs, fall.untilMs) } : known;
    const { budgetW, bindsFromMs } = budget;
    const ahead: LimitAhead[] = [];
    if (budgetW < limitW)
      ahead.push({ fromMs: bindsFromMs, leftW: leftWOf(budgetW, bindsFromMs), isBudget: true });
    if (fall !== undefined && !isLowered) ahead.push({ fromMs, leftW, isBudget: false });
    return { budget, ahead };
  }

  /** Updates the horizon. If it grows, a decision must precede the next lease. */
  #reach(): void {
    const { settleMs } = this.timing;
    const horizonMs = horizonMsOf({ ttlMs: this.#registry.longestTtlMs, settleMs });
    if (horizonMs > this.#horizonMs) this.expireBudget(Number.NEGATIVE_INFINITY);
    this.#horizonMs = horizonMs;
  }

  /** Turns that the targets cause, and the time of the next raise, turn or release that no message triggers. */
  #followUp(
    controlled: readonly Connector[],
    uncontrolled: readonly Connector[],
    nowMs: number,
  ): Pick<Decision, 'turns' | 'nextAtMs'> {
    const turns: DecidedTurn[] = [];
    const turnsAfter: { readonly connector: Connector; readonly turn: Turn }[] = [];
    let nextMs = nowMs + REST_MS;
    let lateAtMs = Number.POSITIVE_INFINITY;
    // A connector that reports later triggers a decision by its report.
    if (controlled.length > 0) nextMs = Math.min(nextMs, this.#issuer.stockTakenAfterMs(nowMs));
    for (const connector of controlled) {
      const event = turnEventOf(connector, nowMs);
      if (event !== undefined) turns.push({ connector, event });
      lateAtMs = Math.min(lateAtMs, nextLateAtMs(connector, nowMs));
      nextMs = Math.min(nextMs, nextRaiseAtMs(connector, nowMs), connector.account.nextChangeMs(nowMs));
      if (!connector.car.demand.hasCar) continue;
      turnsAfter.push({ connector, turn: turnAfter(connector, event, nowMs) });
      nextMs = Math.min(nextMs, nextSwitchAtMs(connector, nowMs));
    }
    for (const { account } of uncontrolled) nextMs = Math.min(nextMs, account.nextChangeMs(nowMs));
    nextMs = Math.min(nextMs, nextTurnAtMs(turnsAfter, nowMs, this.timing.settleMs) ?? nextMs);
    nextMs = Math.max(nextMs, nowMs + this.gathersForMs);
    if (this.#isOverbooked) nextMs = Math.min(nextMs, lateAtMs);
    nextMs = Math.min(nextMs, this.#validUntilMs, this.#lockNoticeAtMs);
    return { turns, nextAtMs: Math.max(nextMs, nowMs + 1) };
  }
}

// Checks of a grant that has been stored: it may leave only if it is still current and still fits.

/** No newer grant was decided, and the grant's session has not ended. */
export function isNewest({ connector, grant: { seq, reallocated } }: DecidedGrant): boolean {
  if (connector.account.lastSeq !== seq) return false;
  const { session } = connector.car;
  return reallocated === undefined || (isReallocating(connector) && reallocated.session === session.id);
}

/**
 * Its lease lasts, and the grant adds nothing, or fits its fuses and the budget. The minimum of a lock needs no budget.
 * The grant that it was to extend may have ended meanwhile, and its charger may have followed that.
 */
export function fitsStill(
  { connector, grant: { limitTenthsA, thenTenthsA } }: DecidedGrant,
  { ledger, budgetW }: Pick<LocationSupervisor, 'ledger' | 'budgetW'>,
  nowMs: number,
): boolean {
  const { account } = connector;
  if (account.isPendingOver(nowMs)) return false;
  const mostTenthsA = Math.max(limitTenthsA, thenTenthsA);
  const isFloor = isLocked(connector) && mostTenthsA <= account.leastTenthsA;
  const isRoom = isFloor || ledger.totalW <= budgetW;
  return (isRoom && mostTenthsA <= ledger.carriableTenthsA(account)) || account.addsNothing(nowMs);
}
