// Applies a connector's reports: readings, acknowledgements and its own description. Only this module writes `Telemetry`.

import type { LeaseKind } from '../ledger/grant.js';
import { ALL_PHASES, onFirst } from '../ledger/own-phases.js';
import { type ConnectorRating, milliwattsPerTenthA, tenthsAOf } from '../values/units.js';
import type { Instant } from './budget.js';
import { foldCompliance } from './compliance.js';
import { type Connector, reserveWorstCase, rewire, type Telemetry, type Writing } from './connector.js';
import { foldDemand, forgetCar } from './connector-demand.js';
import { countEnergy, declareNeed } from './declared-cars.js';
import { forgetSent, recordTaken } from './granted.js';
import type { MeterReading } from './meter-ledger.js';
import { beginSession, followSession, goesOnFromBefore, surelyOn } from './reallocated-phases.js';

/**
 * Bounds of a plausible voltage, as shares of the nominal one. A lower value is no measurement; a higher one is capped.
 */
const LEAST_VOLTAGE = 0.9;
export const MOST_VOLTAGE = 1.15;
/** A lower current on a phase is meter noise. */
const LEAST_PHASE_A = 1;
/** A measured voltage may return within this time, when other loads on the line decrease. */
const VOLTAGE_LASTS_MS = 3_600_000;

type Written = Writing<'telemetry'>;

/** Description that a charger sends of a connector. */
export interface OwnDescription {
  readonly failsafeA: number;
  readonly lease: LeaseKind;
  readonly keepsThen: boolean;
  readonly boot?: string | undefined;
  readonly endsWithSession?: boolean | undefined;
  readonly switchesPhases?: boolean | undefined;
}

/**
 * Applies a charger's own description: fail-safe and lease kind. If the charger keeps `thenA`, a report of an earlier
 * fail-safe is no news. A higher fallback then results only from a recorded grant or a restart.
 */
export function describe(connector: Written, own: OwnDescription, nowMs: number): void {
  const { account, telemetry } = connector;
  const { lease, keepsThen, failsafeA, boot = '' } = own;
  const failsafeTenthsA = Math.min(tenthsAOf(failsafeA), account.maxTenthsA);
  const saidTenthsA = telemetry.said?.boot === boot ? telemetry.said.failsafeTenthsA : -1;
  const isNews = !keepsThen || failsafeTenthsA > saidTenthsA;
  account.describe({ lease, keepsThen, ...(isNews && { failsafeTenthsA }) }, nowMs);
  telemetry.said = { boot, failsafeTenthsA: Math.max(saidTenthsA, failsafeTenthsA) };
  if (own.endsWithSession === true) telemetry.endsWithSessionIn = boot;
  else if (telemetry.endsWithSessionIn === boot) telemetry.endsWithSessionIn = undefined;
  if (own.switchesPhases === true) telemetry.switchesPhasesIn = boot;
  else if (telemetry.switchesPhasesIn === boot) telemetry.switchesPhasesIn = undefined;
  reserveWorstCase(connector);
}

/** Replaces the charger's words for operators. No decision reads them. */
export function noteForOperators(
  { telemetry }: Written,
  { ocppState, whyNoLease }: Partial<Telemetry['forOperators']>,
): void {
  telemetry.forOperators = { ocppState, whyNoLease };
}

/** The connector should report from `nowMs` on. */
export function awaitFrom({ telemetry }: Written, nowMs: number): void {
  telemetry.awaitedSinceMs = nowMs;
}

/**
 * The connector did not report in time. If it had a grant before the service start, it counts with its full
 * entitlement.
 */
export function presumeMaximum({ telemetry }: Written): void {
  telemetry.lastWBeforeStart ??= Number.POSITIVE_INFINITY;
}

/**
 * Applies a reading that the meter ledger accepted: heartbeat, acknowledgement, demand and compliance.
 * @param ownerTerm ownership term of this service; a reading with an older `epoch` acknowledges nothing
 */
