// Chart of the current on each phase of the grid, of all chargers or the ones below a feeder, with a sentence.
import { GRID_PHASES } from '../../machines/power/fuses.js';
import type { EpochMs } from '../../machines/values/time.js';
import { Choice } from '../ui/field.js';
import { Chart } from './chart.js';
import { columnsOf, type StepLine, valueAt } from './step-line.js';
import type { Span } from './time-view.js';

const HEIGHT_PX = 160;
/** Dashes keep the lines of equally loaded phases distinguishable. */
const DASHES = [undefined, [6, 4], [2, 3]] as const;

/** No feeder has this name. */
const ALL = '';

/** Choice of the feeder whose currents are shown. */
export interface ShownFeeder {
  /** Names of all feeders of the location. */
  readonly names: readonly string[];
  /** Undefined: all chargers. */
  readonly name: string | undefined;
  readonly onChoose: (name: string | undefined) => void;
}

interface Props {
  readonly feeder: ShownFeeder;
  /** A, highest of each roll-up; empty if no fuse is known. */
  readonly phasesA: readonly StepLine[];
  /** The feeder of these currents; null for all chargers. */
  readonly phasesOf: string | null;
  readonly span: Span;
  readonly nowMs: EpochMs;
  readonly asOfMs: EpochMs | undefined;
  readonly onSelect: (span: Span) => void;
}

export function PhaseChart({ feeder, phasesA, phasesOf, span, nowMs, asOfMs, onSelect }: Props) {
  const { names, name, onChoose } = feeder;
  if (phasesA.length === 0 && name === undefined) return null;
  const named = GRID_PHASES.map((phase, i) => ({ phase, line: phasesA[i] ?? [], dash: DASHES[i] }));
  return (
    <>
      {names.length > 0 && (
        <div class="phases-of">
          <Choice
            label="Amperes of"
            value={name ?? ALL}
            options={[
              [ALL, 'all chargers'],
              ...names.map((each) => [each, `the chargers below ${each}`] as const),
            ]}
            onChoose={(chosen) => onChoose(chosen === ALL ? undefined : chosen)}
          />
        </div>
      )}
      <Chart
        label="Amperes on each phase"
        legend={named.map(({ phase }) => ({ colour: phase.toLowerCase(), text: `Highest on ${phase}` }))}
        lines={named.map(({ phase, line, dash }) => ({
          label: phase,
          line,
          colour: phase.toLowerCase(),
          ...(dash === undefined ? {} : { dash }),
        }))}
        unit="A"
        heightPx={HEIGHT_PX}
        span={span}
        markMs={asOfMs ?? nowMs}
        onSelect={onSelect}
        readingsAt={(atMs) => named.flatMap(({ phase, line }) => words(phase, valueAt(line, atMs)))}
      >
        {summary(
          phasesOf,
          named.flatMap(({ phase, line }) => words(phase, highestOf(line, span))),
        )}
      </Chart>
    </>
  );
}

function words(phase: string, valueA: number | null): string[] {
  return valueA === null ? [] : [`${valueA.toFixed(1)} A on ${phase}`];
}

function summary(feeder: string | null, highest: readonly string[]): string {
  return highest.length === 0
    ? 'No currents are recorded for this time.'
    : `The chargers${feeder === null ? '' : ` below ${feeder}`} drew at most ${highest.join(', ')}.`;
}

function highestOf(line: StepLine, { fromMs, toMs }: Span): number | null {
  const [, values = []] = columnsOf([line], fromMs, toMs);
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
