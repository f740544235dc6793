// Whether a charger keeps to what it was told, as its own meter shows (power safety, rule 8).

/** Drawing more than it may for this long is no transient. */
const TOLERATED_MS = 7_000;
/** It is trusted again after keeping to its limit for this long. */
const TRUSTED_AFTER_MS = 60_000;
/** Measured currents may exceed what is allowed by half an ampere, and a tenth of the whole. */
const SLACK_TENTHS_A = 5;
const SLACK_SHARE = 1.1;

export interface Compliance {
  isNonCompliant: boolean;
  /** Since when it has been over, or, once it is non-compliant, within what it may draw. */
  sinceMs: number | undefined;
}

export function createCompliance(): Compliance {
  return { isNonCompliant: false, sinceMs: undefined };
}

/**
 * Folds a reading in; true where the judgement changed. `allowedTenthsA` is the most that any grant in force, settling time
 * included, lets it draw, so that a limit that just fell is not held against it.
 */
export function foldCompliance(
  compliance: Compliance,
  drawnTenthsA: number,
  allowedTenthsA: number,
  nowMs: number,
): boolean {
  const isOver = drawnTenthsA > (allowedTenthsA + SLACK_TENTHS_A) * SLACK_SHARE;
  if (isOver === compliance.isNonCompliant) {
    compliance.sinceMs = undefined;
    return false;
  }
  compliance.sinceMs ??= nowMs;
  const lastedMs = nowMs - compliance.sinceMs;
  if (lastedMs < (isOver ? TOLERATED_MS : TRUSTED_AFTER_MS)) return false;
  compliance.isNonCompliant = isOver;
  compliance.sinceMs = undefined;
  return true;
}
