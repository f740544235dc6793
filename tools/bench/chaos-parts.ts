// Writers to a cluster with faults, a watch of its chargers, and their counts.
import { systemClock } from '../../src/clock.js';
import type { Cluster, Node } from './cluster-parts.js';
import type { ClusterSite } from './cluster-plan.js';

const WRITERS = 4;
const SAMPLE_EVERY_MS = 200;
/** Far ahead, so that no write changes a limit in force. At the end the stored writes are compared with the answers. */
const WINDOW = { startTime: '2090-01-01T00:00:00.000Z', endTime: '2090-01-02T00:00:00.000Z' };

/** Counts that must be 0 at the end, and durations. */
export interface Tally {
  leasesLost: number;
  limitsBroken: number;
  writesLost: number;
  doubleWriters: number;
  acknowledged: number;
  /** Number of refusals, by fault and answer. */
  readonly refused: Map<string, number>;
  unanswered: number;
  /** By fault, the longest times of its rounds. */
  readonly gapsMs: Map<string, Gaps>;
}

/**
 * For each round: time without a successful answer of REST, for affected sites and for all others; time of a connector
 * without a renewed lease.
 */
export interface Gaps {
  readonly hitMs: number[];
  readonly othersMs: number[];
  readonly silentMs: number[];
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}

/** Clients that each try the next node after one without an answer. */
export class Writers {
  readonly acknowledged: { readonly site: ClusterSite; readonly limitKw: number }[] = [];
  readonly #cluster: Cluster;
  readonly #tally: Tally;
  #lastKw = 0;
  /**
   * By site: instant of the last successful request, and the longest time without one since the last `takeLongestMs`.
   */
  readonly #gaps = new Map<ClusterSite, { answeredAtMs: number; longestMs: number }>();
  #isOver = false;
  /** The current fault, under which refusals are counted. */
  #during = 'nothing';
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

  /** From now on refusals count under this fault. */
  during(fault: string): void {
    this.#during = fault;
  }

  /** The longest time without a successful answer since the last call, over the sites for which `isAsked` is true. */
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
      if (node === undefined || node.role === 'stopped' || node.role === 'starting' || node.isPaused) {
        await pause(20);
        continue;
      }
      const limitKw = ++this.#lastKw;
      const answer = await this.#put(node, site, { ...WINDOW, limitKw, priority: limitKw % 10 });
      if (answer === undefined) this.#tally.unanswered++;
      else if (answer.status === 200) this.#take(site, limitKw);
      else this.#countRefusal(answer);
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

  #countRefusal({ status, text }: { readonly status: number; readonly text: string }): void {
    const { refused } = this.#tally;
    const key = `${this.#during}: ${status} ${/"message":"([^"]*)"/.exec(text)?.[1] ?? text}`;
    refused.set(key, (refused.get(key) ?? 0) + 1);
  }

  async #put(
    node: Node,
    { locationId, apiKey }: ClusterSite,
    body: object,
  ): Promise<{ readonly status: number; readonly text: string } | undefined> {
    const leaving = new AbortController();
    const cancel = systemClock.after(10_000, () => leaving.abort());
    const answer = await fetch(`${node.httpUrl}/v1/locations/${locationId}/schedules`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: leaving.signal,
    })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => undefined);
    cancel();
    return answer;
  }
}

/** A connector's lease: its remaining time at the last sample, and the instant of the last renewal. */
interface Renewed {
  leftS: number;
  sinceMs: number;
  /** Longest time between renewals since the last `takeLongestMs`. */
  longestMs: number;
  readonly locationId: string;
}

/**
 * Samples the chargers many times a second: lost leases, times until a renewal, and sums of limits that are too high.
 */
export class Watch {
  readonly #cluster: Cluster;
  readonly #tally: Tally;
  readonly #leased = new Set<string>();
  readonly #renewed = new Map<string, Renewed>();
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
      this.#noteLease(controllerUuid, locationId, leaseLeftS ?? 0);
    }
    for (const { locationId, limitKw } of this.#cluster.sites)
      if ((allowedW.get(locationId) ?? 0) > 1000 * limitKw + 1) this.#tally.limitsBroken++;
    this.#cancel = systemClock.after(SAMPLE_EVERY_MS, () => this.start());
  }

  /**
   * The longest time without an answer that renewed a lease since the last call, over the connectors of the asked
   * sites.
   */
  takeLongestMs(): (isAsked: (site: ClusterSite) => boolean) => number {
    const nowMs = systemClock.monotonicMs();
    const taken = [...this.#renewed.values()].map((each) => {
      const longestMs = Math.max(each.longestMs, nowMs - each.sinceMs);
      each.longestMs = 0;
      return { locationId: each.locationId, longestMs };
    });
    return (isAsked) => {
      const asked = new Set<string>(this.#cluster.sites.filter(isAsked).map(({ locationId }) => locationId));
      return Math.max(
        0,
        ...taken.filter(({ locationId }) => asked.has(locationId)).map((each) => each.longestMs),
      );
    };
  }

  /** True if every lease was renewed after that instant. */
  areRenewedSince(atMs: number): boolean {
    return [...this.#renewed.values()].every(({ sinceMs }) => sinceMs > atMs);
  }

  /** The remaining time of a lease only decreases until a renewal. */
  #noteLease(controllerUuid: string, locationId: string, leftS: number): void {
    const nowMs = systemClock.monotonicMs();
    const known = this.#renewed.get(controllerUuid);
    if (known === undefined) {
      this.#renewed.set(controllerUuid, { leftS, sinceMs: nowMs, longestMs: 0, locationId });
      return;
    }
    if (leftS > known.leftS) {
      known.longestMs = Math.max(known.longestMs, nowMs - known.sinceMs);
      known.sinceMs = nowMs;
    }
    known.leftS = leftS;
  }

  get leased(): number {
    return this.#leased.size;
  }

  stop(): void {
    this.#cancel();
  }
}
