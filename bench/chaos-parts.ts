// Who writes to a cluster while it is broken, who looks at its chargers, and what they count.
import { systemClock } from '../src/clock.js';
import type { Cluster, Node } from './cluster-parts.js';
import type { ClusterSite } from './cluster-plan.js';

const WRITERS = 4;
const SAMPLE_EVERY_MS = 200;
/** Far ahead, so that no write moves a limit: what is written is looked up at the end. */
const WINDOW = { startTime: '2090-01-01T00:00:00.000Z', endTime: '2090-01-02T00:00:00.000Z' };

/** What has to be 0 at the end, and how long things took. */
export interface Tally {
  leasesLost: number;
  limitsBroken: number;
  writesLost: number;
  doubleWriters: number;
  acknowledged: number;
  refused: number;
  unanswered: number;
  /** By fault, the longest time without a successful answer of sites that it hit, and of all others. */
  readonly gapsMs: Map<string, { hitMs: number[]; othersMs: number[] }>;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}

/** Clients that each go on with the next node where one does not answer. */
export class Writers {
  readonly acknowledged: { readonly site: ClusterSite; readonly limitKw: number }[] = [];
  readonly #cluster: Cluster;
  readonly #tally: Tally;
  #lastKw = 0;
  /** By site: when a request succeeded last, and the longest time without one since it was asked last. */
  readonly #gaps = new Map<ClusterSite, { answeredAtMs: number; longestMs: number }>();
  #isOver = false;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(cluster: Cluster, tally: Tally) {
    this.#cluster = cluster;
    this.#tally = tally;
  }

  start(): void {
    const { sites } = this.#cluster;
    for (const site of sites) this.#gaps.set(site, { answeredAtMs: systemClock.monotonicMs(), longestMs: 0 });
    const count = Math.max(WRITERS, sites.length);
    this.#writing = Promise.all(Array.from({ length: count }, (_, i) => this.#write(i)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#writing;
  }

  /** The longest time that a site of `shards` (of any, if left out) had no successful answer since it was asked last. */
  takeLongestMs(): (isAsked?: (site: ClusterSite) => boolean) => number {
    const nowMs = systemClock.monotonicMs();
    const taken = [...this.#gaps].map(([site, gap]) => {
      const longestMs = Math.max(gap.longestMs, nowMs - gap.answeredAtMs);
      gap.longestMs = 0;
      return { site, longestMs };
    });
    return (isAsked = () => true) =>
      Math.max(0, ...taken.filter(({ site }) => isAsked(site)).map(({ longestMs }) => longestMs));
  }

  async #write(first: number): Promise<void> {
    const { sites, nodes } = this.#cluster;
    const site = sites[first % sites.length];
    if (site === undefined) return;
    for (let turn = first; !this.#isOver; turn++) {
      const node = nodes[turn % nodes.length];
      if (node === undefined || node.role === 'stopped' || node.isPaused) {
        await pause(20);
        continue;
      }
      const limitKw = ++this.#lastKw;
      const status = await this.#put(node, site, { ...WINDOW, limitKw, priority: limitKw % 10 });
      if (status === 200) this.#take(site, limitKw);
      else if (status === undefined) this.#tally.unanswered++;
      else this.#tally.refused++;
      await pause(20);
    }
  }

  #take(site: ClusterSite, limitKw: number): void {
    const nowMs = systemClock.monotonicMs();
    const gap = this.#gaps.get(site);
    if (gap !== undefined) {
      gap.longestMs = Math.max(gap.longestMs, nowMs - gap.answeredAtMs);
      gap.answeredAtMs = nowMs;
    }
    this.#tally.acknowledged++;
    this.acknowledged.push({ site, limitKw });
  }

  async #put(node: Node, { locationId, apiKey }: ClusterSite, body: object): Promise<number | undefined> {
    const leaving = new AbortController();
    const cancel = systemClock.after(10_000, () => leaving.abort());
    const answer = await fetch(`${node.httpUrl}/v1/locations/${locationId}/schedules`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: leaving.signal,
    }).catch(() => undefined);
    cancel();
    return answer?.status;
  }
}

/** Looks at the chargers many times a second: who lost a lease that ran, and whether limits add up to too much. */
export class Watch {
  readonly #cluster: Cluster;
  readonly #tally: Tally;
  readonly #leased = new Set<string>();
  #cancel = () => {};

  constructor(cluster: Cluster, tally: Tally) {
    this.#cluster = cluster;
    this.#tally = tally;
  }

  start(): void {
    const allowedW = new Map<string, number>();
    for (const { locationId, controllerUuid, limitW, leaseLeftS } of this.#cluster.fleet.connectors()) {
      allowedW.set(locationId, (allowedW.get(locationId) ?? 0) + limitW);
      if (leaseLeftS !== null) this.#leased.add(controllerUuid);
      else if (this.#leased.delete(controllerUuid)) this.#tally.leasesLost++;
    }
    for (const { locationId, limitKw } of this.#cluster.sites)
      if ((allowedW.get(locationId) ?? 0) > 1000 * limitKw + 1) this.#tally.limitsBroken++;
    this.#cancel = systemClock.after(SAMPLE_EVERY_MS, () => this.start());
  }

  get leased(): number {
    return this.#leased.size;
  }

  stop(): void {
    this.#cancel();
  }
}