export function applyReading(
  connector: Written,
  reading: MeterReading,
  ownerTerm: number,
  at: Instant,
): boolean {
  const { nowMs } = at;
  const { account, telemetry, car } = connector;
  const { spec } = connector.provisioned;
  const heldTenthsA = heldFromBefore(connector, reading, ownerTerm);
  if (account.lastSeq === 0) account.noteHeld(heldTenthsA ?? 0, surelyOn(reading, heldTenthsA));
  let isNews = followVoltage(connector, reading.voltageV, nowMs);
  if (applyHeartbeat(connector, reading, nowMs)) isNews = true;
  if (account.isWithoutGrant) {
    const atTenthsA = tenthsAOf(reading.limitA ?? 0);
    account.noteAt(surelyOn(reading, atTenthsA) ?? onFirst(atTenthsA, ALL_PHASES));
  }
  const isOtherCar = car.session.id !== undefined && reading.session !== car.session.id;
  if (isOtherCar) forgetCar(car.demand);
  const isFromBefore = goesOnFromBefore(connector, reading, heldTenthsA);
  if (isFromBefore) telemetry.endsWithSessionIn = telemetry.boot;
  if (followSession(connector, reading, isFromBefore, nowMs)) isNews = true;
  if (
    reading.epoch === ownerTerm &&
    reading.seq !== undefined &&
    isKeptTo(connector, reading.seq, reading.limitA)
  ) {
    if (acknowledge(connector, reading.seq, nowMs)) isNews = true;
  }
  if (applyOpenEnd(connector, reading)) isNews = true;
  // Phases do not count separately if no fuse is known.
  const isBeyondPhases = account.circuitPhases.length > 0 && phasesUsed(reading) > spec.phases;
  const drawnTenthsA = drawnTenthsAOf(reading, connector);
  const allowedTenthsA = allowedTenthsAOf(connector);
  const judgedTenthsA = isBeyondPhases ? Number.POSITIVE_INFINITY : drawnTenthsA;
  if (foldCompliance(car.compliance, judgedTenthsA, allowedTenthsA, nowMs)) isNews = true;
  const isOnAll = isBeyondPhases || (telemetry.phases !== spec.phases && car.compliance.isNonCompliant);
  if (reserveOn(connector, isOnAll ? 3 : spec.phases)) isNews = true;
  if (reserveWorstCase(connector)) isNews = true;
  const limitTenthsA = limitTenthsAOf(connector, reading);
  const maxTenthsA = account.maxTenthsA;
  const hadCar = car.demand.hasCar;
  const isDemandNews = foldDemand(
    car.demand,
    {
      status: reading.status,
      drawnTenthsA: usedTenthsAOf(reading, spec, drawnTenthsA),
      limitTenthsA,
      leastTenthsA: account.leastTenthsA,
      maxTenthsA,
      heldTenthsA,
    },
    nowMs,
  );
  if (countEnergy(connector, reading, hadCar && car.demand.hasCar, at)) isNews = true;
  if (reading.need !== undefined && car.demand.hasCar && declareNeed(connector, 'charger', reading.need))
    isNews = true;
  return isDemandNews || isNews;
}

/**
 * Applies an acknowledgement; true if it releases capacity. It does not count without a matching grant, or with a limit
 * above the sent one.
 */
export function applyAck(
  connector: Connector,
  seq: number,
  appliedA: number | undefined,
  nowMs: number,
): boolean {
  return isKeptTo(connector, seq, appliedA) && acknowledge(connector, seq, nowMs);
}

function acknowledge(connector: Connector, seq: number, nowMs: number): boolean {
  const { ackedSeq } = connector.account;
  const isReleased = connector.account.acknowledge(seq, nowMs);
  if (connector.account.ackedSeq > ackedSeq) recordTaken(connector, nowMs);
  return isReleased;
}

function applyHeartbeat(connector: Written, { hb, boot = '' }: MeterReading, nowMs: number): boolean {
  if (hb === undefined) return false;
  const { telemetry } = connector;
  const isNewBoot = boot !== telemetry.boot;
  const isFirst = telemetry.hb === undefined;
  telemetry.hb = hb;
  telemetry.boot = boot;
  telemetry.receivedAtMs = nowMs;
  // A charger that restarted holds no grant.
  if (isNewBoot) {
    forgetSent(connector);
    beginSession(connector, undefined);
    connector.account.restarted();
  }
  return isFirst || isNewBoot;
}

/**
 * The highest compliant draw. A charger that takes no limits cannot break one. A non-compliant one must keep to the
 * grants since the service start.
 */
function allowedTenthsAOf({ telemetry: { hb }, account, car: { compliance } }: Connector): number {
  if (hb === undefined) return account.maxTenthsA;
  return compliance.isNonCompliant ? account.grantedSinceTenthsA() : account.entitledTenthsA;
}

/** True if the charger newly reports that its limits may outlast their leases. A decision then writes that to disk. */
function applyOpenEnd({ telemetry, account }: Written, { isEndOpen = false }: MeterReading): boolean {
  const isNews = isEndOpen && !telemetry.isEndOpen;
  telemetry.isEndOpen = isEndOpen;
  if (isEndOpen) account.openEnd();
  return isNews;
}

