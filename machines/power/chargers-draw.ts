// Reported draw of a location's chargers, and the site import that results from it.

import type { Ledger } from '../ledger/ledger.js';
import type { SiteImport } from '../limits/billed-window.js';
import type { BuildingLoad, ChargersNow } from '../limits/building-load.js';
import type { ChargersDraw } from '../limits/load-estimate.js';
import type { SiteMeterReport } from '../limits/site-meter.machine.js';
import type { Instant } from './budget.js';
import type { Connector } from './connector.js';
import { GRID_PHASES, phasesOf } from './fuses.js';
import type { MeterLedger } from './meter-ledger.js';

const LETTERS = 'RST';

/** Chargers of a location with their readings and entitlements. */
interface MeteredChargers {
  readonly connectors: ReadonlyMap<string, Connector>;
  readonly meters: MeterLedger;
  readonly ledger: Ledger;
}

/**
 * Only fresh readings count as measured, because the draw of a silent charger is unknown. On a phase, a charger counts
 * with its certain draw there. That draw is 0 if the charger reports no amperes, or if it has one phase with unknown
 * rotation.
 */
export function chargersNowOf(
  { connectors, meters, ledger }: MeteredChargers,
  { now, nowMs }: Instant,
): ChargersNow {
  const measuredA = [0, 0, 0];
  let witnessedW = 0;
  for (const connector of connectors.values()) {
    if (!connector.telemetry.slot.isFresh) continue;
    addCurrents(measuredA, connector);
    witnessedW += witnessedWOf(connector);
  }
  const onPhase = (phase: number): ChargersDraw => {
    const measured = measuredA[phase] ?? 0;
    return { measured, most: Math.max(measured, (ledger.loadsTenthsA[phase] ?? 0) / 10) };
  };
  const measured = meters.measuredW;
  return {
    watts: { measured, most: Math.max(measured, ledger.totalW) },
    amperes: [onPhase(0), onPhase(1), onPhase(2)],
    witnessedW,
    reportedSinceMs: now - (nowMs - (meters.oldestReadingAtMs() ?? nowMs)),
  };
}

/**
 * Site import by the site meter, or by the chargers' reports if there is no meter. A silent charger counts with its
 * full entitlement. A building with an unreliable meter counts with its maximum.
 */
export function siteImportOf(
  chargers: MeteredChargers,
  load: BuildingLoad | undefined,
  building: SiteMeterReport | undefined,
  instant: Instant,
): SiteImport {
  const { watts, reportedSinceMs } = chargersNowOf(chargers, instant);
  let chargersW = watts.measured;
  for (const { telemetry, account } of chargers.connectors.values())
    if (!telemetry.slot.isFresh) chargersW += account.boundW;
  const mostW = Math.max(chargersW, watts.most);
  if (load === undefined || building === undefined) return { measuredW: chargersW, reportedSinceMs, mostW };
  const besideW = building.buildingW + building.reserveW;
  const { reading, receivedAtMs } = load;
  const isTrusted = building.state === 'fresh' || building.state === 'fading';
  if (!isTrusted || reading === undefined || receivedAtMs === undefined)
    return { measuredW: besideW + chargersW, reportedSinceMs, mostW: besideW + mostW };
  if (load.rule.covers === 'connection')
    return {
      measuredW: reading.powerW,
      reportedSinceMs: receivedAtMs,
      mostW: Math.max(reading.powerW, besideW + mostW),
    };
  return {
    measuredW: reading.powerW + chargersW,
    reportedSinceMs: Math.min(reportedSinceMs, receivedAtMs),
    mostW: Math.max(reading.powerW, besideW) + mostW,
  };
}

/** A charger that reports more than its limit may report too much. Its report is no evidence against the site meter. */
function witnessedWOf({ telemetry, account, car }: Connector): number {
  return car.compliance.isNonCompliant ? 0 : Math.min(telemetry.slot.powerW, account.boundW);
}

function addCurrents(sumsA: number[], { telemetry, provisioned: { spec } }: Connector): void {
  const { currentA } = telemetry.slot;
  if (currentA === undefined) return;
  const { phases, rotation } = spec;
  if (phases === 1) {
    const [phase, other] = phasesOf(spec);
    if (phase !== undefined && other === undefined) addTo(sumsA, phase, Math.max(...currentA));
    return;
  }
  const leastA = Math.min(...currentA);
  for (const nth of GRID_PHASES.keys()) {
    const letter = rotation?.charAt(nth);
    if (letter === undefined) addTo(sumsA, nth, leastA);
    else addTo(sumsA, LETTERS.indexOf(letter), currentA[nth] ?? 0);
  }
}

function addTo(sumsA: number[], phase: number, currentA: number): void {
  sumsA[phase] = (sumsA[phase] ?? 0) + Math.max(0, currentA);
}
