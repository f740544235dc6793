// What a ledger of grants knows of one connector, as others may read it.
import type { LeaseKind } from './grant.js';

/** What a connector is and falls back to. Currents in tenths of an ampere per phase. */
export interface HoldingSpec {
  readonly maxTenthsA: number;
  /** What the charger does by itself, as far as is known. */
  readonly failsafeTenthsA: number;
  readonly milliwattsPerTenth: number;
  /** The least it can be told other than 0; the 6 A of AC where it is left out. */
  readonly leastTenthsA?: number;
  readonly lease: LeaseKind;
  /** How long it may keep to a grant; as long as any charger of the service where it is left out. */
  readonly ttlMs?: number;
  /** It falls back to what the newest grant it took says, over a restart too; otherwise to `failsafeTenthsA` as well. */
  readonly keepsThen: boolean;
  /** Places of the poles it may load with all of its current; none where they are left out. */
  readonly poles?: readonly number[];
}

/** One connector's place in a ledger: read it, but only the ledger writes it. Currents in tenths of A, powers in W. */
export interface Holding {
  readonly key: string;
  readonly maxTenthsA: number;
  readonly milliwattsPerTenth: number;
  /** The least it can be told other than 0. */
  readonly leastTenthsA: number;
  readonly lease: LeaseKind;
  readonly ttlMs: number;
  readonly keepsThen: boolean;
  readonly poles: readonly number[];
  /** Its maximum is reserved, whatever it was granted: it did not comply, or keeps to no lease. */
  readonly isWorstCase: boolean;
  /** The most it may be entitled to. */
  readonly boundTenthsA: number;
  /** The most that what it was granted entitles it to, worst case left aside: what it must not exceed. */
  readonly entitledTenthsA: number;
  readonly boundW: number;
  /** The most it may load its poles with: `boundTenthsA`, or what it falls back to by itself, which fuses always have room for. */
  readonly loadTenthsA: number;
  /** The largest of what it may fall back to. */
  readonly failsafeTenthsA: number;
  /** Its charger said how it falls back. */
  readonly isDescribed: boolean;
  /** What is reserved because it falls back to that by itself: it keeps nothing over a restart. */
  readonly ownFailsafeTenthsA: number;
  /** What it says it does by itself. */
  readonly saidFailsafeTenthsA: number;
  /** Of the newest grant; 0 before the first. */
  readonly lastSeq: number;
  readonly ackedSeq: number;
}
