// Checks the import of a site with a building: no more than its connection, except for load that could not be known
// yet (P17).
import type { EpochMs } from '../../machines/values/time.js';
import type { Building } from '../scenario/scenario.js';
import type { Report } from '../world/power-watch.js';

/** From `atMs` on, a service that follows its rules allows the chargers no more than this. */
interface Known {
  readonly atMs: EpochMs;
  readonly chargersW: number;
}

interface Site {
  readonly building: Building;
  buildingW: number;
  /** By received readings, oldest first; of the settled ones only the last is kept. */
  known: Known[];
  receivedAtMs: EpochMs;
  /** First and last instant at which its meter showed an impossible value. */
  impossibleSinceMs: EpochMs | undefined;
  impossibleAtMs: EpochMs;
  /** Last instant at which its meter showed a false value. */
  untrueAtMs: EpochMs;
  /** Until then a charger may draw by a lease that cannot be withdrawn. */
  unreachableUntilMs: EpochMs;
  lookedAtMs: EpochMs;
  isOver: boolean;
  excusedWms: number;
  brokenWms: number;
}

/** Import of a site above its connection, integrated over time, kW s. */
export interface ImportOver {
  readonly locationId: string;
  /** Caused by a rise of the building before chargers could follow, or by false readings of its meter. */
  readonly excusedKws: number;
  readonly brokenKws: number;
}

/**
 * Reachable chargers follow a lower limit within this time (R10). The service receives a reading or an order at once.
 */
export const FOLLOWED_MS = 15_000;
const SHORTEST_SILENCE_MS = 30_000;
const MISSED = 3;
/** A building without solar panels draws at least 0, so a reading clearly below the chargers' draw is wrong. */
const IMPOSSIBLE_SHARE = 0.5;
const IMPOSSIBLE_W = 2_000;
/**
 * A wrong meter is detected within `FOUND_MS`. It stays untrusted until `RIGHT_AGAIN_MS` after its last wrong
 * reading.
 */
const FOUND_MS = 180_000;
const RIGHT_AGAIN_MS = 60_000;
/** Longest delay until an alarm is written: the disk may have been full. */
const WRITTEN_MS = 600_000;
/** A reading is right if it differs by less from the true value. */
const TRUE_W = 100;
/** The reserve is rounded, and so is the counted load of the building. */
const TOLERANCE_W = 150;

export class ImportWatch {
  readonly #sites = new Map<string, Site>();
  readonly #drawnW: (locationId: string) => number;
  readonly #nowMs: () => EpochMs;
  readonly #horizonMs: number;
  readonly #report: Report;

