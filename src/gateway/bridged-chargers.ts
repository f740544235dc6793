// Creates a bridge for each charger of a provisioning file.
import { isDeepStrictEqual } from 'node:util';
import type { ProvisioningFile } from '../provisioning/provisioning-schema.js';
import {
  type BridgedConnector,
  type BridgeParts,
  ChargerBridge,
  type ProtocolState,
} from './charger-bridge.js';
import { keyOf } from './gateway-memory.js';

/**
 * One bridge for each charger that a gateway can control. The log names the others with the reason.
 * @param earlier bridges of an earlier file; an unchanged charger keeps its bridge
 * @throws KeptFileError if the stored data of a new or changed charger cannot be read
 */
export function bridgesOf<State extends ProtocolState>(
  { tenants }: Pick<ProvisioningFile, 'tenants'>,
  parts: BridgeParts<State>,
  earlier: readonly ChargerBridge<State>[] = [],
): readonly ChargerBridge<State>[] {
  const known = new Map(earlier.map((bridge) => [keyOf(bridge.address), bridge]));
  return tenants.flatMap(({ tenantUuid, locations }) =>
    locations.flatMap(({ locationId, chargers }) =>
      chargers.flatMap(({ controllerUuid, timing, connectors }) => {
        if (connectors.some(({ dc }) => dc !== null)) {
          const why = 'the gateway sends A per phase, and a DC connector needs W: let it join by MQTT';
          parts.log.warn({ tenantUuid, locationId, controllerUuid, why }, 'charger left out');
          return [];
        }
        const address = { tenantUuid, locationId, controllerUuid };
        const numbered = connectors.map(
          ({ connectorId, phases, voltageV, maxCurrentA, failsafeA }, i): BridgedConnector => {
            const evse = evseOf(connectorId, i);
            return { connectorId, evse, phases, voltageV, maxCurrentA, failsafeA };
          },
        );
        const heartbeatMs = timing?.heartbeatMs ?? parts.heartbeatMs;
        const before = known.get(keyOf(address));
        const isUnchanged =
          before !== undefined &&
          before.heartbeatMs === heartbeatMs &&
          isDeepStrictEqual([before.address, before.connectors], [address, numbered]);
        return isUnchanged ? before : new ChargerBridge(address, numbered, { ...parts, heartbeatMs });
      }),
    ),
  );
}

/** A numeric connectorId is the charger's own number of the connector. Others are numbered in the order of the file. */
function evseOf(connectorId: string, i: number): number {
  return /^[1-9][0-9]{0,2}$/.test(connectorId) ? Number(connectorId) : i + 1;
}
