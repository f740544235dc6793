// One connector of a charger behind a gateway: records its reports, and times its heartbeats to the service.
import type { ChargingStatus } from '../values/charging-status.js';
import type { SessionState } from '../values/session-state.js';
import type { ClockVerdict } from './charger-clock.js';
import type { ConnectorLease, LeaseSpec } from './connector-lease.js';
import { ampereOfDcW, CarVoltage, type DcOutput, dcWOfAmpere } from './dc-output.js';
import type {
  CarReport,
  LimitToTake,
  MeterBody,
  MeteredValues,
  ReportedNeeds,
  TransactionRef,
} from './gateway-request.js';
import { type CountedPhases, limitIn } from './lease-schedule.js';

export interface SessionConnectorSpec extends LeaseSpec {
  /** As in the provisioning file. */
  readonly connectorId: string;
}

/** A connector sends no more than one meter value a second. */
const APART_MS = 1_000;
/** A value stays valid for this many heartbeats. */
const FRESH_HEARTBEATS = 2.5;
/** A charging connector sends values within this many heartbeats. */
const REPORTED_HEARTBEATS = 1.25;
/** As in the MQTT contract. */
const LONGEST_ID_TAG = 255;
/** A charger may withdraw `Available` during a running transaction for this long. */
const TAKEN_BACK_MS = 3_000;
/** A phase with less current is not in use. */
const IN_USE_A = 1;
const NEVER = Number.POSITIVE_INFINITY;

/** A transaction that is over, or seems to be. */
interface Ended {
  readonly transaction: TransactionRef;
  /**
   * Without a reported end: instant of `Available` by the charger's clock. Later messages of the transaction show that
   * it goes on. Infinite after a reported end.
   */
  readonly freeAtOwnMs: number;
}

const WITH_A_CAR: readonly ChargingStatus[] = ['Charging', 'SuspendedEV', 'SuspendedEVSE'];
const WITHOUT_A_CAR: readonly ChargingStatus[] = ['Available', 'Unavailable', 'Faulted'];

export class SessionConnector {
  readonly spec: SessionConnectorSpec;
  readonly lease: ConnectorLease;
  /** Reason for the missing lease in the last report; empty before the first report. */
  reportedWhyNot: string | undefined = '';
  /** Reason of the alarm in the last report to the service. */
  reportedAlarm: string | undefined;
  /** State now, which has lasted since `sinceMs`, and that of the last report to the service. */
  readonly state: { now: SessionState; sinceMs: number; reported: SessionState } = {
    now: 'disconnected',
    sinceMs: Number.NEGATIVE_INFINITY,
    reported: 'disconnected',
  };
  /** Reason against the lease, from the last requested proof. */
  shownWhyNot: string | undefined;
  /** `shownWhyNot` is evidence against the lease, and not only the lack of a proof. */
  isShownEvidence = false;
  status: ChargingStatus | undefined;
  readonly #heartbeatMs: number;
  /** The transaction that ended last. */
  #ended: Ended | undefined;
  /** The charger sent `Available` while its transaction runs. */
  #free: { readonly freeAtOwnMs: number; readonly countsAtMs: number } | undefined;
  #values: MeteredValues | undefined;
  #needs: ReportedNeeds | undefined;
  /** Identifier that authorized the running transaction, or the last one. */
  #idTag: string | undefined;
  /** State of charge that the next meter value reports; undefined after that, because it changes. */
  #reportedSocPercent: number | undefined;
  #valuesAtMs = Number.NEGATIVE_INFINITY;
  #saidAtMs = Number.NEGATIVE_INFINITY;
  /** Until then a transaction may run there that began before the gateway, and that the charger has not named yet. */
  #unnamedUntilMs = Number.POSITIVE_INFINITY;
  readonly #carVoltage = new CarVoltage();
  /** A message that does not wait for the next heartbeat. */
  #news: 'values' | 'change' | undefined;

  constructor(spec: SessionConnectorSpec, heartbeatMs: number, lease: ConnectorLease) {
    this.spec = spec;
    this.lease = lease;
    this.#heartbeatMs = heartbeatMs;
  }

  restart(boot: string, before: Parameters<ConnectorLease['restart']>[1]): void {
    this.lease.restart(boot, before);
    this.shownWhyNot = undefined;
    this.isShownEvidence = false;
    this.#forgetFree();
    this.#free = undefined;
    this.#values = undefined;
    this.#valuesAtMs = Number.NEGATIVE_INFINITY;
    this.#saidAtMs = Number.NEGATIVE_INFINITY;
    this.#unnamedUntilMs = Number.NEGATIVE_INFINITY;
  }

