// Limits that the provisioning file alone sets on a location: their rules, and the sources that follow from them.
import type { PeakShavingRule } from './billed-window.js';
import type { LimitSource } from './limit-in-force.js';
import { physicalConnection } from './own-limits.js';

/** By the field of a location in the provisioning file. */
export interface LimitRules {
  /** The source also counts the import, so the location builds it from its `BilledWindow`. */
  readonly peakShaving?: PeakShavingRule | undefined;
}

/** The part of a location in the provisioning file from which sources follow. */
export interface ProvisionedLimits {
  /** Physical connection; null if none is provisioned. */
  readonly gridLimitKw: number | null;
  /** With a meter of the building, the source of the meter limits the connection. */
  readonly siteMeter: object | null;
  readonly limitRules: LimitRules;
}

/** Sources that need no more than their rule and the time, in the order of `SINGLE_CAUSES`. */
export function provisionedSources({ gridLimitKw, siteMeter }: ProvisionedLimits): readonly LimitSource[] {
  const sources: LimitSource[] = [];
  if (gridLimitKw !== null && siteMeter === null) sources.push(physicalConnection(gridLimitKw));
  return sources;
}
