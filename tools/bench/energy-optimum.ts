// The most energy that an algorithm with full knowledge of all sessions could deliver: a maximum flow from sessions
// through time.
import { STEP_H, type SteppedSession } from './energy-sessions.js';

interface Arc {
  readonly to: number;
  leftKwh: number;
  /** The arc in the other direction: it allows flow to be taken back. */
  back: Arc | undefined;
}

const NOTHING_KWH = 1e-9;

/** A network of numbered nodes. Flow is raised along shortest paths until there is none (Dinic). */
class Network {
  readonly #arcs: Arc[][] = [];

  connect(from: number, to: number, mostKwh: number): void {
    const arc: Arc = { to, leftKwh: mostKwh, back: undefined };
    const back: Arc = { to: from, leftKwh: 0, back: arc };
    arc.back = back;
    this.#of(from).push(arc);
    this.#of(to).push(back);
  }

  maximum(source: number, sink: number): number {
    let sumKwh = 0;
    for (let levels = this.#levels(source); levels[sink] !== undefined; levels = this.#levels(source)) {
      const tried: number[] = [];
      let pushedKwh = this.#push(source, sink, Number.POSITIVE_INFINITY, levels, tried);
      while (pushedKwh > NOTHING_KWH) {
        sumKwh += pushedKwh;
        pushedKwh = this.#push(source, sink, Number.POSITIVE_INFINITY, levels, tried);
      }
    }
    return sumKwh;
  }

  #of(node: number): Arc[] {
    const held = this.#arcs[node];
    if (held !== undefined) return held;
    const arcs: Arc[] = [];
    this.#arcs[node] = arcs;
    return arcs;
  }

  /** Number of arcs with remaining capacity between `source` and each node; undefined for an unreachable node. */
  #levels(source: number): (number | undefined)[] {
    const levels: (number | undefined)[] = [];
    levels[source] = 0;
    const queue = [source];
    for (const node of queue) {
      for (const { to, leftKwh } of this.#of(node)) {
        if (leftKwh <= NOTHING_KWH || levels[to] !== undefined) continue;
        levels[to] = (levels[node] ?? 0) + 1;
        queue.push(to);
      }
    }
    return levels;
  }

  /** @param tried number of arcs of each node that are dead ends at these levels. */
  #push(
    node: number,
    sink: number,
    mostKwh: number,
    levels: readonly (number | undefined)[],
    tried: number[],
  ): number {
    if (node === sink) return mostKwh;
    const arcs = this.#of(node);
    for (let at = tried[node] ?? 0; at < arcs.length; at++) {
      tried[node] = at;
      const arc = arcs[at];
      if (arc === undefined || arc.leftKwh <= NOTHING_KWH) continue;
      if (levels[arc.to] !== (levels[node] ?? 0) + 1) continue;
      const pushedKwh = this.#push(arc.to, sink, Math.min(mostKwh, arc.leftKwh), levels, tried);
      if (pushedKwh <= NOTHING_KWH) continue;
      arc.leftKwh -= pushedKwh;
      if (arc.back !== undefined) arc.back.leftKwh += pushedKwh;
      return pushedKwh;
    }
    tried[node] = arcs.length;
    return 0;
  }
}

/**
 * The largest sum of energies, kWh. Every session stays between its steps, and within its power and its energy; all
 * together stay under the cap. This is the optimum of the linear program. All steps between two arrivals or departures
 * are alike, so they share one node.
 */
export function optimumKwh(sessions: readonly SteppedSession[], capKw: number): number {
  const instants = [...new Set(sessions.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const network = new Network();
  const [source, sink, firstSpan] = [0, 1, 2];
  const firstSession = firstSpan + instants.length;
  const spans = instants.map((from, i) => ({ from, hours: ((instants[i + 1] ?? from) - from) * STEP_H }));
  for (const [i, { hours }] of spans.entries()) network.connect(firstSpan + i, sink, capKw * hours);
  for (const [n, { from, to, energyKwh, maxKw }] of sessions.entries()) {
    network.connect(source, firstSession + n, energyKwh);
    for (const [i, span] of spans.entries()) {
      if (span.from < from || span.from >= to) continue;
      network.connect(firstSession + n, firstSpan + i, maxKw * span.hours);
    }
  }
  return network.maximum(source, sink);
}
