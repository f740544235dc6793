// A charger with OCPP in a gateway: the data that outlast its connections and a restart, and its dialect.
import { join } from 'node:path';
import { z } from 'zod';
import type { TransactionRef } from '../../../machines/session/gateway-request.js';
import type { ChargerAddress } from '../../../machines/values/ids.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { ChargerBridge, LimitedConnector, ProtocolState } from '../charger-bridge.js';
import { KeptFile, KeptFolder } from '../gateway-memory.js';
import { Ocpp201Events, Ocpp201Guard, ocpp201Requests } from '../ocpp2/dialect.js';
import { EvseUses, type TransactionPlace, TransactionPlaces } from '../ocpp2/evse-memory.js';
import { OCPP16_REQUESTS, Ocpp16Events, Ocpp16Guard } from '../ocpp16/dialect.js';
import { TransactionIds } from '../ocpp16/transaction-ids.js';
import { ChargerRequests } from './charger-requests.js';
import type { GuardParts } from './csms-guard.js';
import { type BegunTransaction, type CsmsProfile, CsmsProfiles, type KeptProfiles } from './csms-profiles.js';
import { type IdTagRule, idTagsOf } from './id-tags.js';
import type { Call, OcppDialect, Protocol } from './ocpp-dialect.js';

const transactionRef = z.union([z.number(), z.string()]);
const begunSchema: z.ZodType<BegunTransaction> = z.object({
  evse: z.number(),
  transaction: transactionRef,
  atMs: z.number(),
});
const profileSchema: z.ZodType<CsmsProfile> = z.object({
  id: z.number(),
  evse: z.number(),
  stackLevel: z.number(),
  purpose: z.enum(['default', 'transaction']),
  transaction: transactionRef.optional(),
  waitsUntilMs: z.number().optional(),
  kind: z.enum(['absolute', 'daily', 'weekly', 'relative']),
  startsAtMs: z.number(),
  validFromMs: z.number().optional(),
  validToMs: z.number().optional(),
  durationS: z.number().optional(),
  unit: z.enum(['A', 'W']),
  periods: z.array(z.object({ startS: z.number(), limit: z.number(), phases: z.number().optional() })),
});
const keptProfilesSchema: z.ZodType<KeptProfiles> = z.object({
  profiles: z.array(profileSchema),
  transactions: z.array(begunSchema),
});

const placeSchema: z.ZodType<TransactionPlace> = z.object({
  transaction: z.string(),
  evse: z.number().int(),
});

export interface OcppMemory {
  /**
   * No charger holds these: the gateway is the only place. They are large,
   * and a CSMS sets them for many chargers at once.
   */
  readonly csmsProfiles: KeptFolder<KeptProfiles>;
  /** The last id that each charger was given, in OCPP 1.6. */
  readonly transactionIds: KeptFile<number>;
  /**
   * The EVSE of each running transaction, in OCPP 2.0.1 and 2.1. A lost file costs leases until those transactions end.
   */
  readonly transactionPlaces: KeptFile<readonly TransactionPlace[]>;
}

/**
 * @param folder undefined: the values last as long as this process
 * @param log receives failed writes
 * @throws KeptFileError
 */
export function openOcppMemory(folder: string | undefined, log?: Log): OcppMemory {
  const pathOf = (name: string) => (folder === undefined ? undefined : join(folder, name));
  return {
    csmsProfiles: new KeptFolder(pathOf('ocpp-csms-profiles'), keptProfilesSchema, log),
    transactionIds: new KeptFile(pathOf('ocpp-transaction-ids.json'), z.number().int(), log),
    transactionPlaces: new KeptFile<readonly TransactionPlace[]>(
      pathOf('ocpp-transaction-evses.json'),
      z.array(placeSchema),
      log,
      'startEmpty',
    ),
  };
}

/** Data of one charger. */
export class OcppState implements ProtocolState {
  readonly csmsProfiles: CsmsProfiles;
  readonly transactionIds: TransactionIds;
  readonly transactionPlaces: TransactionPlaces;
  readonly evseUses = new EvseUses();
  /** As the charger reported last. */
  maxStackLevel = 1;
  readonly #address: ChargerAddress;
  readonly #memory: OcppMemory;
  #isRetired = false;

  /** @throws KeptFileError */
  constructor(address: ChargerAddress, memory: OcppMemory) {
    this.#address = address;
    this.#memory = memory;
    const { csmsProfiles, transactionIds, transactionPlaces } = memory;
    this.csmsProfiles = new CsmsProfiles(csmsProfiles.get(address));
    this.transactionIds = new TransactionIds(transactionIds.get(address), (id) =>
      this.#tryToKeep(transactionIds, id),
    );
    this.transactionPlaces = new TransactionPlaces(transactionPlaces.get(address), (places) =>
      this.#tryToKeep(transactionPlaces, places),
    );
  }

  lowestA(connector: LimitedConnector, fromMs: number, untilMs: number): number {
    return this.csmsProfiles.lowestA(connector, fromMs, untilMs);
  }

  began(evse: number, transaction: TransactionRef, nowMs: number): void {
    this.csmsProfiles.began(evse, transaction, nowMs);
  }

  keep(): void {
    this.#memory.csmsProfiles.set(this.#address, this.csmsProfiles.kept);
  }

  retire(): void {
    this.#isRetired = true;
  }

  /**
   * A car may charge although the disk takes no write, and leases go on: the places are needed only after a restart. The
   * file logs the reason.
   */
  #tryToKeep<T>(file: KeptFile<T>, value: T | undefined): void {
    if (this.#isRetired) return;
    try {
      file.set(this.#address, value);
    } catch {}
  }
}

export type OcppBridge = ChargerBridge<OcppState>;

/** The dialect of a charger in `protocol`, for one connection, on which `call` reaches the charger. */
export function speaking(
  protocol: Protocol,
  bridge: OcppBridge,
  call: Call,
  { clock, log, idTags }: { readonly clock: Clock; readonly log: Log; readonly idTags: IdTagRule },
): OcppDialect {
  const askIdTag = idTagsOf(idTags, bridge.address, log);
  const { session, heartbeatMs, protocolState: state } = bridge;
  const { csmsProfiles: profiles, transactionIds, evseUses: uses, transactionPlaces: places } = state;
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
    return {
      requests: new ChargerRequests(OCPP16_REQUESTS, call, state),
      events: new Ocpp16Events({ ...parts, transactionIds }),
      guard: new Ocpp16Guard(guardParts),
    };
  }
  const evses = bridge.connectors.map(({ evse }) => evse);
  return {
    requests: new ChargerRequests(ocpp201Requests({ offlineDuration: protocol === 'ocpp2.1' }), call, state),
    events: new Ocpp201Events({ ...parts, evses, uses, places }),
    guard: new Ocpp201Guard(guardParts),
  };
}
