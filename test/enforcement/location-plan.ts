// The locations and chargers of a rig, in the shape of a provisioning file.
import type { PolicyName } from '../../machines/policy/policies.js';
import type { Connection, Feeder } from '../../machines/power/fuses.js';
import type { ConnectorId, ControllerUuid, LocationId } from '../../machines/values/ids.js';
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import { hashSecret } from '../../src/secrets.js';
import { CHARGER_PASSWORD, HARBOUR, tenantWith } from '../service/running-service.js';
import type { ChargerPlan } from './rig-charger.js';

export interface LocationPlan {
  readonly locationId: string;
  readonly permanentLimitKw: number;
  /** Absent if unknown. */
  readonly connection?: Connection;
  readonly feeders?: readonly Feeder[];
  /** Absent if no grid operator may limit the location. */
  readonly operator?: ProvisionedTenant['locations'][number]['operator'];
  /** Absent if no meter reports the building load. */
  readonly siteMeter?: ProvisionedTenant['locations'][number]['siteMeter'];
  readonly policy?: PolicyName;
  /** Named `${locationId}-1`, `${locationId}-2`, … in this order. */
  readonly chargers: readonly ChargerPlan[];
}

export function provisioned(plans: readonly LocationPlan[]): ProvisionedTenant {
  return tenantWith(
    HARBOUR,
    plans.map(
      ({
        locationId,
        permanentLimitKw,
        connection,
        feeders = [],
        operator,
        siteMeter,
        policy,
        chargers,
      }) => ({
        locationId: locationId as LocationId,
        name: locationId,
        status: 'ACTIVE',
        permanentLimitKw,
        gridLimitKw: 10_000,
        ...(connection !== undefined && { connection }),
        feeders,
        operator: operator ?? null,
        siteMeter: siteMeter ?? null,
        ...(policy !== undefined && { policy }),
        chargers: chargers.map((plan, i) => ({
          controllerUuid: `${locationId}-${i + 1}` as ControllerUuid,
          mqttSecretHash: hashSecret(CHARGER_PASSWORD),
          feeder: plan.feeder ?? null,
          connectors: [
            {
              connectorId: '1' as ConnectorId,
              ...({ voltageV: 230, status: 'ACTIVE' } as const),
              phases: plan.phases ?? 3,
              rotation: plan.rotation ?? null,
              dc: plan.dc ?? null,
              maxCurrentA: plan.maxCurrentA ?? 32,
              failsafeA: plan.failsafeA ?? 6,
              neverPause: plan.neverPause ?? false,
              operatorMayPause: plan.operatorMayPause ?? false,
            },
          ],
        })),
      }),
    ),
  );
}
