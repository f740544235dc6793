// Creates a bridge for each charger of a provisioning file.
import { isDeepStrictEqual } from 'node:util';
import { ampereOfDcW, dcOutputOf } from '../../machines/session/dc-output.js';
import type { ProvisioningFile } from '../provisioning/provisioning-schema.js';
import {
  type BridgedConnector,
  type BridgeParts,
  ChargerBridge,
  type ProtocolState,
} from './charger-bridge.js';
import { keyOf } from './gateway-memory.js';

type ProvisionedConnector =
  ProvisioningFile['tenants'][number]['locations'][number]['chargers'][number]['connectors'][number];

/**
 * One bridge for each charger.
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
        const address = { tenantUuid, locationId, controllerUuid };
        const numbered = connectors.map((connector, i) => bridgedConnector(connector, i));
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

function bridgedConnector(
  { connectorId, phases, voltageV, maxCurrentA, failsafeA, dc, output }: ProvisionedConnector,
  i: number,
): BridgedConnector {
  const rated = { connectorId, evse: evseOf(connectorId, i), phases, voltageV, maxCurrentA };
  if (dc === null) return { ...rated, failsafeA, dc: undefined };
  const own = dcOutputOf({ voltageV, dc }, output.maxVoltageV);
  return { ...rated, failsafeA: ampereOfDcW(output.failsafeW, own), dc: own };
}

/** A numeric connectorId is the charger's own number of the connector. Others are numbered in the order of the file. */
function evseOf(connectorId: string, i: number): number {
  return /^[1-9][0-9]{0,2}$/.test(connectorId) ? Number(connectorId) : i + 1;
}