  constructor(options: {
    readonly buildings: readonly Building[];
    /** Draw of a location's chargers. */
    readonly drawnW: (locationId: string) => number;
    readonly nowMs: () => EpochMs;
    /** Longest time that a lease may last. */
    readonly horizonMs: number;
    readonly report: Report;
  }) {
    this.#drawnW = options.drawnW;
    this.#nowMs = options.nowMs;
    this.#horizonMs = options.horizonMs;
    this.#report = options.report;
    const now = options.nowMs();
    for (const building of options.buildings)
      this.#sites.set(building.locationId, {
        building,
        buildingW: 0,
        known: [],
        receivedAtMs: now,
        impossibleSinceMs: undefined,
        impossibleAtMs: Number.NEGATIVE_INFINITY,
        untrueAtMs: Number.NEGATIVE_INFINITY,
        unreachableUntilMs: now,
        lookedAtMs: now,
        isOver: false,
        excusedWms: 0,
        brokenWms: 0,
      });
  }

  /** A fault affects chargers or the service now: leases may end unseen. */
  disturbed(): void {
    for (const site of this.#sites.values())
      site.unreachableUntilMs = this.#nowMs() + this.#horizonMs + FOLLOWED_MS;
  }

  /** The building draws `buildingW` from now on. */
  drawn(locationId: string, buildingW: number): void {
    const site = this.#sites.get(locationId);
    if (site === undefined) return;
    this.#look(site);
    site.buildingW = buildingW;
  }

  /** The service receives a reading, true or false, and may act on it. */
  read(locationId: string, powerW: number): void {
    const site = this.#sites.get(locationId);
    if (site === undefined) return;
    const { building, buildingW } = site;
    const now = this.#nowMs();
    const drawnW = this.#drawnW(locationId);
    const saidW = powerW - drawnW;
    const countedW = building.pvRaisesHeadroom ? saidW : Math.max(0, saidW);
    const isUndeclared = buildingW < 0 && !building.pvRaisesHeadroom;
    if (isUndeclared || Math.abs(saidW - buildingW) > TRUE_W) site.untrueAtMs = now;
    if (!building.pvRaisesHeadroom && powerW < drawnW * IMPOSSIBLE_SHARE - IMPOSSIBLE_W) {
      site.impossibleSinceMs ??= now;
      site.impossibleAtMs = now;
    } else if (now - site.impossibleAtMs >= RIGHT_AGAIN_MS) site.impossibleSinceMs = undefined;
    const isFoundOut = now - (site.impossibleSinceMs ?? now) >= FOUND_MS;
    this.#learn(site, isFoundOut ? leastLeftW(building) : this.#leftW(building, countedW));
    site.receivedAtMs = now;
  }

  /** The service began to doubt the meter. */
  doubted(locationId: string): void {
    const site = this.#sites.get(locationId);
    if (site === undefined || this.#nowMs() - site.untrueAtMs < WRITTEN_MS) return;
    const detail = 'the service doubts its meter, which has shown what flows';
    this.#report({ invariant: 'P17', target: locationId, detail });
  }

  /** Load of a location's building, W. */
  buildingW(locationId: string): number {
    return this.#sites.get(locationId)?.buildingW ?? 0;
  }

  get over(): readonly ImportOver[] {
    return [...this.#sites].map(([locationId, { excusedWms, brokenWms }]) => ({
      locationId,
      excusedKws: Math.round(excusedWms / 1e5) / 10,
      brokenKws: Math.round(brokenWms / 1e5) / 10,
    }));
  }

  #leftW({ connectionKw, maxBuildingKw, leastReserveKw }: Building, countedW: number): number {
    const takenW = Math.min(countedW + 1000 * leastReserveKw, Math.max(1000 * maxBuildingKw, countedW));
    return 1000 * connectionKw - takenW;
  }

  #learn(site: Site, chargersW: number): void {
    const now = this.#nowMs();
    const settledMs = now - this.#followedMs(site, now);
    const last = site.known.findLastIndex(({ atMs }) => atMs <= settledMs);
    if (last > 0) site.known.splice(0, last);
    site.known.push({ atMs: now, chargersW });
  }

  #followedMs({ unreachableUntilMs }: Site, now: EpochMs): number {
    return now < unreachableUntilMs ? this.#horizonMs + FOLLOWED_MS : FOLLOWED_MS;
  }

  /**
   * Highest draw that any reading allows, of the readings that the service may have used for limits still in force.
   */
  #allowedW(site: Site, now: EpochMs): number {
    const { building, known, receivedAtMs } = site;
    const followedMs = this.#followedMs(site, now);
    const silentMs = Math.max(MISSED * building.meterEveryMs, SHORTEST_SILENCE_MS);
    const leastW = leastLeftW(building);
    if (now - receivedAtMs >= silentMs + followedMs) return leastW;
    let mostW = leastW;
    for (const { chargersW } of known) mostW = Math.max(mostW, chargersW);
    return mostW;
  }

  /** Includes the time since the last look, in which nothing changed. */
  #look(site: Site): void {
    const now = this.#nowMs();
    const elapsedMs = now - site.lookedAtMs;
    site.lookedAtMs = now;
    const { building } = site;
    const drawnW = this.#drawnW(building.locationId);
    const importW = site.buildingW + drawnW;
    const overW = importW - 1000 * building.connectionKw - TOLERANCE_W;
    const allowedW = this.#allowedW(site, now);
    const isBroken = overW > 0 && drawnW > allowedW + TOLERANCE_W;
    if (overW > 0 && isBroken) site.brokenWms += overW * elapsedMs;
    else if (overW > 0) site.excusedWms += overW * elapsedMs;
    if (isBroken && !site.isOver) {
      const detail = `${importW} W imported of ${building.connectionKw} kW: the chargers draw ${Math.round(drawnW)} W, ${Math.round(allowedW)} W were left for them`;
      this.#report({ invariant: 'P17', target: building.locationId, detail });
    }
    site.isOver = isBroken;
  }
}

/** Remaining capacity for the chargers while the building counts with its maximum. */
function leastLeftW({ connectionKw, maxBuildingKw }: Building): number {
  return Math.max(0, 1000 * (connectionKw - maxBuildingKw));
}
