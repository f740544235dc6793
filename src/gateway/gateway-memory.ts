// The files of a gateway: which chargers were seen to keep leases, their fail-safes, the profiles that a management system set, the
// transaction ids that they were given, and the EVSEs of their transactions.
import { join } from 'node:path';
import { z } from 'zod';
import type { Fallbacks } from '../../machines/session/failsafe-profile.js';
import type {
  BegunTransaction,
  ForeignProfile,
  KeptProfiles,
} from '../../machines/session/foreign-profiles.js';
import type { Proofs } from '../../machines/session/lease-trust.js';
import type { Log } from '../ports/log.js';
import { KeptFile, KeptFolder } from './kept-file.js';
import type { TransactionPlace } from './transaction-places.js';

const transactionRef = z.union([z.number(), z.string()]);
const begunSchema: z.ZodType<BegunTransaction> = z.object({
  evse: z.number(),
  transaction: transactionRef,
  atMs: z.number(),
});
const profileSchema: z.ZodType<ForeignProfile> = z.object({
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

/** Once one firmware stood for all connectors of a charger, whichever of them had shown something. */
type KeptProofs = Proofs | string;

export interface GatewayMemory {
  /** What the connectors of each charger start with, by connectorId, A per phase: its fail-safe profiles say so. */
  readonly fallbacksA: KeptFile<Fallbacks>;
  /** Which connectors were seen to keep leases: some show limits only while they charge. */
  readonly provenFirmware: KeptFile<KeptProofs>;
  /** Nobody else keeps these: the charger was never told of them. They are large, and set for many chargers at once. */
  readonly csmsProfiles: KeptFolder<KeptProfiles>;
  /** The last that each charger was given, in OCPP 1.6. */
  readonly transactionIds: KeptFile<number>;
  /** The EVSE of each running transaction, in OCPP 2.0.1 and 2.1. A lost file costs leases until those transactions end. */
  readonly transactionPlaces: KeptFile<readonly TransactionPlace[]>;
}

/**
 * @param folder undefined: only as long as this process lives
 * @param log told where the disk takes nothing
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

/** Of those connectors. Where one firmware stands for several it is known that the charger goes on, and not which it was of. */
export function proofsOf(
  kept: KeptProofs | undefined,
  connectors: readonly { readonly connectorId: string }[],
): Proofs | undefined {
  if (typeof kept !== 'string') return kept;
  const [only, ...others] = connectors;
  return only === undefined || others.length > 0 ? {} : { [only.connectorId]: kept };
}