  opened(nowMs: number): void {
    this.#unnamedUntilMs = Math.min(this.#unnamedUntilMs, nowMs + REPORTED_HEARTBEATS * this.#heartbeatMs);
    this.noteChange();
  }

  /** Next instant at which something ends by itself; infinite without one. */
  get overAtMs(): number {
    return Math.min(this.lease.overAtMs, this.#free?.countsAtMs ?? NEVER);
  }

  /** Newest values of the present car; undefined without any. */
  get values(): MeteredValues | undefined {
    return this.#values;
  }

  /** A car may be there, and its draw is unknown. */
  get lacksValues(): boolean {
    return this.#values === undefined && this.#mayHaveCar;
  }

  /** The end of a lease goes to the service at once. */
  advance(nowMs: number): void {
    // The connector is free again: a transaction without a reported end is over, unless later messages show that it
    // goes on.
    if (this.#free !== undefined && this.#free.countsAtMs <= nowMs)
      this.#endTransaction(this.#free.freeAtOwnMs);
    const { seq } = this.lease.held;
    this.lease.advance(nowMs);
    if (this.lease.held.seq === 0 && seq > 0) this.noteChange();
  }

  receivedTime(verdict: ClockVerdict): void {
    if (verdict === 'steady' || verdict === 'late') return;
    if (verdict === 'setBack' || verdict === 'lateBefore') this.lease.countAnew();
    else {
      this.lease.distrust();
      this.#forgetFree();
    }
    // Values that have not left yet carry instants of the earlier clock.
    this.#news = 'change';
  }

  /** The service should receive the change at once. */
  noteChange(): void {
    this.#news ??= 'change';
  }

  /** @param ownMs instant by the charger's clock; undefined if unknown */
  receivedStatus(status: ChargingStatus, ownMs: number | undefined, nowMs: number): void {
    const isEnd = status === 'Available' && this.lease.transaction !== undefined;
    if (isEnd && status !== this.status) {
      const freeAtOwnMs = ownMs ?? Number.NEGATIVE_INFINITY;
      this.#free ??= { freeAtOwnMs, countsAtMs: nowMs + TAKEN_BACK_MS };
      return;
    }
    this.#free = undefined;
    this.#setStatus(status);
  }

  /**
   * True for values of a transaction that is over. The charger held them back during a lost connection, so they do not
   * describe the present.
   */
  isOver(values: MeteredValues): boolean {
    const { transaction, ownMs } = values;
    if (transaction === undefined || transaction !== this.#ended?.transaction) return false;
    // The last values of an ended transaction may be a moment newer than the `Available` of its connector.
    const isDrawing = (powerOf(values, this.spec) ?? 0) > IN_USE_A * this.spec.voltageV;
    return !this.#isLater(ownMs) || !(this.#mayHaveCar || isDrawing);
  }

  /** A message of that transaction, and not its last one. @param ownMs instant by the charger's clock */
  receivedFrom(transaction: TransactionRef, ownMs: number): void {
    if (transaction !== this.#ended?.transaction || !this.#mayHaveCar || !this.#isLater(ownMs)) return;
    this.#goOn(transaction);
    this.noteChange();
  }

  receivedNeeds({ needs, socPercent }: CarReport): void {
    this.#needs = needs;
    this.#reportedSocPercent = socPercent;
    this.noteChange();
  }

  receivedIdTag(idTag: string): void {
    if (idTag === '' || idTag.length > LONGEST_ID_TAG || idTag === this.#idTag) return;
    this.#idTag = idTag;
    this.noteChange();
  }

  receivedValues(values: MeteredValues, nowMs: number): void {
    if (this.lease.transaction === undefined && values.transaction !== undefined)
      this.#goOn(values.transaction);
    const powerW = powerOf(values, this.spec);
    if (powerW === undefined) return;
    this.#values = values;
    this.#valuesAtMs = nowMs;
    this.#news = 'values';
    const { phases, voltageV, dc } = this.spec;
    if (dc !== undefined) {
      const { held, rate } = this.lease;
      if (rate.unit === 'A') this.#carVoltage.note(powerW, limitIn(rate, held.limitA), nowMs);
      this.lease.metered(ampereOfDcW(powerW, dc), phases, nowMs);
      return;
    }
    const currents = values.currentA ?? [];
    const powerA = (values.powerW ?? 0) / (voltageV * phases);
    this.lease.metered(Math.max(powerA, ...currents), phasesIn(values, this.spec), nowMs);
  }

  /**
   * With another transaction a car begins at 0; without one no values are due. A repeated report of the running
   * transaction, as on a new connection, changes nothing.
   */
  receivedTransaction(transaction: TransactionRef | undefined, nowMs: number): void {
    if (transaction === this.lease.transaction) return;
    if (transaction === undefined) this.#endTransaction(NEVER);
    else this.#goOn(transaction);
    this.#values = undefined;
    this.#valuesAtMs = transaction === undefined ? Number.NEGATIVE_INFINITY : nowMs;
    this.noteChange();
  }

  /** That transaction is over; it may have seemed over before. */
  receivedEnd(transaction: TransactionRef, nowMs: number): void {
    if (transaction === this.lease.transaction) this.receivedTransaction(undefined, nowMs);
    else if (transaction === this.#ended?.transaction) this.#ended = { transaction, freeAtOwnMs: NEVER };
  }

  /** Instant of the next heartbeat while the charger is alive; infinite for a silent connector. */
  dueAtMs(nowMs: number): number {
    if (this.status === undefined) return Number.POSITIVE_INFINITY;
    if (this.#news === 'values') return this.#saidAtMs + APART_MS;
    const isIdle = this.#isIdle;
    // A default lease would apply beside the lease of the running transaction.
    if (isIdle && this.#mayHaveCar && nowMs < this.#unnamedUntilMs) return this.#unnamedUntilMs;
    const isTelling = isIdle || nowMs - this.#valuesAtMs <= FRESH_HEARTBEATS * this.#heartbeatMs;
    if (this.#news === 'change' && isTelling) return this.#saidAtMs + APART_MS;
    return isIdle ? this.#saidAtMs + this.#heartbeatMs : Number.POSITIVE_INFINITY;
  }

  /**
   * @param ownNowMs lower bound of the charger's clock; undefined if unknown
   * @param isEndOpen limits sent to the charger may last longer than their leases
   */
  meter(boot: string, ownNowMs: number | undefined, isEndOpen: boolean, nowMs: number): MeterBody {
    const values = this.#isIdle ? undefined : this.#values;
    // New values carry an instant of the charger's own clock, from which leases count.
    const isNew = this.#news === 'values' && this.#values !== undefined;
    const hb = this.lease.noteHeartbeat(isNew ? (this.#values?.ownMs ?? ownNowMs) : ownNowMs, nowMs);
    this.#news = undefined;
    this.#saidAtMs = nowMs;
    const { epoch, seq, limitA, endsAtMs } = this.lease.held;
    const { dc } = this.spec;
    const socPercent = this.#isIdle ? undefined : this.#reportedSocPercent;
    if (!this.#isIdle) this.#reportedSocPercent = undefined;
    const leaseLeftS = Math.max(0, Math.floor((endsAtMs - nowMs) / 100) / 10);
    return {
      v: 1,
      boot,
      hb,
      status: this.status ?? 'Unavailable',
      ...(socPercent === undefined ? {} : { socPercent }),
      ...measured(values, this.spec),
      epoch,
      seq,
      ...(dc === undefined ? { limitA } : { limitW: this.#usableW(limitA, values, dc) }),
      ...(Number.isFinite(leaseLeftS) ? { leaseLeftS } : {}),
      ...(isEndOpen ? { isEndOpen } : {}),
      ...(this.#needs === undefined || this.#isIdle ? {} : { chargingPreferences: this.#needs }),
      ...(this.#idTag === undefined || this.#isIdle ? {} : { idTag: this.#idTag }),
    };
  }

  /** A limit of the service in A per phase. A DC connector gets W, and treats a missing value as 0. */
  inAmperes(limit: LimitToTake): LimitToTake {
    const { dc } = this.spec;
    if (dc === undefined) return limit;
    const [limitA, thenA] = [ampereOfDcW(limit.limitW ?? 0, dc), ampereOfDcW(limit.thenW ?? 0, dc)];
    return { ...limit, limitA, thenA };
  }

  /**
   * A limit of a DC connector as the car can use it now, W. A limit in amperes gives less at a low voltage; otherwise the
   * service would take the lower draw for less demand. The grant stays reserved.
   */
  #usableW(limitA: number, values: MeteredValues | undefined, dc: DcOutput): number {
    const heldW = dcWOfAmpere(limitA, dc);
    const { rate } = this.lease;
    if (rate.unit === 'W' || values === undefined) return heldW;
    const carV = dcVoltageOf(values) ?? this.#carVoltage.atLeastV;
    return Math.min(heldW, Math.floor(limitIn(rate, limitA) * carV));
  }

  #endTransaction(freeAtOwnMs: number): void {
    const { transaction } = this.lease;
    if (transaction !== undefined) this.#ended = { transaction, freeAtOwnMs };
    this.#carVoltage.forget();
    this.lease.setTransaction(undefined);
    if (this.#free !== undefined) this.#setStatus('Available');
    this.#free = undefined;
  }

  #setStatus(status: ChargingStatus): void {
    if (status === this.status) return;
    this.status = status;
    if (WITHOUT_A_CAR.includes(status)) {
      this.#carVoltage.forget();
      this.#needs = undefined;
      this.#idTag = undefined;
      this.#reportedSocPercent = undefined;
    }
    this.noteChange();
  }

  /** The transaction runs. It may have begun before the first report of it, or have seemed over. */
  #goOn(transaction: TransactionRef): void {
    if (transaction !== this.lease.transaction) this.#carVoltage.forget();
    this.lease.setTransaction(transaction);
    this.#free = undefined;
    if (transaction === this.#ended?.transaction) this.#ended = undefined;
  }

  /** The charger's clock changed, so the instant of `Available` cannot be compared any more. */
  #forgetFree(): void {
    if (this.#ended?.freeAtOwnMs !== NEVER) this.#ended = undefined;
  }

  /** The instant is after the `Available`, and no other transaction has begun there. */
  #isLater(ownMs: number): boolean {
    return this.lease.transaction === undefined && ownMs > (this.#ended?.freeAtOwnMs ?? NEVER);
  }

  get #mayHaveCar(): boolean {
    return this.status === undefined || !WITHOUT_A_CAR.includes(this.status);
  }

  /** No car that could draw is there, so the draw need not be measured. */
  get #isIdle(): boolean {
    const isCharging = this.status !== undefined && WITH_A_CAR.includes(this.status);
    return this.lease.transaction === undefined && !isCharging;
  }
}

function tenths(values: readonly [number, number, number]): [number, number, number] {
  const [a, b, c] = values;
  return [Math.round(10 * a) / 10, Math.round(10 * b) / 10, Math.round(10 * c) / 10];
}

/**
 * Number of phases that carry current: all if the charger measures none, 0 if unknown. With one current for all phases,
 * it is the power divided by the power of that current on one phase, rounded. Reactive power lowers that number, and
 * nothing raises it.
 */
function phasesIn(
  { currentA, namesPhases, powerW }: MeteredValues,
  { phases, voltageV }: SessionConnectorSpec,
): CountedPhases {
  if (currentA === undefined) return phases;
  if (!namesPhases) {
    const mostA = Math.max(...currentA);
    if (powerW === undefined || mostA <= IN_USE_A) return 0;
    return Math.min(phases, Math.max(1, Math.round(powerW / (mostA * voltageV)))) as CountedPhases;
  }
  const [first, second, third] = currentA.map((phaseA) => Number(phaseA > IN_USE_A));
  return ((first ?? 0) + (second ?? 0) + (third ?? 0)) as CountedPhases;
}

/**
 * W; computed from the currents if no power is measured. Undefined if neither is. A DC current without a voltage counts at
 * the highest one.
 */
function powerOf(
  { powerW, currentA, namesPhases, voltageV, totalVoltageV }: MeteredValues,
  { voltageV: nominalV, dc }: SessionConnectorSpec,
): number | undefined {
  if (powerW !== undefined || currentA === undefined) return powerW;
  if (dc === undefined)
    return currentA.reduce((sum, phaseA, i) => sum + phaseA * (voltageV?.[i] || nominalV), 0);
  return namesPhases ? undefined : currentA[0] * (totalVoltageV ?? dc.maxVoltageV);
}

/** Voltage at the car, V; undefined without a measurement that shows it. */
function dcVoltageOf({ totalVoltageV, powerW, currentA, namesPhases }: MeteredValues): number | undefined {
  if (totalVoltageV !== undefined) return totalVoltageV;
  const carA = namesPhases ? 0 : (currentA?.[0] ?? 0);
  return powerW === undefined || carA <= IN_USE_A ? undefined : powerW / carA;
}

function measured(values: MeteredValues | undefined, spec: SessionConnectorSpec) {
  if (values === undefined) return { powerW: 0 };
  const { energyWh, socPercent } = values;
  // The current of a DC output is on no phase of the grid.
  const { currentA, voltageV } = spec.dc === undefined ? values : {};
  return {
    powerW: Math.max(0, Math.round(powerOf(values, spec) ?? 0)),
    ...(currentA === undefined ? {} : { currentA: tenths(currentA) }),
    ...(voltageV === undefined ? {} : { voltageV: tenths(voltageV) }),
    ...(energyWh === undefined ? {} : { energyWh: Math.max(0, Math.round(energyWh)) }),
    ...(socPercent === undefined ? {} : { socPercent: Math.min(100, Math.max(0, socPercent)) }),
  };
}
