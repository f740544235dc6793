// What a site imports on average over the windows that its tariff bills: no more than it keeps to, but for what its building rose.
import type { EpochMs } from '../../machines/values/time.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { Building } from '../scenario/scenario.js';
import type { Report } from '../world/power-watch.js';
import { FOLLOWED_MS } from './import-watch.js';
import type { Reached } from './reached.js';

/** From an instant on, a service that follows its rules lets the chargers draw no more than this. */
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
  /** The run began in this window: what came before is not known. */
  isWhole: boolean;
  usedWms: number;
  /** What the chargers drew beyond what they could have known to be left for them. */
  unlawfulWms: number;
  known: Known[];
  unreachableUntilMs: EpochMs;
  highestMeanW: number;
}

/** The highest average that a site imported over a whole window, beside what it keeps to. */
export interface BilledPeak {
  readonly locationId: string;
  readonly limitKw: number;
  readonly highestMeanKw: number;
}

/** What was used is known later than a reading is: it is counted every ten seconds, from readings that come in between. */
const COUNTED_WITHIN_MS = 15_000;
const KNOWN_AND_FOLLOWED_MS = COUNTED_WITHIN_MS + FOLLOWED_MS;
/** The watch looks every second: what changed in between is off by that much. */
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
    /** What the chargers of a location draw, and what its building does. */
    readonly drawnW: (locationId: string) => number;
    readonly buildingW: (locationId: string) => number;
    readonly nowMs: () => EpochMs;
    /** The longest that a lease may last. */
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

  /** Something goes wrong with chargers or the service now: leases may run out unseen. */
  disturbed(): void {
    for (const site of this.#sites)
      site.unreachableUntilMs = this.#nowMs() + this.#horizonMs + KNOWN_AND_FOLLOWED_MS;
  }

  /** Time has passed: to be told every second. */
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

  /** What is left of the window's energy now, spread evenly, less the building and the least that is kept free beside it. */
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
