// Creates a bridge for each charger of a provisioning file, and the dialect of its OCPP version.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { ProvisioningFile } from '../provisioning/provisioning-schema.js';
import { type BridgedConnector, type BridgeParts, ChargerBridge } from './charger-bridge.js';
import type { Protocol } from './charger-door.js';
import { performRequest, type RequestWords } from './charger-requests.js';
import type { Dialect, Guard } from './dialect.js';
import { keyOf } from './gateway-memory.js';
import { type IdTagRule, idTagsOf } from './id-tags.js';
import type { GuardParts } from './kept-profile.js';
import { OCPP16_REQUESTS, Ocpp16Events, Ocpp16Guard } from './ocpp16-dialect.js';
import { Ocpp201Events, Ocpp201Guard, ocpp201Requests } from './ocpp201-dialect.js';

/**
 * One bridge for each charger that OCPP can control. The log names the others with the reason.
 * @param earlier bridges of an earlier file; an unchanged charger keeps its bridge
 * @throws KeptFileError if the stored data of a new or changed charger cannot be read
 */
export function bridgesOf(
  { tenants }: Pick<ProvisioningFile, 'tenants'>,
  parts: BridgeParts,
  earlier: readonly ChargerBridge[] = [],
): readonly ChargerBridge[] {
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

/** The dialect of a charger in `protocol`, for one connection. */
export function speaking(
  protocol: Protocol,
  bridge: ChargerBridge,
  { clock, log, idTags }: { readonly clock: Clock; readonly log: Log; readonly idTags: IdTagRule },
): Dialect {
  const askIdTag = idTagsOf(idTags, bridge.address, log);
  const { session, heartbeatMs, csmsProfiles: profiles, transactionIds, evseUses: uses } = bridge;
  const { transactionPlaces: places } = bridge;
  const parts = { session, clock, log, askIdTag, changed: () => bridge.wake() };
  const guardParts: GuardParts = {
    profiles,
    heartbeatMs,
    transactionAt: (evse) => session.leaseAt(evse)?.transaction,
    nowMs: () => clock.nowMs(),
    changed: () => bridge.review(),
  };
  if (protocol === 'ocpp1.6') {
    // OCPP 1.6 does not update the EVSE uses: they would be out of date.
    uses.forget();
    return dialectOf(
      new Ocpp16Events({ ...parts, transactionIds }),
      new Ocpp16Guard(guardParts),
      OCPP16_REQUESTS,
    );
  }
  const evses = bridge.connectors.map(({ evse }) => evse);
  const requests = ocpp201Requests({ offlineDuration: protocol === 'ocpp2.1' });
  return dialectOf(
    new Ocpp201Events({ ...parts, evses, uses, places }),
    new Ocpp201Guard(guardParts),
    requests,
  );
}

function dialectOf(
  events: Pick<Dialect, 'received' | 'answer' | 'answered'>,
  guard: Guard,
  requests: RequestWords,
): Dialect {
  return {
    perform: (request, call) => performRequest(requests, request, call),
    guard,
    received: (method, params) => events.received(method, params),
    answer: (method, params) => events.answer(method, params),
    answered: (method, params, answer) => events.answered(method, params, answer),
  };
}
