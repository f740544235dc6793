// Checks the import of a site with a building (P17), and the average import that a tariff bills (P20): no more than
// allowed, except for load that could not be known yet.
import type { EpochMs } from '../../machines/values/time.js';
import type { Building } from '../scenario/scenario.js';
import type { CheckedWorld } from './checked-world.js';

/**
 * Reachable chargers follow a lower limit within this time (R10). The service receives a reading or an order at once.
 */
export const FOLLOWED_MS = 15_000;

/** Permitted draws of a site's chargers by a service that follows its rules, each from an instant on. */
class Allowances {
  readonly #horizonMs: number;
  readonly #followedMs: number;
  /** Oldest first; of the settled ones only the last is kept. */
  readonly #all: { readonly atMs: EpochMs; readonly chargersW: number }[] = [];
  /** Until then a charger may draw by a lease that cannot be withdrawn. */
  #unreachableUntilMs = Number.NEGATIVE_INFINITY;

  /** @param followedMs time within which reachable chargers follow a lower allowance */
  constructor(horizonMs: number, followedMs: number) {
    this.#horizonMs = horizonMs;
    this.#followedMs = followedMs;
  }

  /** A fault affects chargers or the service now: leases may end unseen. */
  disturbed(now: EpochMs): void {
    this.#unreachableUntilMs = now + this.#horizonMs + this.#followedMs;
  }

  /** Time within which chargers follow now. */
  followedMs(now: EpochMs): number {
    return this.#followedMs + (now < this.#unreachableUntilMs ? this.#horizonMs : 0);
  }

  add(chargersW: number, now: EpochMs): void {
    const settledMs = now - this.followedMs(now);
    const last = this.#all.findLastIndex(({ atMs }) => atMs <= settledMs);
    if (last > 0) this.#all.splice(0, last);
    this.#all.push({ atMs: now, chargersW });
  }

  /** Highest allowance from which a limit in force may come, or `leastW`. */
  mostW(leastW: number): number {
    let mostW = leastW;
    for (const { chargersW } of this.#all) mostW = Math.max(mostW, chargersW);
    return mostW;
  }
}

interface ImportingSite {
  readonly building: Building;
  readonly allowances: Allowances;
  buildingW: number;
  receivedAtMs: EpochMs;
  /** First and last instant at which its meter showed an impossible value. */
  impossibleSinceMs: EpochMs | undefined;
  impossibleAtMs: EpochMs;
  /** Last instant at which its meter showed a false value. */
  untrueAtMs: EpochMs;
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

type ImportWorld = Pick<CheckedWorld, 'buildings' | 'drawnW' | 'nowMs' | 'horizonMs' | 'report'>;

export class ImportWatch {
  readonly #sites = new Map<string, ImportingSite>();
  readonly #world: ImportWorld;

  constructor(world: ImportWorld) {
    this.#world = world;
    const now = world.nowMs();
    for (const building of world.buildings)
      this.#sites.set(building.locationId, {
        building,
        allowances: new Allowances(world.horizonMs, FOLLOWED_MS),
        buildingW: 0,
        receivedAtMs: now,
        impossibleSinceMs: undefined,
        impossibleAtMs: Number.NEGATIVE_INFINITY,
        untrueAtMs: Number.NEGATIVE_INFINITY,
        lookedAtMs: now,
        isOver: false,
        excusedWms: 0,
        brokenWms: 0,
      });
  }

