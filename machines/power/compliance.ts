// Compares a charger's metered current with its entitlement (power-safety.md, rule 8).

/** A shorter excess counts as a transient. */
const TOLERATED_MS = 7_000;
/** A non-compliant charger must keep its limit this long before its grants count again. */
const TRUSTED_AFTER_MS = 60_000;
/** Tolerance of a measured current: half an ampere and a tenth of the whole. */
const SLACK_TENTHS_A = 5;
const SLACK_SHARE = 1.1;

export interface Compliance {
  isNonCompliant: boolean;
  /** Start of the current excess; for a non-compliant connector, start of the current period within its limit. */
  sinceMs: number | undefined;
}

export function createCompliance(isNonCompliant = false): Compliance {
  return { isNonCompliant, sinceMs: undefined };
}

/**
 * Evaluates a reading; true if the verdict changes. `allowedTenthsA` is the largest grant in force, settling time
 * included. So a limit that has just fallen does not count against the charger.
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
