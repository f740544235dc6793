// A building beside a location's chargers: its load at each instant, and its meter's readings at the connection.
import type { EpochMs } from '../../machines/values/time.js';
import type { ImportWatch } from '../checks/import-watch.js';
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

/** Index of the last step that has begun by then, or of the first step. */
function stepAt(base: Building['base'], atMs: EpochMs): number {
  let [low, high] = [0, base.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((base[middle]?.fromMs ?? 0) <= atMs) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Load at `atMs`, W; below 0 while the building feeds back. Clouds change by the minute. */
export function buildingWAt(building: Building, seed: number, atMs: EpochMs): number {
  const { base, lift, peaks, pv } = building;
  let kw = base[stepAt(base, atMs)]?.kw ?? 0;
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

interface BuildingRunOptions {
  readonly seed: number;
  readonly agenda: Agenda;
  readonly nowMs: () => EpochMs;
  readonly monotonicMs: () => number;
  /** Draw of the location's chargers, W. */
  readonly drawnW: () => number;
  readonly watch: ImportWatch;
  /** True if the message reaches a running service. */
  readonly say: (message: object) => boolean;
}

export class BuildingRun {
  readonly #building: Building;
  readonly #options: BuildingRunOptions;
  #hb = 0;
  #stuckW: number | undefined;
  #nextReadingMs = 0;

  constructor(building: Building, options: BuildingRunOptions) {
    this.#building = building;
    this.#options = options;
  }

  begin(): void {
    const { agenda, monotonicMs } = this.#options;
    const atMs = monotonicMs();
    this.#step(atMs);
    agenda.at(atMs + STEP_MS, () => this.begin());
  }

  #step(monotonicMs: number): void {
    const { seed, nowMs, watch, drawnW } = this.#options;
    const now = nowMs();
    const loadW = buildingWAt(this.#building, seed, now);
    watch.drawn(this.#building.locationId, loadW);
    if (monotonicMs < this.#nextReadingMs) return;
    this.#nextReadingMs = monotonicMs + this.#building.meterEveryMs;
    this.#read(loadW + Math.round(drawnW()), now);
  }

  #read(importW: number, now: EpochMs): void {
    const { say, watch } = this.#options;
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
    const isReceived = say({ v: 1, hb: ++this.#hb, at: new Date(now).toISOString(), powerW });
    if (isReceived) watch.read(this.#building.locationId, powerW);
  }
}