  /** A fault affects chargers or the service now. */
  disturbed(): void {
    for (const { allowances } of this.#sites.values()) allowances.disturbed(this.#world.nowMs());
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
    const now = this.#world.nowMs();
    const drawnW = this.#world.drawnW(locationId);
    const saidW = powerW - drawnW;
    const countedW = building.pvRaisesHeadroom ? saidW : Math.max(0, saidW);
    const isUndeclared = buildingW < 0 && !building.pvRaisesHeadroom;
    if (isUndeclared || Math.abs(saidW - buildingW) > TRUE_W) site.untrueAtMs = now;
    if (!building.pvRaisesHeadroom && powerW < drawnW * IMPOSSIBLE_SHARE - IMPOSSIBLE_W) {
      site.impossibleSinceMs ??= now;
      site.impossibleAtMs = now;
    } else if (now - site.impossibleAtMs >= RIGHT_AGAIN_MS) site.impossibleSinceMs = undefined;
    const isFoundOut = now - (site.impossibleSinceMs ?? now) >= FOUND_MS;
    site.allowances.add(isFoundOut ? leastLeftW(building) : leftW(building, countedW), now);
    site.receivedAtMs = now;
  }

  /** The service began to doubt the meter. */
  doubted(locationId: string): void {
    const site = this.#sites.get(locationId);
    if (site === undefined || this.#world.nowMs() - site.untrueAtMs < WRITTEN_MS) return;
    const detail = 'the service distrusts its meter, though its readings are right';
    this.#world.report({ invariant: 'P17', target: locationId, detail });
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

  /**
   * Highest draw that any reading allows, of the readings that the service may have used for limits still in force.
   */
  #allowedW({ building, allowances, receivedAtMs }: ImportingSite, now: EpochMs): number {
    const silentMs = Math.max(MISSED * building.meterEveryMs, SHORTEST_SILENCE_MS);
    const leastW = leastLeftW(building);
    const isSilent = now - receivedAtMs >= silentMs + allowances.followedMs(now);
    return isSilent ? leastW : allowances.mostW(leastW);
  }

  /** Includes the time since the last look, in which nothing changed. */
  #look(site: ImportingSite): void {
    const now = this.#world.nowMs();
    const elapsedMs = now - site.lookedAtMs;
    site.lookedAtMs = now;
    const { building } = site;
    const drawnW = this.#world.drawnW(building.locationId);
    const importW = site.buildingW + drawnW;
    const overW = importW - 1000 * building.connectionKw - TOLERANCE_W;
    const allowedW = this.#allowedW(site, now);
    const isBroken = overW > 0 && drawnW > allowedW + TOLERANCE_W;
    if (overW > 0 && isBroken) site.brokenWms += overW * elapsedMs;
    else if (overW > 0) site.excusedWms += overW * elapsedMs;
    if (isBroken && !site.isOver) {
      const detail = `${importW} W imported of ${building.connectionKw} kW: the chargers draw ${Math.round(drawnW)} W, ${Math.round(allowedW)} W remained for them`;
      this.#world.report({ invariant: 'P17', target: building.locationId, detail });
    }
    site.isOver = isBroken;
  }
}

function leftW({ connectionKw, maxBuildingKw, leastReserveKw }: Building, countedW: number): number {
  const takenW = Math.min(countedW + 1000 * leastReserveKw, Math.max(1000 * maxBuildingKw, countedW));
  return 1000 * connectionKw - takenW;
}

/** Remaining capacity for the chargers while the building counts with its maximum. */
function leastLeftW({ connectionKw, maxBuildingKw }: Building): number {
  return Math.max(0, 1000 * (connectionKw - maxBuildingKw));
}

interface BilledSite {
  readonly locationId: string;
  readonly limitW: number;
  readonly windowMs: number;
  readonly building: Building | undefined;
  readonly allowances: Allowances;
  lookedAtMs: EpochMs;
  importW: number;
  drawnW: number;
  startsAtMs: EpochMs;
  /** False if the run began in this window, because the import before is unknown. */
  isWhole: boolean;
  usedWms: number;
  /** Energy that the chargers drew above every allowance that may have been known, W·ms. */
  unlawfulWms: number;
  highestMeanW: number;
}

/** Highest average import of a site over a whole window, beside the average that the site keeps to. */
export interface BilledPeak {
  readonly locationId: string;
  readonly limitKw: number;
  readonly highestMeanKw: number;
}

/**
 * Used energy is known later than a reading: the service counts it every ten seconds, from the readings in between.
 */
const COUNTED_WITHIN_MS = 15_000;
/** The watch looks every second, so a change in between makes the average wrong by this share. */
const TOLERANCE_SHARE = 0.002;

type BilledWorld = ImportWorld &
  Pick<CheckedWorld, 'tenants' | 'reached'> & {
    /** Load of a location's building. */
    readonly buildingW: (locationId: string) => number;
  };

export class BilledWatch {
  readonly #sites: readonly BilledSite[];
  readonly #world: BilledWorld;

