// Applies meter readings and acknowledgements to the state of a connector.

import { type ConnectorRating, milliwattsPerTenthA, tenthsAOf } from '../values/units.js';
import { foldCompliance } from './compliance.js';
import {
  type ConnectorControl,
  createSessionKnown,
  reserveOn,
  reserveWorstCase,
} from './connector-control.js';
import { foldDemand, forgetCar } from './connector-demand.js';
import type { MeterReading } from './meter-ledger.js';
import { ALL_PHASES, onFirst } from './own-phases.js';
import { endReallocation, followSession, surelyOn } from './reallocated-phases.js';
import { recordTaken } from './remaining-capacity.js';

/**
 * Bounds of a plausible voltage, as shares of the nominal one. A lower value is no measurement; a higher one is capped.
 */
const LEAST_VOLTAGE = 0.9;
export const MOST_VOLTAGE = 1.15;
/** A lower current on a phase is meter noise. */
const LEAST_PHASE_A = 1;
/** A measured voltage may return within this time, when other loads on the line decrease. */
const VOLTAGE_LASTS_MS = 3_600_000;

/**
 * Applies a reading that the meter ledger accepted: heartbeat, acknowledgement, demand and compliance.
 * @param ownerTerm ownership term of this service; a reading with an older `epoch` acknowledges nothing
 */
export function applyReading(
  control: ConnectorControl,
  reading: MeterReading,
  ownerTerm: number,
  nowMs: number,
): boolean {
  const { account, spec } = control;
  const heldTenthsA = heldFromBefore(control, reading, ownerTerm);
  if (account.lastSeq === 0) account.noteHeld(heldTenthsA ?? 0, surelyOn(reading, heldTenthsA));
  let isNews = followVoltage(control, reading.voltageV, nowMs);
  if (applyHeartbeat(control, reading, nowMs)) isNews = true;
  if (account.isWithoutGrant) {
    const atTenthsA = tenthsAOf(reading.limitA ?? 0);
    account.noteAt(surelyOn(reading, atTenthsA) ?? onFirst(atTenthsA, ALL_PHASES));
  }
  const isOtherCar = control.session.id !== undefined && reading.session !== control.session.id;
  if (isOtherCar) forgetCar(control.demand);
  if (followSession(control, reading, heldTenthsA, nowMs)) isNews = true;
  if (
    reading.epoch === ownerTerm &&
    reading.seq !== undefined &&
    isKeptTo(control, reading.seq, reading.limitA)
  ) {
    if (acknowledge(control, reading.seq, nowMs)) isNews = true;
  }
  if (applyOpenEnd(control, reading)) isNews = true;
  // Phases do not count separately if no fuse is known.
  const isBeyondPhases = account.circuitPhases.length > 0 && phasesUsed(reading) > spec.phases;
  const drawnTenthsA = drawnTenthsAOf(reading, control);
  const allowedTenthsA = allowedTenthsAOf(control);
  const judgedTenthsA = isBeyondPhases ? Number.POSITIVE_INFINITY : drawnTenthsA;
  if (foldCompliance(control.compliance, judgedTenthsA, allowedTenthsA, nowMs)) isNews = true;
  const isOnAll = isBeyondPhases || (control.phases !== spec.phases && control.compliance.isNonCompliant);
  if (reserveOn(control, isOnAll ? 3 : spec.phases)) isNews = true;
  if (reserveWorstCase(control)) isNews = true;
  const limitTenthsA = limitTenthsAOf(control, reading);
  const maxTenthsA = account.maxTenthsA;
  return (
    foldDemand(
      control.demand,
      {
        status: reading.status,
        drawnTenthsA: usedTenthsAOf(reading, spec, drawnTenthsA),
        limitTenthsA,
        leastTenthsA: account.leastTenthsA,
        maxTenthsA,
        heldTenthsA,
      },
      nowMs,
    ) || isNews
  );
}

/**
 * Applies an acknowledgement; true if it releases capacity. It does not count without a matching grant, or with a limit
 * above the sent one.
 */
export function applyAck(
  control: ConnectorControl,
  seq: number,
  appliedA: number | undefined,
  nowMs: number,
): boolean {
  return isKeptTo(control, seq, appliedA) && acknowledge(control, seq, nowMs);
}

