// Where a run's time stands still for a moment: for a call, for a question, and so that somebody hears how far it is.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../../machines/values/time.js';
import type { Action, Scenario } from '../scenario/scenario.js';

export interface Stop {
  readonly atMs: EpochMs;
  readonly actions: readonly Action[];
  readonly isQuestion: boolean;
}

export interface Stops {
  /** The next, in the order of time; undefined after the last. */
  next(): Stop | undefined;
  /** The call is made once more at `atMs`, after everything that waits for that instant. */
  repeat(action: Action, atMs: EpochMs): void;
}

/** An operator's back end asks a service that is down again after this. */
export const CALL_AGAIN_MS = 5_000;
/** So often a run tells how far it is, and lets its trace be written. */
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
      // Calls of one instant are made in the order of the file.
      due.sort((a, b) => actions.indexOf(a) - actions.indexOf(b));
      return { atMs, actions: due, isQuestion };
    },
    repeat: (action, atMs) => void heap.push({ action }, atMs),
  };
}