/**
 * Reserves all phases of a connector that draws on more phases than provisioned, until the connector complies again.
 * True if the phase count changes.
 */
function reserveOn(connector: Written, phases: 1 | 3): boolean {
  if (phases === connector.telemetry.phases) return false;
  connector.telemetry.phases = phases;
  rewire(connector);
  return true;
}

/** An acknowledgement does not count if the charger's own limit exceeds the named grant and all later ones. */
function isKeptTo(
  { account, granted: { sentTenthsA } }: Connector,
  seq: number,
  heldToA: number | undefined,
): boolean {
  if (heldToA === undefined || sentTenthsA === undefined) return true;
  const isNewest = seq === account.lastSeq;
  const grantedTenthsA = isNewest
    ? Math.max(sentTenthsA, account.failsafeTenthsA)
    : account.grantedSinceTenthsA(seq);
  return tenthsAOf(heldToA) <= grantedTenthsA;
}

/** Limit that the charger holds by a grant of an earlier owner; undefined without one, or after a new grant. */
function heldFromBefore(
  { account }: Connector,
  reading: MeterReading,
  ownerTerm: number,
): number | undefined {
  const { limitA, seq = 0 } = reading;
  const isFromBefore = reading.epoch !== undefined && reading.epoch < ownerTerm;
  const isHeld = seq > 0 && isFromBefore && account.lastSeq === 0;
  return isHeld && limitA !== undefined ? Math.min(tenthsAOf(limitA), account.maxTenthsA) : undefined;
}

function limitTenthsAOf({ granted, account }: Connector, { limitA }: MeterReading): number {
  const grantedTenthsA = granted.sentTenthsA ?? account.maxTenthsA;
  return limitA === undefined ? grantedTenthsA : Math.min(tenthsAOf(limitA), account.maxTenthsA);
}

/** Current of the most loaded phase, or the phase's share of the power if that is more; rounded up. */
function drawnTenthsAOf(
  { powerW, currentA }: MeterReading,
  { provisioned: { spec }, account }: Connector,
): number {
  const { voltageV, phases, dc } = spec;
  // A DC connector's limit is a power, so its draw relative to the limit does not depend on the voltage.
  let drawnA = dc == null ? powerW / (voltageV * phases) : (powerW * 100) / account.milliwattsPerTenth;
  if (currentA !== undefined) for (const phaseA of currentA) drawnA = Math.max(drawnA, phaseA);
  return Math.ceil(drawnA * 10 - 1e-6);
}

/** Power alone does not show how many phases the car uses. A car on one phase may use all of its limit. */
function usedTenthsAOf(
  { powerW, currentA }: MeterReading,
  { voltageV, dc }: ConnectorRating,
  drawnTenthsA: number,
): number {
  return currentA === undefined && dc == null ? Math.ceil((powerW / voltageV) * 10 - 1e-6) : drawnTenthsA;
}

/** Phases with more current than meter noise. */
function phasesUsed({ currentA = [] }: MeterReading): number {
  return currentA.filter((phaseA) => phaseA >= LEAST_PHASE_A).length;
}

/**
 * Updates the voltage that converts current to power: the highest phase voltage within about an hour, in whole volts.
 * It is at least the nominal voltage (R11). A sagging voltage would allow more current, which is too much as soon as
 * the voltage recovers.
 */
function followVoltage(connector: Written, voltageV: readonly number[] | undefined, nowMs: number): boolean {
  const { account, telemetry } = connector;
  const { spec } = connector.provisioned;
  if (voltageV === undefined || spec.dc != null) return false;
  let highestV = 0;
  for (const phaseV of voltageV) highestV = Math.max(highestV, phaseV);
  // A broken or false meter must not free capacity for more current.
  if (highestV < spec.voltageV * LEAST_VOLTAGE) return false;
  const wantedV = Math.ceil(Math.max(spec.voltageV, Math.min(highestV, spec.voltageV * MOST_VOLTAGE)));
  const heldV = account.milliwattsOnPhase / milliwattsPerTenthA(1, 1);
  if (wantedV < heldV && nowMs < telemetry.voltageSeenAtMs + VOLTAGE_LASTS_MS) return false;
  telemetry.voltageSeenAtMs = nowMs;
  if (wantedV === heldV) return false;
  account.describe({ milliwattsPerTenth: milliwattsPerTenthA(wantedV, telemetry.phases) });
  return true;
}