function acknowledge(control: ConnectorControl, seq: number, nowMs: number): boolean {
  const { ackedSeq } = control.account;
  const isReleased = control.account.acknowledge(seq, nowMs);
  if (control.account.ackedSeq > ackedSeq) recordTaken(control, nowMs);
  return isReleased;
}

function applyHeartbeat(control: ConnectorControl, { hb, boot = '' }: MeterReading, nowMs: number): boolean {
  if (hb === undefined) return false;
  const isNewBoot = boot !== control.boot;
  const isFirst = control.hb === undefined;
  control.hb = hb;
  control.boot = boot;
  control.receivedAtMs = nowMs;
  // A charger that restarted holds no grant.
  if (isNewBoot) {
    control.sentTenthsA = undefined;
    control.untaken = undefined;
    endReallocation(control);
    Object.assign(control.session, createSessionKnown());
    control.account.restarted();
  }
  return isFirst || isNewBoot;
}

/**
 * The highest compliant draw. A charger that takes no limits cannot break one. A non-compliant one must keep to the
 * grants since the service start.
 */
function allowedTenthsAOf({ hb, account, compliance }: ConnectorControl): number {
  if (hb === undefined) return account.maxTenthsA;
  return compliance.isNonCompliant ? account.grantedSinceTenthsA() : account.entitledTenthsA;
}

/** True if the charger newly reports that its limits may outlast their leases. A decision then writes that to disk. */
function applyOpenEnd(control: ConnectorControl, { isEndOpen = false }: MeterReading): boolean {
  const isNews = isEndOpen && !control.isEndOpen;
  control.isEndOpen = isEndOpen;
  if (isEndOpen) control.account.openEnd();
  return isNews;
}

/** An acknowledgement does not count if the charger's own limit exceeds the named grant and all later ones. */
function isKeptTo(
  { account, sentTenthsA }: ConnectorControl,
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
  { account }: ConnectorControl,
  reading: MeterReading,
  ownerTerm: number,
): number | undefined {
  const { limitA, seq = 0 } = reading;
  const isFromBefore = reading.epoch !== undefined && reading.epoch < ownerTerm;
  const isHeld = seq > 0 && isFromBefore && account.lastSeq === 0;
  return isHeld && limitA !== undefined ? Math.min(tenthsAOf(limitA), account.maxTenthsA) : undefined;
}

function limitTenthsAOf({ sentTenthsA, account }: ConnectorControl, { limitA }: MeterReading): number {
  const grantedTenthsA = sentTenthsA ?? account.maxTenthsA;
  return limitA === undefined ? grantedTenthsA : Math.min(tenthsAOf(limitA), account.maxTenthsA);
}

/** Current of the most loaded phase, or the phase's share of the power if that is more; rounded up. */
function drawnTenthsAOf({ powerW, currentA }: MeterReading, { spec, account }: ConnectorControl): number {
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
 * It is at least the nominal voltage. A sagging voltage would allow more current, which is too much as soon as the
 * voltage recovers.
 */
function followVoltage(
  control: ConnectorControl,
  voltageV: readonly number[] | undefined,
  nowMs: number,
): boolean {
  const { account, spec, phases } = control;
  if (voltageV === undefined || spec.dc != null) return false;
  let highestV = 0;
  for (const phaseV of voltageV) highestV = Math.max(highestV, phaseV);
  // A broken or false meter must not free capacity for more current.
  if (highestV < spec.voltageV * LEAST_VOLTAGE) return false;
  const wantedV = Math.ceil(Math.max(spec.voltageV, Math.min(highestV, spec.voltageV * MOST_VOLTAGE)));
  const heldV = account.milliwattsOnPhase / milliwattsPerTenthA(1, 1);
  if (wantedV < heldV && nowMs < control.voltageSeenAtMs + VOLTAGE_LASTS_MS) return false;
  control.voltageSeenAtMs = nowMs;
  if (wantedV === heldV) return false;
  account.describe({ milliwattsPerTenth: milliwattsPerTenthA(wantedV, phases) });
  return true;
}
