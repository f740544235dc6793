// Divides the time of a profile among the parts of the product.
import type { Profiler } from 'node:inspector';

/** Shares of the active time by part, largest first. */
export type PartShares = readonly { readonly part: string; readonly share: number }[];

const PARTS: readonly (readonly [part: string, path: RegExp])[] = [
  ['clock and agenda', /virtual-clock|sim\/world\/agenda|flatqueue/],
  ['chargers and cars', /sim\/(charger|sessions)\//],
  ['wires', /sim\/world\/(wire|hand-over|carrier|charger-run|broker-\w+)\.|pure-rand|\/mqtt|aedes/],
  ['checks', /sim\/(checks|world\/\w+-(watch|oracle))/],
  ['trace and summary', /sim\/(trace|report|run|world\/(tracer|alarm-notes))/],
  ['world', /sim\//],
  ['ledger and allocation', /\/machines\//],
  ['actors', /src\/(actors|inbound|outbound\/mqtt|rare-log|metrics)|xstate|prom-client/],
  ['database', /sqlite3|knex|src\/outbound/],
];

/** undefined for idle time. */
function partOf({
  url,
  functionName,
}: {
  readonly url: string;
  readonly functionName: string;
}): string | undefined {
  if (functionName === '(idle)') return undefined;
  if (functionName === '(garbage collector)') return 'garbage collection';
  return PARTS.find(([, path]) => path.test(url))?.[0] ?? 'Node and the rest';
}

export function partsOfProfile({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): PartShares {
  const partById = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]));
  const spentUs = new Map<string, number>();
  let totalUs = 0;
  samples.forEach((id, i) => {
    const part = partById.get(id);
    if (part === undefined) return;
    const us = timeDeltas[i] ?? 0;
    totalUs += us;
    spentUs.set(part, (spentUs.get(part) ?? 0) + us);
  });
  return [...spentUs].map(([part, us]) => ({ part, share: us / totalUs })).sort((a, b) => b.share - a.share);
}
