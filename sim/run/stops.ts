// Instants at which a run stops: for a call, for a question to the service, and for a progress report.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../../machines/values/time.js';
import type { Action, Scenario } from '../scenario/scenario.js';

export interface Stop {
  readonly atMs: EpochMs;
  readonly actions: readonly Action[];
  readonly isQuestion: boolean;
}

export interface Stops {
  /** The next stop in order of time; undefined after the last. */
  next(): Stop | undefined;
  /** Repeats the call at `atMs`, after all other stops of that instant. */
  repeat(action: Action, atMs: EpochMs): void;
}

/** Interval at which a back end repeats a call to a service that is down. */
export const CALL_AGAIN_MS = 5_000;
/** Interval of progress reports, and of writes to the trace. */
const PROGRESS_EVERY_MS = 60_000;

type Reason = { readonly action: Action } | 'question' | 'progress';

export function createStops(
  { startsAtMs, endsAtMs, actions }: Scenario,
  questions: readonly EpochMs[],
): Stops {
  const heap = new FlatQueue<Reason>();
  for (const action of actions) heap.push({ action }, action.atMs);
  for (const atMs of questions) heap.push('question', atMs);
  for (let atMs = startsAtMs; atMs < endsAtMs; atMs += PROGRESS_EVERY_MS) heap.push('progress', atMs);
  heap.push('progress', endsAtMs);

  return {
    next() {
      const atMs = heap.peekValue();
      if (atMs === undefined || atMs > endsAtMs) return undefined;
      const due: Action[] = [];
      let isQuestion = false;
      while (heap.peekValue() === atMs) {
        const reason = heap.pop();
        if (reason === 'question') isQuestion = true;
        else if (typeof reason === 'object') due.push(reason.action);
      }
      // Calls of one instant run in the order of the file.
      due.sort((a, b) => actions.indexOf(a) - actions.indexOf(b));
      return { atMs, actions: due, isQuestion };
    },
    repeat: (action, atMs) => void heap.push({ action }, atMs),
  };
}
