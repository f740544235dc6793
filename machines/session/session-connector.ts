// One connector of a charger behind a gateway: what it reports, and when the gateway says a heartbeat for it.
import type { ChargingStatus } from '../power/meter-ledger.js';
import type { ClockVerdict } from './charger-clock.js';
import type { ConnectorLease, LeaseSpec } from './connector-lease.js';
import type { MeterBody, MeteredValues, TransactionRef } from './gateway-request.js';
import type { CountedPhases } from './lease-schedule.js';

export interface SessionConnectorSpec extends LeaseSpec {
  /** As provisioned. */
  readonly connectorId: string;
}

/** No more than one meter value a second for a connector. */
const APART_MS = 1_000;
/** A value counts for this many heartbeats. */
const FRESH_HEARTBEATS = 2.5;
/** One that charges says values at the latest after so many. */
const REPORTED_HEARTBEATS = 1.25;
/** A word that a connector is free, while its transaction runs, may be taken back for so long. */
const TAKEN_BACK_MS = 3_000;
/** A phase that carries less is not in use. */
const IN_USE_A = 1;
const NEVER = Number.POSITIVE_INFINITY;

/** A transaction that is over, or seems to be. */
interface Ended {
  readonly transaction: TransactionRef;
  /**
   * Nobody said that it ended: the connector was said to be free then, by the charger's clock, and words of later show that it goes on.
   * Infinite where its end was said.
   */
  readonly freeAtOwnMs: number;
}

const WITH_A_CAR: readonly ChargingStatus[] = ['Charging', 'SuspendedEV', 'SuspendedEVSE'];
const WITHOUT_A_CAR: readonly ChargingStatus[] = ['Available', 'Unavailable', 'Faulted'];

export class SessionConnector {
  readonly spec: SessionConnectorSpec;
  readonly lease: ConnectorLease;
  /** Why it has no lease, as it was told last. */
  toldWhyNot: string | undefined = '';
  /** Why the service has an alarm of it. */
  toldAlarm: string | undefined;
  /** What it showed when it was asked to prove its lease. */
  shownWhyNot: string | undefined;
  /** That speaks against it, and is not only that it could show nothing. */
  isShownEvidence = false;
  status: ChargingStatus | undefined;
  readonly #heartbeatMs: number;
  /** The transaction that was over last. */
  #ended: Ended | undefined;
  /** It was said to be free while its transaction runs. */
  #free: { readonly freeAtOwnMs: number; readonly countsAtMs: number } | undefined;
  #values: MeteredValues | undefined;
  #valuesAtMs = Number.NEGATIVE_INFINITY;
  #saidAtMs = Number.NEGATIVE_INFINITY;
  /** Until then a transaction may run there that began before the gateway and was not named to it yet. */
  #unnamedUntilMs = Number.POSITIVE_INFINITY;
  /** When it has something to say that does not wait for the next heartbeat. */
  #news: 'values' | 'change' | undefined;

  constructor(spec: SessionConnectorSpec, heartbeatMs: number, lease: ConnectorLease) {
    this.spec = spec;
    this.lease = lease;
    this.#heartbeatMs = heartbeatMs;
  }

