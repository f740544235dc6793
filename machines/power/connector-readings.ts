// What a reading or an acknowledgement changes in what a location knows of a connector.

import { type ConnectorRating, milliwattsPerTenthA, tenthsAOf } from '../values/units.js';
import { foldCompliance } from './compliance.js';
import {
  type ConnectorControl,
  createSessionKnown,
  reserveOn,
  reserveWorstCase,
} from './connector-control.js';
import { foldDemand, forgetCar } from './connector-demand.js';
import type { GrantLedger } from './grant-ledger.js';
import { isWithoutGrant, toldSinceTenthsA } from './ledger-room.js';
import { followSession, stopLending, surelyOn } from './lent-phases.js';
import type { MeterReading } from './meter-ledger.js';
import { ALL_PHASES, onFirst } from './own-phases.js';
import { noteTaken } from './room-beside.js';

/** Of the nominal voltage: less than this is no measurement, and of what is more than that no more is believed. */
const LEAST_VOLTAGE = 0.9;
export const MOST_VOLTAGE = 1.15;
/** Less than this on a phase is a meter's noise. */
const LEAST_PHASE_A = 1;
/** A voltage that was measured may be back at any instant of as long, when others on the same line draw less. */
const VOLTAGE_LASTS_MS = 3_600_000;

/**
 * Folds in a reading that the meter ledger accepted: heartbeat, acknowledgement, demand and compliance.
 * @param ownerTerm of this service: a charger that still speaks of an older one acknowledges nothing.
 */
export function hearReading(
  ledger: GrantLedger,
  control: ConnectorControl,
  reading: MeterReading,
  ownerTerm: number,
  nowMs: number,
): boolean {
  const { holding, spec } = control;
  const heldTenthsA = heldFromBefore(control, reading, ownerTerm);
  if (holding.lastSeq === 0) ledger.noteHeld(holding, heldTenthsA ?? 0, surelyOn(reading, heldTenthsA));
  let isNews = followVoltage(ledger, control, reading.voltageV, nowMs);
  if (hearHeartbeat(ledger, control, reading, nowMs)) isNews = true;
  if (isWithoutGrant(holding)) {
    const atTenthsA = tenthsAOf(reading.limitA ?? 0);
    ledger.noteAt(holding, surelyOn(reading, atTenthsA) ?? onFirst(atTenthsA, ALL_PHASES));
  }
  const isOtherCar = control.session.id !== undefined && reading.session !== control.session.id;
  if (isOtherCar) forgetCar(control.demand);
  if (followSession(ledger, control, reading, heldTenthsA, nowMs)) isNews = true;
  if (
    reading.epoch === ownerTerm &&
    reading.seq !== undefined &&
    isKeptTo(control, reading.seq, reading.limitA)
  ) {
    if (acknowledge(ledger, control, reading.seq, nowMs)) isNews = true;
  }
  if (hearEnd(ledger, control, reading)) isNews = true;
  // Where no fuse is known, no phase counts by itself.
  const isBeyondPhases = holding.poles.length > 0 && phasesUsed(reading) > spec.phases;
  const drawnTenthsA = drawnTenthsAOf(reading, control);
  const allowedTenthsA = allowedTenthsAOf(control);
  const judgedTenthsA = isBeyondPhases ? Number.POSITIVE_INFINITY : drawnTenthsA;
  if (foldCompliance(control.compliance, judgedTenthsA, allowedTenthsA, nowMs)) isNews = true;
  const isOnAll = isBeyondPhases || (control.phases !== spec.phases && control.compliance.isNonCompliant);
  if (reserveOn(ledger, control, isOnAll ? 3 : spec.phases)) isNews = true;
  if (reserveWorstCase(ledger, control)) isNews = true;
  const limitTenthsA = limitTenthsAOf(control, reading);
  const maxTenthsA = holding.maxTenthsA;
  return (
    foldDemand(
      control.demand,
      {
        status: reading.status,
        drawnTenthsA: usedTenthsAOf(reading, spec, drawnTenthsA),
        limitTenthsA,
        leastTenthsA: holding.leastTenthsA,
        maxTenthsA,
        heldTenthsA,
      },
      nowMs,
    ) || isNews
  );
}

/** Takes an acknowledgement; false where it is none for anything that was sent, or says it was not followed. */
export function hearAck(
  ledger: GrantLedger,
  control: ConnectorControl,
  seq: number,
  appliedA: number | undefined,
  nowMs: number,
): boolean {
  return isKeptTo(control, seq, appliedA) && acknowledge(ledger, control, seq, nowMs);
}

function acknowledge(ledger: GrantLedger, control: ConnectorControl, seq: number, nowMs: number): boolean {
  const { ackedSeq } = control.holding;
  const isReleased = ledger.acknowledge(control.holding, seq, nowMs);
  if (control.holding.ackedSeq > ackedSeq) noteTaken(control, nowMs);
  return isReleased;
}

