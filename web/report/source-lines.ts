// Appearance of each source of limits, and its line over time.
import type { LimitRule } from '../../sim/report/report-data.js';
import { combined, type StepLine } from '../location/step-line.js';

interface SourceLook {
  readonly label: string;
  /** Beside its figure. */
  readonly note: string;
  /** Class of the legend. */
  readonly tone: string;
  /** Name of a colour in the style sheet. */
  readonly colour: string;
  readonly dash: readonly number[];
  /** Every chart of power has its line by this name. */
  readonly chartLine?: 'operatorKw';
  /** While its limit is in force: its name in a sentence, and the name of a colour in the style sheet. */
  inForce(rule: LimitRule): { readonly words: string; readonly colour: string };
}

const CONNECTION = {
  label: 'Connection',
  note: 'left for chargers',
  tone: 'connection',
  colour: 'muted',
  dash: [2, 3],
} as const;

/**
 * By kind of source, in the order of their figures. Sources with the same label have one line, which is the lowest of
 * them. A kind without an entry is shown by its name.
 */
const LOOKS: ReadonlyMap<string, SourceLook> = new Map<string, SourceLook>([
  [
    'operatorLimit',
    {
      label: 'Grid operator',
      note: 'no profile lifts it',
      tone: 'operator',
      colour: 'operator',
      dash: [10, 8],
      chartLine: 'operatorKw',
      inForce: ({ operator }) =>
        operator === 'limited'
          ? { words: 'grid operator', colour: 'operator' }
          : { words: 'fail-safe of the grid operator', colour: 'failsafe' },
    },
  ],
  [
    'peakShaving',
    {
      label: 'Peak shaving',
      note: 'left for the rest of the window',
      tone: 'peak-shaving',
      colour: 'peak-shaving',
      dash: [4, 3],
      inForce: () => ({ words: 'peak shaving', colour: 'peak-shaving' }),
    },
  ],
  [
    'clusterShare',
    {
      label: 'Cluster share',
      note: 'the lowest, of all its clusters',
      tone: 'share',
      colour: 'share',
      dash: [8, 3],
      inForce: ({ rule }) => ({ words: `share of cluster ${rule}`, colour: 'share' }),
    },
  ],
  ['building', { ...CONNECTION, inForce: () => ({ words: 'building', colour: 'building' }) }],
  [
    'physicalConnection',
    { ...CONNECTION, inForce: () => ({ words: 'physical connection', colour: 'muted' }) },
  ],
]);

const PLACES: readonly string[] = [...LOOKS.values()].map(({ label }) => label);

/** @param name of the source: its kind, and the id of one of several after a colon */
export function lookOf(name: string): SourceLook {
  const [kind = name] = name.split(':');
  return (
    LOOKS.get(kind) ?? {
      label: name,
      note: 'another limit',
      tone: 'source',
      colour: 'source',
      dash: [6, 2],
      inForce: ({ rule }) => ({ words: rule === '' ? name : `${name} ${rule}`, colour: 'source' }),
    }
  );
}

export interface SourceLine extends SourceLook {
  readonly line: StepLine;
}

/** One line for each label, in the order of the figures. */
export function sourceLines(
  sources: readonly { readonly name: string; readonly line: StepLine }[],
): readonly SourceLine[] {
  const shown = new Map<string, SourceLine>();
  for (const { name, line } of sources) {
    const look = lookOf(name);
    const before = shown.get(look.label);
    shown.set(look.label, {
      ...look,
      line: before === undefined ? line : combined(before.line, line, lowest),
    });
  }
  return [...shown.values()].sort((a, b) => placeOf(a) - placeOf(b));
}

function placeOf({ label }: SourceLook): number {
  const place = PLACES.indexOf(label);
  return place === -1 ? PLACES.length : place;
}

function lowest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