  restart(boot: string): void {
    this.lease.restart(boot);
    this.shownWhyNot = undefined;
    this.isShownEvidence = false;
    this.#forgetFree();
    this.#free = undefined;
    this.#values = undefined;
    this.#valuesAtMs = Number.NEGATIVE_INFINITY;
    this.#saidAtMs = Number.NEGATIVE_INFINITY;
    this.#unnamedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Its charger is connected. */
  opened(nowMs: number): void {
    this.#unnamedUntilMs = Math.min(this.#unnamedUntilMs, nowMs + REPORTED_HEARTBEATS * this.#heartbeatMs);
    this.noteChange();
  }

  /** When something of it is over by itself; infinite where never. */
  get overAtMs(): number {
    return Math.min(this.lease.overAtMs, this.#free?.countsAtMs ?? NEVER);
  }

  /** A car may be there, and nothing is known of what it draws. */
  get lacksValues(): boolean {
    return this.#values === undefined && this.#mayHaveCar;
  }

  /** Lets time pass: that a lease ended the service should hear at once. */
  advance(nowMs: number): void {
    // Free again: a transaction that nobody ended is over, unless it shows later that it goes on.
    if (this.#free !== undefined && this.#free.countsAtMs <= nowMs)
      this.#endTransaction(this.#free.freeAtOwnMs);
    const { seq } = this.lease.held;
    this.lease.advance(nowMs);
    if (this.lease.held.seq === 0 && seq > 0) this.noteChange();
  }

  /** What a timestamp said of its charger's clock. */
  heardTime(verdict: ClockVerdict): void {
    if (verdict === 'steady' || verdict === 'late') return;
    if (verdict === 'setBack' || verdict === 'lateBefore') this.lease.countAnew();
    else {
      this.lease.distrust();
      this.#forgetFree();
    }
    // Values that wait to be said are by the clock of before.
    this.#news = 'change';
  }

  /** Something changed that the service should hear at once. */
  noteChange(): void {
    this.#news ??= 'change';
  }

  /** @param ownMs when, by the charger's clock; undefined where nothing is known of that */
  heardStatus(status: ChargingStatus, ownMs: number | undefined, nowMs: number): void {
    const isEnd = status === 'Available' && this.lease.transaction !== undefined;
    if (isEnd && status !== this.status) {
      const freeAtOwnMs = ownMs ?? Number.NEGATIVE_INFINITY;
      this.#free ??= { freeAtOwnMs, countsAtMs: nowMs + TAKEN_BACK_MS };
      return;
    }
    this.#free = undefined;
    this.#setStatus(status);
  }

  /** They are of a transaction that is over: kept back while a connection was broken, and no word of now. */
  isOver(values: MeteredValues): boolean {
    const { transaction, ownMs } = values;
    if (transaction === undefined || transaction !== this.#ended?.transaction) return false;
    // The last values of one that is over may be a moment younger than the word that its connector is free.
    const { voltageV } = this.spec;
    const isDrawing = (powerOf(values, voltageV) ?? 0) > IN_USE_A * voltageV;
    return !this.#isLater(ownMs) || !(this.#mayHaveCar || isDrawing);
  }

  /** A word of that transaction, of an instant of the charger's clock, and not its last one. */
  heardOf(transaction: TransactionRef, ownMs: number): void {
    if (transaction !== this.#ended?.transaction || !this.#mayHaveCar || !this.#isLater(ownMs)) return;
    this.#goOn(transaction);
    this.noteChange();
  }

  heardValues(values: MeteredValues, nowMs: number): void {
    if (this.lease.transaction === undefined && values.transaction !== undefined)
      this.#goOn(values.transaction);
    if (powerOf(values, this.spec.voltageV) === undefined) return;
    this.#values = values;
    this.#valuesAtMs = nowMs;
    this.#news = 'values';
    const { phases, voltageV } = this.spec;
    const currents = values.currentA ?? [];
    const powerA = (values.powerW ?? 0) / (voltageV * phases);
    this.lease.metered(Math.max(powerA, ...currents), phasesIn(values, this.spec), nowMs);
  }

  /**
   * With another transaction a car begins at 0, and without one no values are to be expected. One that is said to run again, as on a
   * new connection, changes nothing.
   */
  heardTransaction(transaction: TransactionRef | undefined, nowMs: number): void {
    if (transaction === this.lease.transaction) return;
    if (transaction === undefined) this.#endTransaction(NEVER);
    else this.#goOn(transaction);
    this.#values = undefined;
    this.#valuesAtMs = transaction === undefined ? Number.NEGATIVE_INFINITY : nowMs;
    this.noteChange();
  }

  /** That transaction is over: it may have seemed so before. */
  heardEnd(transaction: TransactionRef, nowMs: number): void {
    if (transaction === this.lease.transaction) this.heardTransaction(undefined, nowMs);
    else if (transaction === this.#ended?.transaction) this.#ended = { transaction, freeAtOwnMs: NEVER };
  }

  /** When it has a heartbeat to say, if the charger is alive; infinite where it is silent. */
  dueAtMs(nowMs: number): number {
    if (this.status === undefined) return Number.POSITIVE_INFINITY;
    if (this.#news === 'values') return this.#saidAtMs + APART_MS;
    const isIdle = this.#isIdle;
    // A lease of before a transaction would go beside that of the one which runs.
    if (isIdle && this.#mayHaveCar && nowMs < this.#unnamedUntilMs) return this.#unnamedUntilMs;
    const isTelling = isIdle || nowMs - this.#valuesAtMs <= FRESH_HEARTBEATS * this.#heartbeatMs;
    if (this.#news === 'change' && isTelling) return this.#saidAtMs + APART_MS;
    return isIdle ? this.#saidAtMs + this.#heartbeatMs : Number.POSITIVE_INFINITY;
  }

  /**
   * The heartbeat that leaves now.
   * @param ownNowMs what the charger's clock reads at the least, where that is known
   * @param isEndOpen what it was told may last longer than its leases
   */
  meter(boot: string, ownNowMs: number | undefined, isEndOpen: boolean, nowMs: number): MeterBody {
    const values = this.#isIdle ? undefined : this.#values;
    // New values have an instant of the charger's own, which is what a lease hangs on.
    const isNew = this.#news === 'values' && this.#values !== undefined;
    const hb = this.lease.noteHeartbeat(isNew ? (this.#values?.ownMs ?? ownNowMs) : ownNowMs, nowMs);
    this.#news = undefined;
    this.#saidAtMs = nowMs;
    const { epoch, seq, limitA, endsAtMs } = this.lease.held;
    const leaseLeftS = Math.max(0, Math.floor((endsAtMs - nowMs) / 100) / 10);
    return {
      v: 1,
      boot,
      hb,
      status: this.status ?? 'Unavailable',
      ...measured(values, this.spec.voltageV),
      epoch,
      seq,
      limitA,
      ...(Number.isFinite(leaseLeftS) ? { leaseLeftS } : {}),
      ...(isEndOpen ? { isEndOpen } : {}),
    };
  }

  #endTransaction(freeAtOwnMs: number): void {
    const { transaction } = this.lease;
    if (transaction !== undefined) this.#ended = { transaction, freeAtOwnMs };
    this.lease.setTransaction(undefined);
    if (this.#free !== undefined) this.#setStatus('Available');
    this.#free = undefined;
  }

  #setStatus(status: ChargingStatus): void {
    if (status === this.status) return;
    this.status = status;
    this.noteChange();
  }

  /** It runs, and may have begun before anybody said so, or have seemed to be over. */
  #goOn(transaction: TransactionRef): void {
    this.lease.setTransaction(transaction);
    this.#free = undefined;
    if (transaction === this.#ended?.transaction) this.#ended = undefined;
  }

  /** Its clock is another: when the connector was said to be free, nothing can be compared with any more. */
  #forgetFree(): void {
    if (this.#ended?.freeAtOwnMs !== NEVER) this.#ended = undefined;
  }

  /** It is of after the connector was said to be free, and no other transaction has begun there. */
  #isLater(ownMs: number): boolean {
    return this.lease.transaction === undefined && ownMs > (this.#ended?.freeAtOwnMs ?? NEVER);
  }

  get #mayHaveCar(): boolean {
    return this.status === undefined || !WITHOUT_A_CAR.includes(this.status);
  }

  /** No car that could draw is there: what it draws need not be measured. */
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
 * Phases that carry current; all where the charger measures none of them. Of one current for all it is as many as the power is of
 * that, rounded: reactive power makes it fewer, and nothing more. 0 where that is not known.
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

/** W; of currents where no power is measured. Undefined where neither is. */
function powerOf({ powerW, currentA, voltageV }: MeteredValues, nominalV: number): number | undefined {
  if (powerW !== undefined || currentA === undefined) return powerW;
  return currentA.reduce((sum, phaseA, i) => sum + phaseA * (voltageV?.[i] || nominalV), 0);
}

function measured(values: MeteredValues | undefined, nominalV: number) {
  if (values === undefined) return { powerW: 0 };
  const { currentA, voltageV, energyWh } = values;
  return {
    powerW: Math.max(0, Math.round(powerOf(values, nominalV) ?? 0)),
    ...(currentA === undefined ? {} : { currentA: tenths(currentA) }),
    ...(voltageV === undefined ? {} : { voltageV: tenths(voltageV) }),
    ...(energyWh === undefined ? {} : { energyWh: Math.max(0, Math.round(energyWh)) }),
  };
}
