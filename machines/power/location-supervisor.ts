// The one place where a location decides who may draw how much: limit and chargers in, grants out. No clock, no wire.

import { MINIMUM_TENTHS_A, tenthsAOf } from '../values/units.js';
import type { Budget } from './budget.js';
import type { ConnectorActor } from './connector.machine.js';
import {
  type ConnectorControl,
  type ConnectorSpec,
  createControl,
  hearAck,
  hearReading,
  isControlled,
  isLocked,
  isReadOnly,
  linkOf,
  reserveWorstCase,
  rewire,
} from './connector-control.js';
import { setTargets, thenTenthsAOf } from './connector-targets.js';
import { estimatedWOf } from './counted-power.js';
import { doOwnFailsafesFit, settleFailsafes } from './failsafes.js';
import { type Fuses, NO_FUSES } from './fuses.js';
import type { Ack, Grant, LeaseKind } from './grant.js';
import { createGrantLedger, type GrantLedger, type GrantTiming, horizonMsOf } from './grant-ledger.js';
import { createMeterLedger, type MeterLedger, type MeterReading } from './meter-ledger.js';
import type { DrawnPower } from './power-minute.js';
import { shortOfFuse, shortOfPower } from './shortage.js';
import { STEP_TENTHS_A } from './steady-shares.js';
import { followDecision, nextTurnAtMs } from './turns.js';

/** A connector of the location as provisioning and rows have it. Currents in tenths of an ampere per phase. */
export interface ProvisionedConnector {
  readonly key: string;
  readonly spec: ConnectorSpec;
  /** The most it may have been promised before the service started; undefined where nothing is known to have been. */
  readonly promised?: PromisedBefore | undefined;
  /** It did not comply before the service started, and is not trusted until it is seen to. */
  readonly isDistrusted?: boolean | undefined;
}

export interface PromisedBefore {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  readonly lease: LeaseKind;
}

/** A grant that was decided, with its connector. */
export interface DecidedGrant {
  readonly control: Readonly<ConnectorControl>;
  readonly grant: Grant;
  /** It entitles to more than is on disk: it may leave only once that is. */
  readonly mustStore: boolean;
  /** What it was told before; undefined where nothing. */
  readonly beforeTenthsA: number | undefined;
}

export interface Decision {
  readonly grants: readonly DecidedGrant[];
  /** When to decide again if nothing happens before, monotonic ms. */
  readonly nextAtMs: number;
  /** Why the limit cannot be kept by any grants; undefined where it can. */
  readonly unattainable: string | undefined;
  /** Its chargers may be entitled to less than after the decision before: others of its clusters may have the rest. */
  readonly isRoomMade: boolean;
}

export interface SupervisorOptions {
  readonly timing: GrantTiming;
  /** A connector that sends nothing for this long is stale. */
  readonly staleAfterMs: number;
  /** Of this service: higher than that of any before it. */
  readonly epoch: number;
}

/** Raises are this far apart (rule 9). */
const RAISE_EVERY_MS = 10_000;
/** A grant younger than this share of a heartbeat is not renewed: a charger may report every change. */
const RENEW_AFTER_HEARTBEATS = 0.75;
/** A charger that has not taken its newest grant after this long is told again. */
const HEAL_AFTER_MS = 2_000;
/** At a start, chargers that hold a grant have this long to report before one of them is told less for want of that. */
const TAKING_STOCK_MS = 3_000;
/** After a reservation that could not be written, renewals go without one for this long. */
const STORES_AGAIN_AFTER_HEARTBEATS = 3;
/** Without anything happening a location looks at itself this often. */
const REST_MS = 60_000;

export class LocationSupervisor {
  /** What its connectors report. */
  readonly meters: MeterLedger;
  /** What they may be entitled to. */
  readonly ledger: GrantLedger;
  readonly timing: GrantTiming;
  readonly #horizonMs: number;
  readonly #epoch: number;
  readonly #controls = new Map<string, ConnectorControl>();
  #budget: Budget | undefined;
  #beganAtMs: number | undefined;
  #fuses = NO_FUSES;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #decidedReservedW = 0;
  #estimatedW: number | undefined;

  constructor({ timing, staleAfterMs, epoch }: SupervisorOptions) {
    this.timing = timing;
    this.#horizonMs = horizonMsOf(timing);
    this.#epoch = epoch;
    this.ledger = createGrantLedger(timing);
    this.meters = createMeterLedger(staleAfterMs);
  }

  /** By `connectorKey`; to read, and to hand back to the supervisor's methods, which alone write them. */
  get controls(): ReadonlyMap<string, Readonly<ConnectorControl>> {
    return this.#controls;
  }

