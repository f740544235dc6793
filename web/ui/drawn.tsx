// Shows power with its estimated part: an estimate never appears as a measured value.
import { kw, kwText } from '../../machines/values/figures.js';

/** Estimated part of a power, kW; undefined or null if all of it was measured. */
type EstimatedKw = number | null | undefined;

/** kW in a table, without the unit; a mark shows the reason in `estimate`. */
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

/** The estimate as a sentence below a figure; absent if all power was measured. */
export function EstimateNote({ estimatedKw }: { readonly estimatedKw: EstimatedKw }) {
  const estimate = estimateText(estimatedKw);
  return estimate === undefined ? null : <p class="quiet small">{estimate}</p>;
}

/** Sentence with the estimated part and its reason; undefined if all power was measured. */
export function estimateText(estimatedKw: EstimatedKw): string | undefined {
  if (estimatedKw === undefined || estimatedKw === null) return undefined;
  return `${kwText(estimatedKw)} of the power is an estimate, because connectors are silent.`;
}

/** Sum of the estimates of several powers, kW; null if all of them were measured. */
export function sumOfEstimates(estimates: readonly EstimatedKw[]): number | null {
  const known = estimates.filter((estimatedKw) => typeof estimatedKw === 'number');
  return known.length === 0 ? null : known.reduce((sum, estimatedKw) => sum + estimatedKw, 0);
}