function hearHeartbeat(
  ledger: GrantLedger,
  control: ConnectorControl,
  { hb, boot = '' }: MeterReading,
  nowMs: number,
): boolean {
  if (hb === undefined) return false;
  const isNewBoot = boot !== control.boot;
  const isFirst = control.hb === undefined;
  control.hb = hb;
  control.boot = boot;
  control.heardAtMs = nowMs;
  // A charger that started anew holds no grant.
  if (isNewBoot) {
    control.sentTenthsA = undefined;
    control.untaken = undefined;
    stopLending(ledger, control);
    Object.assign(control.session, createSessionKnown());
    ledger.restarted(control.holding);
  }
  return isFirst || isNewBoot;
}

/** What it is judged by. Who cannot be told a limit breaks none; who did not comply has to keep to what this start told it. */
function allowedTenthsAOf({ hb, holding, compliance }: ConnectorControl): number {
  if (hb === undefined) return holding.maxTenthsA;
  return compliance.isNonCompliant ? toldSinceTenthsA(holding) : holding.entitledTenthsA;
}

/** True where what it was told may last longer than its leases since: a decision writes that to disk. */
function hearEnd(
  ledger: GrantLedger,
  control: ConnectorControl,
  { isEndOpen = false }: MeterReading,
): boolean {
  const isNews = isEndOpen && !control.isEndOpen;
  control.isEndOpen = isEndOpen;
  if (isEndOpen) ledger.openEnd(control.holding);
  return isNews;
}

/** A charger that says it took a grant, but is held to more than that and all after it, did not take it. */
function isKeptTo(
  { holding, sentTenthsA }: ConnectorControl,
  seq: number,
  heldToA: number | undefined,
): boolean {
  if (heldToA === undefined || sentTenthsA === undefined) return true;
  const isNewest = seq === holding.lastSeq;
  const toldTenthsA = isNewest
    ? Math.max(sentTenthsA, holding.failsafeTenthsA)
    : toldSinceTenthsA(holding, seq);
  return tenthsAOf(heldToA) <= toldTenthsA;
}

/** What its charger holds by a grant of an owner before this one; undefined where it holds none, or was told anew since. */
function heldFromBefore(
  { holding }: ConnectorControl,
  reading: MeterReading,
  ownerTerm: number,
): number | undefined {
  const { limitA, seq = 0 } = reading;
  const isFromBefore = reading.epoch !== undefined && reading.epoch < ownerTerm;
  const isHeld = seq > 0 && isFromBefore && holding.lastSeq === 0;
  return isHeld && limitA !== undefined ? Math.min(tenthsAOf(limitA), holding.maxTenthsA) : undefined;
}

function limitTenthsAOf({ sentTenthsA, holding }: ConnectorControl, { limitA }: MeterReading): number {
  const toldTenthsA = sentTenthsA ?? holding.maxTenthsA;
  return limitA === undefined ? toldTenthsA : Math.min(tenthsAOf(limitA), holding.maxTenthsA);
}

/** The most loaded phase, by its current or, where that is more, by its share of the power; rounded up. */
function drawnTenthsAOf({ powerW, currentA }: MeterReading, { spec, holding }: ConnectorControl): number {
  const { voltageV, phases, dc } = spec;
  // A DC connector is held to a power: how much of it flows does not depend on the voltage.
  let drawnA = dc == null ? powerW / (voltageV * phases) : (powerW * 100) / holding.milliwattsPerTenth;
  if (currentA !== undefined) for (const phaseA of currentA) drawnA = Math.max(drawnA, phaseA);
  return Math.ceil(drawnA * 10 - 1e-6);
}

/** Of power alone it is not known how many phases the car uses: with one it may be using all of its limit. */
function usedTenthsAOf(
  { powerW, currentA }: MeterReading,
  { voltageV, dc }: ConnectorRating,
  drawnTenthsA: number,
): number {
  return currentA === undefined && dc == null ? Math.ceil((powerW / voltageV) * 10 - 1e-6) : drawnTenthsA;
}

/** Phases with a current that is none of a meter's noise. */
function phasesUsed({ currentA = [] }: MeterReading): number {
  return currentA.filter((phaseA) => phaseA >= LEAST_PHASE_A).length;
}

/**
 * What a current is worth: the highest phase voltage measured within about an hour, in whole volts, and never less than the
 * nominal one. Where the voltage sags, the same power would allow more current; it would be too much power as soon as the
 * voltage recovers, long before the next reading.
 */
function followVoltage(
  ledger: GrantLedger,
  control: ConnectorControl,
  voltageV: readonly number[] | undefined,
  nowMs: number,
): boolean {
  const { holding, spec, phases } = control;
  if (voltageV === undefined || spec.dc != null) return false;
  let highestV = 0;
  for (const phaseV of voltageV) highestV = Math.max(highestV, phaseV);
  // A meter that is broken or lies must not make room for more current.
  if (highestV < spec.voltageV * LEAST_VOLTAGE) return false;
  const wantedV = Math.ceil(Math.max(spec.voltageV, Math.min(highestV, spec.voltageV * MOST_VOLTAGE)));
  const heldV = holding.milliwattsOnPhase / milliwattsPerTenthA(1, 1);
  if (wantedV < heldV && nowMs < control.voltageSeenAtMs + VOLTAGE_LASTS_MS) return false;
  control.voltageSeenAtMs = nowMs;
  if (wantedV === heldV) return false;
  ledger.describe(holding, { milliwattsPerTenth: milliwattsPerTenthA(wantedV, phases) });
  return true;
}