  /** From here on a decision must come before any grant: the budget of the last one no longer holds. Monotonic ms. */
  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  /** The budget of the last decision, W; 0 before the first. */
  get budgetW(): number {
    return this.#budgetW;
  }

  get #budgetW(): number {
    return this.#budget?.budgetW ?? 0;
  }

  /** How far a lease that is given now reaches, ms. */
  get horizonMs(): number {
    return this.#horizonMs;
  }

  /** What is reserved for the location's connectors together, W. */
  get reservedW(): number {
    return this.ledger.totalW;
  }

  /** What the location draws: what is measured, and what silent connectors count with. */
  drawnPower(): DrawnPower {
    const estimatedW = this.#estimatedW;
    return { actualW: this.meters.measuredW + (estimatedW ?? 0), estimatedW };
  }

  /** What silent connectors count with falls with what they may still be entitled to, and changes with their links. */
  estimate(): void {
    this.#estimatedW = estimatedWOf(this.#controls.values());
  }

  get #stockTakenAtMs(): number {
    return (this.#beganAtMs ?? 0) + TAKING_STOCK_MS;
  }

  /** Other fuses than before, or other ratings of them. */
  rewire(fuses: Fuses): void {
    this.#fuses = fuses;
    this.ledger.rewire(fuses.capacitiesTenthsA);
    for (const control of this.#controls.values()) rewire(this.ledger, control, fuses);
  }

  /**
   * Takes the connector in, or what changed of it: with the same rating it keeps all that is known of it, also where its
   * location was built anew and its machine with it.
   * @param actor its machine, which knows lock, throttle and link.
   */
  place(connector: ProvisionedConnector, actor: ConnectorActor, nowMs: number): ConnectorControl {
    const { key, spec, promised, isDistrusted } = connector;
    const held = this.#controls.get(key);
    if (held !== undefined && isSameRating(held.spec, spec)) {
      held.actor = actor;
      this.#respecify(held, spec);
      return held;
    }
    if (held !== undefined) this.meters.removeConnector(held.slot);
    const slot = this.meters.addConnector(key);
    const lease = promised?.lease ?? 'receipt';
    const control = createControl(this.ledger, this.#fuses, key, slot, actor, spec, lease, nowMs);
    this.#controls.set(key, control);
    if (held !== undefined) this.#succeed(held, control, nowMs);
    else if (promised !== undefined) this.#restore(control, promised, nowMs);
    if (isDistrusted === true) this.#distrust(control);
    return control;
  }

  /** Lets go of all other connectors. */
  keepOnly(keys: { has(key: string): boolean }): void {
    for (const [key, control] of this.#controls) {
      if (keys.has(key)) continue;
      this.meters.removeConnector(control.slot);
      this.ledger.remove(control.holding);
      this.#controls.delete(key);
    }
  }

  /** Folds a reading in; true where a decision should follow. */
  hear(control: ConnectorControl, reading: MeterReading, nowMs: number): boolean {
    return hearReading(this.ledger, control, reading, this.#epoch, nowMs);
  }

  /** `refused` for what was never sent; `news` where a decision should follow. */
  hearAck(control: ConnectorControl, ack: Ack, nowMs: number): 'refused' | 'taken' | 'news' {
    const isOurs = ack.epoch === this.#epoch && ack.seq > 0 && ack.seq <= control.holding.lastSeq;
    if (!isOurs || (ack.boot ?? '') !== control.boot) return 'refused';
    if (ack.result !== 'APPLIED') return 'taken';
    return hearAck(this.ledger, control, ack.seq, ack.appliedA, nowMs) ? 'news' : 'taken';
  }

  /**
   * What a charger says it falls back to by itself, and how it counts leases. One that keeps what grants say fell back to
   * more than it said before only by a grant that is known here, or by starting anew: what came before is no news, however
   * late it comes again.
   */
  describe(
    control: ConnectorControl,
    own: { failsafeA: number; lease: LeaseKind; keepsThen: boolean; boot?: string | undefined },
  ): void {
    const { lease, keepsThen, failsafeA, boot = '' } = own;
    const failsafeTenthsA = Math.min(tenthsAOf(failsafeA), control.holding.maxTenthsA);
    const saidTenthsA = control.said?.boot === boot ? control.said.failsafeTenthsA : -1;
    const isNews = !keepsThen || failsafeTenthsA > saidTenthsA;
    this.ledger.describe(control.holding, { lease, keepsThen, ...(isNews && { failsafeTenthsA }) });
    control.said = { boot, failsafeTenthsA: Math.max(saidTenthsA, failsafeTenthsA) };
    reserveWorstCase(this.ledger, control);
  }

  /** It fell silent or went away: what it was told last is not built upon when it comes back. */
  lose(control: ConnectorControl): void {
    control.sentTenthsA = undefined;
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

  /** What is surely on disk of what it is reserved for, tenths of A per phase. */
  setStored(control: ConnectorControl, limitTenthsA: number, thenTenthsA: number): void {
    control.storedLimitTenthsA = limitTenthsA;
    control.storedThenTenthsA = thenTenthsA;
  }

  /** How the disk has it count its leases; undefined where that is not known. */
  setStoredLease(control: ConnectorControl, lease: LeaseKind | undefined): void {
    control.storedLease = lease;
  }

  /** It could not be written and never left: what the connector was told before goes on, and is renewed. */
  withdraw(decided: DecidedGrant, nowMs: number): void {
    const { grant, beforeTenthsA } = decided;
    const control: ConnectorControl = decided.control;
    control.storesAgainAtMs = nowMs + STORES_AGAIN_AFTER_HEARTBEATS * this.timing.heartbeatMs;
    if (control.holding.lastSeq !== grant.seq || control.sentTenthsA === undefined) return;
    control.sentTenthsA = beforeTenthsA;
  }

  /** The same limit again for a charger whose heartbeat just came, where it is time. */
  renew(control: ConnectorControl, nowMs: number): DecidedGrant | undefined {
    const { sentTenthsA, sentAtMs, holding } = control;
    if (sentTenthsA === undefined || control.isStoring || !control.spec.isActive) return undefined;
    const isTaken = holding.ackedSeq === holding.lastSeq;
    const afterMs = isTaken ? RENEW_AFTER_HEARTBEATS * this.timing.heartbeatMs : HEAL_AFTER_MS;
    if (nowMs - sentAtMs < afterMs || control.heardAtMs <= sentAtMs) return undefined;
    return this.#grant(control, sentTenthsA, nowMs);
  }

  /** Who may draw how much from now on, and what has to be sent for it. */
  decide(budget: Budget, nowMs: number): Decision {
    this.#budget = budget;
    this.#beganAtMs ??= nowMs;
    this.#validUntilMs = budget.untilMs;
    this.ledger.release(nowMs);
    const controls = [...this.#controls.values()];
    settleFailsafes(controls, budget.lowestW, this.#fuses.capacitiesTenthsA);
    this.ledger.reserveOwnFailsafes(doOwnFailsafesFit(controls, budget.lowestW, nowMs));
    const controlled = controls.filter(isControlled);
    const { settleMs } = this.timing;
    setTargets(controlled, budget, { ...this.#availableFor(controls, budget.budgetW), settleMs, nowMs });
    for (const control of controlled) followDecision(control, nowMs);
    const grants = this.#grantTargets(
      controlled,
      shortOfPower(controls, budget.budgetW) !== undefined,
      nowMs,
    );
    for (const control of controls) {
      if (isControlled(control)) continue;
      const grant = this.#tellUncontrolled(control, nowMs);
      if (grant !== undefined) grants.push(grant);
    }
    const isRoomMade = this.reservedW < this.#decidedReservedW;
    this.#decidedReservedW = this.reservedW;
    return {
      grants,
      isRoomMade,
      nextAtMs: Math.max(this.#nextAtMs(controlled, nowMs), nowMs + 1),
      unattainable: shortOfPower(controls, budget.limitW) ?? shortOfFuse(controls, this.#fuses),
    };
  }

  /** Provisioned otherwise, with the same rating. */
  #respecify(control: ConnectorControl, spec: ConnectorSpec): void {
    control.spec = spec;
    rewire(this.ledger, control, this.#fuses);
    // A charger that spoke for itself knows better what it falls back to.
    if (control.holding.isDescribed) return;
    const failsafeTenthsA = Math.min(tenthsAOf(spec.failsafeA), control.holding.maxTenthsA);
    this.ledger.describe(control.holding, { failsafeTenthsA });
  }

  /**
   * `control` takes another's place: it is the same connector, provisioned with another rating. What it was promised may be
   * in force still, and its charger takes nothing that is numbered lower than what it took before.
   */
  #succeed(gone: ConnectorControl, control: ConnectorControl, nowMs: number): void {
    const { boundTenthsA, failsafeTenthsA, lastSeq } = gone.holding;
    this.ledger.remove(gone.holding);
    this.#restore(control, { limitTenthsA: boundTenthsA, thenTenthsA: failsafeTenthsA }, nowMs);
    this.ledger.continueAfter(control.holding, lastSeq);
    this.setStored(control, gone.storedLimitTenthsA, gone.storedThenTenthsA);
    control.storedLease = gone.storedLease;
  }

  /** What was on disk at the start. */
  #restore(
    control: ConnectorControl,
    { limitTenthsA, thenTenthsA }: Omit<PromisedBefore, 'lease'>,
    nowMs: number,
  ): void {
    const { maxTenthsA } = control.holding;
    this.ledger.restore(
      control.holding,
      Math.min(limitTenthsA, maxTenthsA),
      Math.min(thenTenthsA, maxTenthsA),
      nowMs,
    );
    this.setStored(control, limitTenthsA, thenTenthsA);
    control.heardBeforeW = undefined;
    reserveWorstCase(this.ledger, control);
  }

  #distrust(control: ConnectorControl): void {
    control.compliance.isNonCompliant = true;
    reserveWorstCase(this.ledger, control);
  }

  /** What connectors that cannot be told leave of the budget, W, and of each pole, tenths of an ampere. */
  #availableFor(controls: readonly ConnectorControl[], budgetW: number) {
    let availableW = budgetW;
    const availableTenthsA = [...this.#fuses.capacitiesTenthsA];
    for (const control of controls) {
      if (isControlled(control)) continue;
      const { boundW, poles, loadTenthsA } = control.holding;
      availableW -= boundW;
      for (const pole of poles) availableTenthsA[pole] = (availableTenthsA[pole] ?? 0) - loadTenthsA;
    }
    return { availableW, availableTenthsA };
  }

  /** Decreases at once; raises as far as the others have followed theirs, locked connectors and the least served first. */
  #grantTargets(
    controlled: readonly ConnectorControl[],
    isUnattainable: boolean,
    nowMs: number,
  ): DecidedGrant[] {
    const grants: DecidedGrant[] = [];
    const raises: ConnectorControl[] = [];
    for (const control of controlled) {
      const { sentTenthsA, targetTenthsA } = control;
      if (sentTenthsA === undefined || targetTenthsA > sentTenthsA) raises.push(control);
      else if (targetTenthsA < sentTenthsA) grants.push(this.#grant(control, targetTenthsA, nowMs));
    }
    raises.sort(
      (a, b) => Number(isLocked(b)) - Number(isLocked(a)) || (a.sentTenthsA ?? 0) - (b.sentTenthsA ?? 0),
    );
    for (const control of raises) {
      const grant = this.#raise(control, isUnattainable, nowMs);
      if (grant !== undefined) grants.push(grant);
    }
    return grants;
  }

  #raise(control: ConnectorControl, isUnattainable: boolean, nowMs: number): DecidedGrant | undefined {
    const { sentTenthsA, targetTenthsA, holding } = control;
    if (control.isStoring) return undefined;
    const isFloorOwed = isLocked(control) && (sentTenthsA ?? 0) < MINIMUM_TENTHS_A;
    // What it may draw by a grant of the service's life before this one.
    const hadTenthsA = holding.lastSeq === 0 ? tenthsAOf(control.slot.limitA ?? 0) : 0;
    const isCarried = this.ledger.carriableTenthsA(holding) >= MINIMUM_TENTHS_A;
    const isFloorHeld = hadTenthsA >= MINIMUM_TENTHS_A && holding.boundTenthsA >= MINIMUM_TENTHS_A;
    const isFloorKept =
      isFloorOwed && (isCarried ? isUnattainable || hadTenthsA >= MINIMUM_TENTHS_A : isFloorHeld);
    let tenthsA = Math.min(targetTenthsA, this.ledger.grantableTenthsA(holding, this.#budgetW));
    if (tenthsA < MINIMUM_TENTHS_A) tenthsA = isFloorKept ? MINIMUM_TENTHS_A : 0;
    if (tenthsA < targetTenthsA) control.reason = 'waiting';
    if (tenthsA < hadTenthsA && nowMs < this.#stockTakenAtMs) return undefined;
    if (sentTenthsA !== undefined) {
      const isLast = tenthsA > sentTenthsA && tenthsA === holding.maxTenthsA;
      const isWorthIt = isLast || tenthsA - sentTenthsA >= STEP_TENTHS_A;
      const isPaced = isFloorOwed || nowMs - control.raisedAtMs >= RAISE_EVERY_MS;
      if (!isWorthIt || !isPaced) return undefined;
    }
    if (tenthsA > 0) control.raisedAtMs = nowMs;
    return this.#grant(control, tenthsA, nowMs, isFloorKept);
  }

  /** One that cannot be relied upon is told all the same, where it listens: its maximum is reserved whatever it does. */
  #tellUncontrolled(control: ConnectorControl, nowMs: number): DecidedGrant | undefined {
    const { holding, compliance, spec } = control;
    const { isNonCompliant } = compliance;
    control.targetTenthsA = holding.boundTenthsA;
    control.reason = isNonCompliant ? 'nonCompliant' : isReadOnly(control) ? 'readOnly' : 'failsafe';
    if (!holding.isWorstCase || linkOf(control) !== 'online' || control.hb === undefined || !spec.isActive)
      return undefined;
    const isCarried = this.ledger.carriableTenthsA(holding) >= holding.maxTenthsA;
    const isRoomy = this.ledger.totalW <= this.#budgetW && isCarried && !isNonCompliant;
    control.targetTenthsA = isRoomy ? holding.maxTenthsA : MINIMUM_TENTHS_A;
    if (control.targetTenthsA === control.sentTenthsA || control.isStoring) return undefined;
    return this.#grant(control, control.targetTenthsA, nowMs);
  }

  /** Never more than the ledger has room for, whatever was decided before. */
  #grant(control: ConnectorControl, wantedTenthsA: number, nowMs: number, isLockFloor = false): DecidedGrant {
    const { holding, hb = 0, boot, heardAtMs } = control;
    const grantable = this.ledger.grantableTenthsA(holding, this.#budgetW);
    let limitTenthsA = wantedTenthsA;
    if (!isLockFloor && wantedTenthsA > grantable)
      limitTenthsA = grantable < MINIMUM_TENTHS_A ? 0 : grantable;
    const wantedThen = thenTenthsAOf(control);
    // A fail-safe that rises waits for the disk, and nothing that can go without waits for it.
    const isPlain = nowMs < control.storesAgainAtMs || limitTenthsA < (control.sentTenthsA ?? 0);
    const mostThen = isPlain ? control.storedThenTenthsA : Math.max(limitTenthsA, grantable);
    const fittingThen = Math.min(wantedThen, mostThen, Math.max(limitTenthsA, grantable));
    // A charger takes no limit that falls back to less than a car can be offered.
    const thenTenthsA = fittingThen < MINIMUM_TENTHS_A ? 0 : fittingThen;
    const seq = this.ledger.grant(holding, {
      limitTenthsA,
      thenTenthsA,
      heardAtMs,
      isLockFloor,
      budgetW: this.#budgetW,
    });
    const beforeTenthsA = control.sentTenthsA;
    control.sentTenthsA = limitTenthsA;
    control.sentAtMs = nowMs;
    control.leasedFromMs = heardAtMs;
    const limitW = Math.floor((limitTenthsA * holding.milliwattsPerTenth) / 1000);
    const { ttlMs } = this.timing;
    const { reason } = control;
    return {
      control,
      grant: { epoch: this.#epoch, seq, boot, ref: hb, ttlMs, limitTenthsA, limitW, thenTenthsA, reason },
      mustStore: limitTenthsA > control.storedLimitTenthsA || thenTenthsA > control.storedThenTenthsA,
      beforeTenthsA,
    };
  }

  /** When a raise, a turn or a release is due that no message announces. */
  #nextAtMs(controlled: readonly ConnectorControl[], nowMs: number): number {
    let nextMs = Math.min(nowMs + REST_MS, this.#validUntilMs);
    if (nowMs < this.#stockTakenAtMs) nextMs = Math.min(nextMs, this.#stockTakenAtMs);
    for (const { sentTenthsA, targetTenthsA, raisedAtMs } of controlled) {
      const isDue = (sentTenthsA ?? 0) + STEP_TENTHS_A <= targetTenthsA;
      if (isDue && raisedAtMs + RAISE_EVERY_MS > nowMs)
        nextMs = Math.min(nextMs, raisedAtMs + RAISE_EVERY_MS);
    }
    const withCar = controlled.filter(({ demand }) => demand.hasCar);
    nextMs = Math.min(nextMs, nextTurnAtMs(withCar, nowMs, this.timing.settleMs) ?? nextMs);
    for (const { holding } of this.#controls.values()) {
      nextMs = Math.min(nextMs, this.ledger.nextReleaseAtMs(holding) ?? nextMs);
    }
    return nextMs;
  }
}

function isSameRating(a: ConnectorSpec, b: ConnectorSpec): boolean {
  return a.maxCurrentA === b.maxCurrentA && a.phases === b.phases && a.voltageV === b.voltageV;
}
