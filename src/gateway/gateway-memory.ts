// The files of a gateway: proven leases, fail-safes, CSMS profiles, transaction ids and the EVSEs of transactions.
import { join } from 'node:path';
import { z } from 'zod';
import type { BegunTransaction, CsmsProfile, KeptProfiles } from '../../machines/session/csms-profiles.js';
import type { Fallbacks } from '../../machines/session/failsafe-profile.js';
import type { Proofs } from '../../machines/session/lease-verification.js';
import type { Log } from '../ports/log.js';
import { KeptFile, KeptFolder } from './kept-file.js';
import type { TransactionPlace } from './transaction-places.js';

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

/** Older files hold one firmware for all connectors of a charger, whichever of them had a proven lease. */
type KeptProofs = Proofs | string;

export interface GatewayMemory {
  /** Limit at the start of each connector by its fail-safe profile, by connectorId, A per phase. */
  readonly fallbacksA: KeptFile<Fallbacks>;
  /** Connectors with a lease that was proven before. Some chargers show limits only while they charge. */
  readonly provenFirmware: KeptFile<KeptProofs>;
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
export function openGatewayMemory(folder: string | undefined, log?: Log): GatewayMemory {
  const pathOf = (name: string) => (folder === undefined ? undefined : join(folder, name));
  return {
    fallbacksA: new KeptFile(pathOf('ocpp-fail-safes.json'), z.record(z.string(), z.number()), log),
    provenFirmware: new KeptFile<KeptProofs>(
      pathOf('ocpp-proven-chargers.json'),
      z.union([z.string(), z.record(z.string(), z.string())]),
      log,
    ),
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

/**
 * Proofs by connector. One firmware for several connectors shows that the charger is
 * known, but not which connector had proven its lease.
 */
export function proofsOf(
  kept: KeptProofs | undefined,
  connectors: readonly { readonly connectorId: string }[],
): Proofs | undefined {
  if (typeof kept !== 'string') return kept;
  const [only, ...others] = connectors;
  return only === undefined || others.length > 0 ? {} : { [only.connectorId]: kept };
}
