// Power that is drawn, and how much of it is an estimate: a figure that nobody measured is never shown as a measured one.
import { kw, kwText } from '../../machines/values/figures.js';

/** What is estimated of a power, kW: undefined or null where all of it was measured. */
type EstimatedKw = number | null | undefined;

/** kW in a table, without the unit; with a mark where `estimate` says why it is an estimate. */
export function DrawnKw({
  actualKw,
  estimate,
}: {
  readonly actualKw: number;
  readonly estimate: string | undefined;
}) {
  if (estimate === undefined) return <>{kw(actualKw)}</>;
  return (
    <span title={estimate}>
      <span class="estimated" aria-hidden="true">
        ≈
      </span>
      {kw(actualKw)}
      <span class="visually-hidden">. {estimate}</span>
    </span>
  );
}

/** The same in a sentence, below a figure; nothing where all was measured. */
export function EstimateNote({ estimatedKw }: { readonly estimatedKw: EstimatedKw }) {
  const estimate = estimateText(estimatedKw);
  return estimate === undefined ? null : <p class="quiet small">{estimate}</p>;
}

/** How much of a power is an estimate, and why; undefined where all was measured. */
export function estimateText(estimatedKw: EstimatedKw): string | undefined {
  if (estimatedKw === undefined || estimatedKw === null) return undefined;
  return `${kwText(estimatedKw)} of the power is an estimate, because connectors are silent.`;
}

/** The estimates of several powers together, kW; null where all of them were measured. */
export function sumOfEstimates(estimates: readonly EstimatedKw[]): number | null {
  const known = estimates.filter((estimatedKw) => typeof estimatedKw === 'number');
  return known.length === 0 ? null : known.reduce((sum, estimatedKw) => sum + estimatedKw, 0);
}
