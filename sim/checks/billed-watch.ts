// Checks the average import over the windows that a tariff bills: no more than the site keeps to, except for a rise
// of its building (P20).
import type { EpochMs } from '../../machines/values/time.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { Building } from '../scenario/scenario.js';
import type { Report } from '../world/power-watch.js';
import { FOLLOWED_MS } from './import-watch.js';
import type { Reached } from './reached.js';

/** From `atMs` on, a service that follows its rules allows the chargers no more than this. */
interface Known {
  readonly atMs: EpochMs;
  readonly chargersW: number;
}

interface Site {
  readonly locationId: string;
  readonly limitW: number;
  readonly windowMs: number;
  readonly building: Building | undefined;
  lookedAtMs: EpochMs;
  importW: number;
  drawnW: number;
  startsAtMs: EpochMs;
  /** False if the run began in this window, because the import before is unknown. */
  isWhole: boolean;
  usedWms: number;
  /** Energy that the chargers drew above every allowance that may have been known, W·ms. */
  unlawfulWms: number;
  known: Known[];
  unreachableUntilMs: EpochMs;
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
const KNOWN_AND_FOLLOWED_MS = COUNTED_WITHIN_MS + FOLLOWED_MS;
/** The watch looks every second, so a change in between makes the average wrong by this share. */
const TOLERANCE_SHARE = 0.002;

export class BilledWatch {
  readonly #sites: readonly Site[];
  readonly #drawnW: (locationId: string) => number;
  readonly #buildingW: (locationId: string) => number;
  readonly #nowMs: () => EpochMs;
  readonly #horizonMs: number;
  readonly #reached: Pick<Reached, 'note'>;
  readonly #report: Report;

  constructor(options: {
    readonly tenants: readonly TenantEntry[];
    readonly buildings: readonly Building[];
    /** Draw of a location's chargers, and load of its building. */
    readonly drawnW: (locationId: string) => number;
    readonly buildingW: (locationId: string) => number;
    readonly nowMs: () => EpochMs;
    /** Longest time that a lease may last. */
    readonly horizonMs: number;
    readonly reached: Pick<Reached, 'note'>;
    readonly report: Report;
  }) {
    const { tenants, buildings, nowMs } = options;
    this.#drawnW = options.drawnW;
    this.#buildingW = options.buildingW;
    this.#nowMs = nowMs;
    this.#horizonMs = options.horizonMs;
    this.#reached = options.reached;
    this.#report = options.report;
    const now = nowMs();
    this.#sites = tenants.flatMap(({ locations }) =>
      locations.flatMap(({ locationId, peakShaving }): Site[] => {
        if (peakShaving === undefined) return [];
        const { limitKw, windowMs } = peakShaving;
        const startsAtMs = Math.floor(now / windowMs) * windowMs;
        return [
          {
            locationId,
            limitW: 1000 * limitKw,
            windowMs,
            startsAtMs,
            building: buildings.find((each) => each.locationId === locationId),
            lookedAtMs: now,
            importW: 0,
            drawnW: 0,
            isWhole: startsAtMs === now,
            usedWms: 0,
            unlawfulWms: 0,
            known: [],
            unreachableUntilMs: now,
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

  /** A fault affects chargers or the service now: leases may end unseen. */
  disturbed(): void {
    for (const site of this.#sites)
      site.unreachableUntilMs = this.#nowMs() + this.#horizonMs + KNOWN_AND_FOLLOWED_MS;
  }

  /** Must be called every second. */
  look(): void {
    const now = this.#nowMs();
    for (const site of this.#sites) this.#pass(site, now);
  }

  #pass(site: Site, now: EpochMs): void {
    const endsAtMs = site.startsAtMs + site.windowMs;
    if (now >= endsAtMs) {
      this.#add(site, endsAtMs);
      this.#judge(site);
      Object.assign(site, { startsAtMs: endsAtMs, isWhole: true, usedWms: 0, unlawfulWms: 0 });
    }
    this.#add(site, now);
    site.drawnW = this.#drawnW(site.locationId);
    site.importW = Math.max(0, site.drawnW + this.#buildingW(site.locationId));
    this.#learn(site, now);
  }

  #add(site: Site, untilMs: EpochMs): void {
    const elapsedMs = untilMs - site.lookedAtMs;
    const mostW = site.known.reduce((most, { chargersW }) => Math.max(most, chargersW), 0);
    site.usedWms += site.importW * elapsedMs;
    site.unlawfulWms += Math.max(0, site.drawnW - mostW) * elapsedMs;
    site.lookedAtMs = untilMs;
  }

  /** Remaining energy of the window, spread evenly, less the building's load and its least reserve. */
  #learn(site: Site, now: EpochMs): void {
    const { limitW, windowMs, building } = site;
    const leftMs = site.startsAtMs + windowMs - now;
    const besideW =
      building === undefined
        ? 0
        : Math.max(0, this.#buildingW(site.locationId)) + 1000 * building.leastReserveKw;
    const chargersW = Math.max(0, (limitW * windowMs - site.usedWms) / leftMs - besideW);
    const followedMs = KNOWN_AND_FOLLOWED_MS + (now < site.unreachableUntilMs ? this.#horizonMs : 0);
    const last = site.known.findLastIndex(({ atMs }) => atMs <= now - followedMs);
    if (last > 0) site.known.splice(0, last);
    site.known.push({ atMs: now, chargersW });
  }

  #judge(site: Site): void {
    const { locationId, limitW, windowMs, usedWms, unlawfulWms, isWhole } = site;
    if (!isWhole) return;
    this.#reached.note('billedWindowJudged');
    const meanW = usedWms / windowMs;
    site.highestMeanW = Math.max(site.highestMeanW, meanW);
    const toleranceWms = TOLERANCE_SHARE * limitW * windowMs;
    if (meanW * windowMs <= limitW * windowMs + toleranceWms || unlawfulWms <= toleranceWms) return;
    const detail = `${Math.round(meanW)} W imported on average of ${limitW} W in the window from ${new Date(site.startsAtMs).toISOString()}: chargers drew ${Math.round(unlawfulWms / 1e6)} kW s beyond what was left for them`;
    this.#report({ invariant: 'P20', target: locationId, detail });
  }
}
