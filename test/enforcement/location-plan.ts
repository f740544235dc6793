// The locations and chargers of a rig, as a provisioning file would have them.
import type { Connection } from '../../machines/power/fuses.js';
import type { ConnectorId, ControllerUuid, LocationId } from '../../machines/values/ids.js';
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import { hashSecret } from '../../src/secrets.js';
import { CHARGER_PASSWORD, HARBOUR, tenantWith } from '../service/running-service.js';
import type { ChargerPlan } from './rig-charger.js';

export interface LocationPlan {
  readonly locationId: string;
  readonly permanentLimitKw: number;
  /** Left out where none is known. */
  readonly connection?: Connection;
  /** `${locationId}-1`, `${locationId}-2`, … in this order. */
  readonly chargers: readonly ChargerPlan[];
}

export function provisioned(plans: readonly LocationPlan[]): ProvisionedTenant {
  return tenantWith(
    HARBOUR,
    plans.map(({ locationId, permanentLimitKw, connection, chargers }) => ({
      locationId: locationId as LocationId,
      name: locationId,
      status: 'ACTIVE',
      permanentLimitKw,
      gridLimitKw: 10_000,
      ...(connection !== undefined && { connection }),
      operator: null,
      chargers: chargers.map(({ maxCurrentA = 32, failsafeA = 6, dc = null }, i) => ({
        controllerUuid: `${locationId}-${i + 1}` as ControllerUuid,
        mqttSecretHash: hashSecret(CHARGER_PASSWORD),
        connectors: [
          {
            connectorId: '1' as ConnectorId,
            ...({ phases: 3, voltageV: 230, status: 'ACTIVE' } as const),
            maxCurrentA,
            failsafeA,
            dc,
          },
        ],
      })),
    })),
  );
}