  constructor(world: BilledWorld) {
    this.#world = world;
    const now = world.nowMs();
    this.#sites = world.tenants.flatMap(({ locations }) =>
      locations.flatMap(({ locationId, limitRules: { peakShaving } }): BilledSite[] => {
        if (peakShaving === undefined) return [];
        const { limitKw, windowMs } = peakShaving;
        const startsAtMs = Math.floor(now / windowMs) * windowMs;
        return [
          {
            locationId,
            limitW: 1000 * limitKw,
            windowMs,
            startsAtMs,
            building: world.buildings.find((each) => each.locationId === locationId),
            allowances: new Allowances(world.horizonMs, COUNTED_WITHIN_MS + FOLLOWED_MS),
            lookedAtMs: now,
            importW: 0,
            drawnW: 0,
            isWhole: startsAtMs === now,
            usedWms: 0,
            unlawfulWms: 0,
            highestMeanW: 0,
          },
        ];
      }),
    );
  }

  get isNeeded(): boolean {
    return this.#sites.length > 0;
  }

  get peaks(): readonly BilledPeak[] {
    return this.#sites.map(({ locationId, limitW, highestMeanW }) => ({
      locationId,
      limitKw: limitW / 1000,
      highestMeanKw: Math.round(highestMeanW) / 1000,
    }));
  }

  /** A fault affects chargers or the service now. */
  disturbed(): void {
    for (const { allowances } of this.#sites) allowances.disturbed(this.#world.nowMs());
  }

  /** Must be called every second. */
  look(): void {
    const now = this.#world.nowMs();
    for (const site of this.#sites) this.#pass(site, now);
  }

  #pass(site: BilledSite, now: EpochMs): void {
    const endsAtMs = site.startsAtMs + site.windowMs;
    if (now >= endsAtMs) {
      count(site, endsAtMs);
      this.#judge(site);
      Object.assign(site, { startsAtMs: endsAtMs, isWhole: true, usedWms: 0, unlawfulWms: 0 });
    }
    count(site, now);
    const buildingW = this.#world.buildingW(site.locationId);
    site.drawnW = this.#world.drawnW(site.locationId);
    site.importW = Math.max(0, site.drawnW + buildingW);
    site.allowances.add(evenlyW(site, buildingW, now), now);
  }

  #judge(site: BilledSite): void {
    const { locationId, limitW, windowMs, usedWms, unlawfulWms, isWhole } = site;
    if (!isWhole) return;
    this.#world.reached.note('billedWindowJudged');
    const meanW = usedWms / windowMs;
    site.highestMeanW = Math.max(site.highestMeanW, meanW);
    const toleranceWms = TOLERANCE_SHARE * limitW * windowMs;
    if (meanW * windowMs <= limitW * windowMs + toleranceWms || unlawfulWms <= toleranceWms) return;
    const detail = `${Math.round(meanW)} W imported on average of ${limitW} W in the window from ${new Date(site.startsAtMs).toISOString()}: chargers drew ${Math.round(unlawfulWms / 1e6)} kW s beyond the power left for them`;
    this.#world.report({ invariant: 'P20', target: locationId, detail });
  }
}

function count(site: BilledSite, untilMs: EpochMs): void {
  const elapsedMs = untilMs - site.lookedAtMs;
  site.usedWms += site.importW * elapsedMs;
  site.unlawfulWms += Math.max(0, site.drawnW - site.allowances.mostW(0)) * elapsedMs;
  site.lookedAtMs = untilMs;
}

/** Remaining energy of the window, spread evenly, less the building's load and its least reserve. */
function evenlyW(site: BilledSite, buildingW: number, now: EpochMs): number {
  const { limitW, windowMs, building, usedWms } = site;
  const leftMs = site.startsAtMs + windowMs - now;
  const besideW = building === undefined ? 0 : Math.max(0, buildingW) + 1000 * building.leastReserveKw;
  return Math.max(0, (limitW * windowMs - usedWms) / leftMs - besideW);
}
