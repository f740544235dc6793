// Checks the sites of the database or a provisioning file for ratings that no limit can correct.
import { guaranteedPowerKw } from '../../machines/limits/guaranteed-power.js';
import { type FailsafeShape, failsafeNeedOf } from '../../machines/power/failsafes.js';
import {
  type CircuitPhase,
  type Connection,
  type Feeder,
  Fuses,
  nameOfCircuitPhase,
} from '../../machines/power/fuses.js';
import { wattsOfLimit } from '../../machines/values/units.js';
import type { SeenLocation } from '../../src/outbound/knex/inspection.js';
import { chargersUnfitForOcpp } from '../../src/provisioning/ocpp-passwords.js';
import type { ProvisioningFile } from '../../src/provisioning/provisioning-schema.js';
import { type Finding, ok, warn } from './finding.js';

/** An active location with its active connectors. */
export interface Site {
  readonly tenantUuid: string;
  readonly locationId: string;
  /** Each with the name of its source; kW. */
  readonly limitsKw: readonly (readonly [string, number])[];
  readonly connection: Connection | null;
  readonly feeders: readonly Feeder[];
  readonly connectors: readonly SiteConnector[];
}

interface SiteConnector extends FailsafeShape {
  readonly controllerUuid: string;
  readonly connectorId: string;
}

const TOLD_AT_MOST = 10;
const WAY_OUT =
  'lower failsafeA (0 pauses a charger that loses the service) or raise the limit: until then some connectors pause that could go on';
const FEEDER_WAY_OUT =
  'correct maxCurrentA or the feeder: the connector never gets more than its fuse carries';

/** @param where source of the sites, for messages. */
export function checkSites(sites: readonly Site[], where: string): readonly Finding[] {
  const found = sites.flatMap(findingsOf);
  if (found.length === 0)
    return [ok(`the fail-safes and ratings of all ${sites.length} active sites ${where} fit`)];
  const others = found.length - TOLD_AT_MOST;
  if (others <= 0) return found;
  return [
    ...found.slice(0, TOLD_AT_MOST),
    warn(`${others} more of this kind ${where}`, 'correct the ones above first'),
  ];
}

function findingsOf({ tenantUuid, locationId, limitsKw, connection, feeders, connectors }: Site) {
  const fuses = new Fuses(connection, feeders);
  const { neededW, overloaded } = failsafeNeedOf(connectors, fuses);
  const place = `${locationId} of ${tenantUuid}: its fail-safes`;
  const [lowest] = [...limitsKw].sort(([, a], [, b]) => a - b);
  const found: Finding[] = [];
  if (lowest !== undefined && neededW > wattsOfLimit(lowest[1]))
    found.push(warn(`${place} need ${neededW / 1000} kW, and ${lowest[0]} is ${lowest[1]} kW`, WAY_OUT));
  for (const { circuitPhase, neededTenthsA } of overloaded) {
    const carries = `${nameOfCircuitPhase(circuitPhase)} carries ${circuitPhase.capacityTenthsA / 10} A`;
    found.push(warn(`${place} need ${neededTenthsA / 10} A, and ${carries}`, WAY_OUT));
  }
  for (const connector of connectors) {
    const narrow = narrowestOf(connector, fuses);
    if (narrow === undefined) continue;
    const { controllerUuid, connectorId, maxCurrentA } = connector;
    const carries = `${nameOfCircuitPhase(narrow)} carries ${narrow.capacityTenthsA / 10} A`;
    const rating = `connector ${controllerUuid}/${connectorId} takes up to ${maxCurrentA} A`;
    found.push(warn(`${locationId} of ${tenantUuid}: ${rating}, and ${carries}`, FEEDER_WAY_OUT));
  }
  return found;
}

/** The smallest fuse above a connector with a capacity below the rating of the connector. */
function narrowestOf(connector: SiteConnector, fuses: Fuses): CircuitPhase | undefined {
  const [narrowest] = fuses
    .circuitPhasesOf(connector)
    .flatMap((place) => fuses.circuitPhases[place] ?? [])
    .sort((a, b) => a.capacityTenthsA - b.capacityTenthsA);
  return narrowest !== undefined && narrowest.capacityTenthsA < 10 * connector.maxCurrentA
    ? narrowest
    : undefined;
}

export function sitesOfDatabase(seen: readonly SeenLocation[]): readonly Site[] {
  return seen
    .filter(({ location }) => location.status === 'ACTIVE')
    .map(({ tenantUuid, location }) => {
      const { locationId, permanentLimitKw, gridLimitKw, operator, connection, feeders } = location;
      const connectors = location.connectors.filter(({ status }) => status === 'ACTIVE');
      const limitsKw = limitsOf(permanentLimitKw, gridLimitKw, operator?.failsafeKw);
      return { tenantUuid, locationId, limitsKw, connection, feeders, connectors };
    });
}

export function sitesOfFile({ tenants }: ProvisioningFile): readonly Site[] {
  return tenants.flatMap(({ tenantUuid, locations }) =>
    locations
      .filter(({ status }) => status === 'ACTIVE')
      .map(({ locationId, permanentLimitKw, gridLimitKw, operator, connection, feeders, chargers }) => {
        const connectors = chargers.flatMap(({ controllerUuid, feeder = null, connectors: all }) =>
          all.map(({ rotation = null, ...connector }) => ({
            ...connector,
            controllerUuid,
            feeder,
            rotation,
          })),
        );
        const keptKw = operator && (operator.failsafeKw ?? guaranteedPowerKw(connectors.length));
        return {
          tenantUuid,
          locationId,
          limitsKw: limitsOf(permanentLimitKw, gridLimitKw, keptKw),
          connection: connection ?? null,
          feeders: feeders.map(({ parent, ...each }) => ({ ...each, parent: parent ?? null })),
          connectors: connectors.filter(({ status }) => status === 'ACTIVE'),
        };
      }),
  );
}

function limitsOf(
  permanentLimitKw: number,
  gridLimitKw: number | null | undefined,
  operatorFailsafeKw: number | undefined,
): Site['limitsKw'] {
  return [
    ['permanentLimitKw', permanentLimitKw],
    ...(gridLimitKw == null ? [] : ([['gridLimitKw', gridLimitKw]] as const)),
    ...(operatorFailsafeKw === undefined ? [] : ([['operator.failsafeKw', operatorFailsafeKw]] as const)),
  ];
}

const NAMED_AT_MOST = 10;

/** Findings about passwords of a provisioning file that OCPP chargers may refuse. */
export function checkOcppPasswords({ tenants }: ProvisioningFile): readonly Finding[] {
  const chargers = tenants.flatMap(({ locations }) => locations.flatMap((location) => location.chargers));
  const unfit = chargersUnfitForOcpp(chargers);
  if (unfit.length === 0) return [];
  const named = unfit.slice(0, NAMED_AT_MOST).map(({ controllerUuid }) => controllerUuid);
  const others = unfit.length > named.length ? `, … (${unfit.length})` : '';
  return [
    warn(
      `mqttPassword of ${named.join(', ')}${others} does not have the 16 to 40 characters of an OCPP password`,
      'choose others for chargers that speak OCPP: some refuse these',
    ),
  ];
}
