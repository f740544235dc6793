// A building beside a location's chargers: its load at each instant, its meter's readings at the connection, and the
// checks of the imports of all sites.
import type { LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Change } from '../../src/ports/store.js';
import { siteTopicOf } from '../../src/wire/topics.js';
import type { CheckedWorld } from '../checks/checked-world.js';
import { BilledWatch, ImportWatch } from '../checks/import-watch.js';
import type { Building } from '../scenario/scenario.js';
import type { Agenda } from './agenda.js';

const STEP_MS = 1_000;
/** Factor of a single false reading, for a meter that jumps. */
const JUMP = -8;

/** Pseudo-random number from 0 to 1, the same for the same arguments. */
function noise(seed: number, nth: number): number {
  let bits = (seed ^ Math.imul(nth + 1, 0x9e3779b1)) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35) >>> 0;
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}

/** True during an event of `lastsMs`, which happens once in each `everyMs` at an instant drawn from the seed. */
function isOn(atMs: EpochMs, everyMs: number, lastsMs: number, seed: number): boolean {
  const nth = Math.floor(atMs / everyMs);
  const beginsMs = nth * everyMs + noise(seed, nth) * Math.max(0, everyMs - lastsMs);
  return atMs >= beginsMs && atMs < beginsMs + lastsMs;
}

/** Load of the last step that has begun by then, or of the first step. */
export function kwAt(base: Building['base'], atMs: EpochMs): number {
  let [low, high] = [0, base.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((base[middle]?.fromMs ?? 0) <= atMs) low = middle;
    else high = middle - 1;
  }
  return base[low]?.kw ?? 0;
}

/** Load at `atMs`, W; below 0 while the building feeds back. Clouds change by the minute. */
export function buildingWAt(building: Building, seed: number, atMs: EpochMs): number {
  const { base, lift, peaks, pv } = building;
  let kw = kwAt(base, atMs);
  if (lift !== undefined && isOn(atMs, lift.everyMs, lift.lastsMs, seed)) kw += lift.kw;
  for (const [i, { fromMs, untilMs, everyMs, lastsMs, kw: peakKw }] of peaks.entries())
    if (atMs >= fromMs && atMs < untilMs && isOn(atMs, everyMs, lastsMs, seed + i + 1)) kw += peakKw;
  if (pv !== undefined && atMs >= pv.fromMs && atMs < pv.untilMs) {
    const height = Math.sin((Math.PI * (atMs - pv.fromMs)) / (pv.untilMs - pv.fromMs)) ** 2;
    const clouds = 0.5 + 0.5 * noise(seed + 99, Math.floor(atMs / 60_000));
    kw -= pv.kw * height * clouds;
  }
  // A real meter never reads the same value twice.
  return Math.round(1000 * kw + 40 * noise(seed + 7, Math.floor(atMs / STEP_MS)));
}

type SiteImportsWorld = Pick<
  CheckedWorld,
  'tenants' | 'buildings' | 'drawnW' | 'nowMs' | 'horizonMs' | 'reached' | 'report'
> & {
  readonly seed: number;
  readonly agenda: Agenda;
  /** True if the meter's message reaches the service. */
  readonly say: (topic: string, message: string) => boolean;
};

class BuildingRun {
  readonly #building: Building;
  readonly #world: SiteImportsWorld;
  readonly #watch: ImportWatch;
  readonly #topic: string;
  #hb = 0;
  #stuckW: number | undefined;
  #nextReadingMs = 0;

  constructor(building: Building, world: SiteImportsWorld, watch: ImportWatch) {
    this.#building = building;
    this.#world = world;
    this.#watch = watch;
    const [tenantUuid, locationId] = [building.tenantUuid as TenantUuid, building.locationId as LocationId];
    this.#topic = siteTopicOf({ kind: 'siteMeter', tenantUuid, locationId });
  }

  begin(): void {
    const { agenda } = this.#world;
    this.#step(agenda.monotonicMs(), agenda.nowMs());
    agenda.after(STEP_MS, () => this.begin());
  }

  #step(monotonicMs: number, now: EpochMs): void {
    const { locationId, meterEveryMs } = this.#building;
    const loadW = buildingWAt(this.#building, this.#world.seed, now);
    this.#watch.drawn(locationId, loadW);
    if (monotonicMs < this.#nextReadingMs) return;
    this.#nextReadingMs = monotonicMs + meterEveryMs;
    this.#read(loadW + Math.round(this.#world.drawnW(locationId)), now);
  }

  #read(importW: number, now: EpochMs): void {
    const fault = this.#building.meterFaults.find(
      ({ fromMs, untilMs }) => fromMs <= now && now < untilMs,
    )?.kind;
    this.#stuckW = fault === 'stuck' ? (this.#stuckW ?? importW) : undefined;
    if (fault === 'lost') return;
    const readW = {
      stuck: this.#stuckW ?? importW,
      signSwapped: -importW,
      tenth: Math.round(importW / 10),
      jumped: this.#hb % 20 === 0 ? JUMP * importW : importW,
    }[fault ?? 'stuck'];
    const powerW = fault === undefined ? importW : readW;
    const message = JSON.stringify({ v: 1, hb: ++this.#hb, at: new Date(now).toISOString(), powerW });
    if (this.#world.say(this.#topic, message)) this.#watch.read(this.#building.locationId, powerW);
  }
}

/** The buildings of a world with their meters, and the checks of imports against connection and tariff. */
export class SiteImports {
  readonly connection: ImportWatch;
  readonly billed: BilledWatch;
  readonly #world: SiteImportsWorld;

  constructor(world: SiteImportsWorld) {
    this.#world = world;
    this.connection = new ImportWatch(world);
    this.billed = new BilledWatch({
      ...world,
      buildingW: (locationId) => this.connection.buildingW(locationId),
    });
  }

  begin(): void {
    for (const building of this.#world.buildings)
      new BuildingRun(building, this.#world, this.connection).begin();
    if (this.billed.isNeeded) this.#lookAtBilled();
  }

  /** A fault affects chargers or the service now: leases may end unseen. */
  disturbed(): void {
    this.connection.disturbed();
    this.billed.disturbed();
  }

  written(changes: readonly Change[]): void {
    for (const change of changes)
      if (change.kind === 'alarm.begin' && change.alarm.kind === 'SITE_METER_IMPLAUSIBLE')
        this.connection.doubted(change.alarm.locationId);
  }

  #lookAtBilled(): void {
    this.billed.look();
    this.#world.agenda.after(STEP_MS, () => this.#lookAtBilled());
  }
}
