// Reduces a sequence of values to the number that a page can show, so that the size of a report stays bounded.
import type { EpochMs } from '../../machines/values/time.js';
import type { EventOf } from '../log/trace-state.js';
import type { ConnectorTrack, Track } from './report-data.js';

/** A column of whole numbers, stored as differences. */
export interface Column {
  add(value: number): void;
  readonly differences: readonly number[];
}

function createColumn(): Column {
  const differences: number[] = [];
  let last = 0;
  return {
    add(value) {
      differences.push(value - last);
      last = value;
    },
    differences,
  };
}

export interface ValueRecorder {
  add(atMs: EpochMs, value: number): void;
  /** Separates the values before this call from later ones. */
  cut(): void;
  finish(): Track;
}

interface Point {
  readonly atMs: EpochMs;
  readonly value: number;
}

/**
 * Keeps the first, lowest, highest and last value of every step at their own instants. A drawing of them looks the same
 * as one of all values, and shows every peak.
 */
export function createValueRecorder(stepMs: number): ValueRecorder {
  const atMs = createColumn();
  const values = createColumn();
  let step = -1;
  let kept: { first: Point; lowest: Point; highest: Point; last: Point } | undefined;

  function cut(): void {
    if (kept === undefined) return;
    const points = [...new Set([kept.first, kept.lowest, kept.highest, kept.last])];
    points.sort((a, b) => a.atMs - b.atMs);
    for (const point of points) {
      atMs.add(point.atMs);
      values.add(point.value);
    }
    kept = undefined;
  }

  return {
    add(instant, value) {
      const point = { atMs: instant, value };
      const stepNow = Math.floor(instant / stepMs);
      if (stepNow !== step) cut();
      step = stepNow;
      if (kept === undefined) {
        kept = { first: point, lowest: point, highest: point, last: point };
        return;
      }
      if (value < kept.lowest.value) kept.lowest = point;
      if (value > kept.highest.value) kept.highest = point;
      kept.last = point;
    },
    cut,
    finish() {
      cut();
      return { atMs: atMs.differences, values: values.differences };
    },
  };
}

export interface ChangeRecorder {
  /** @returns true if the value differs from the last one */
  add(atMs: EpochMs, value: number): boolean;
  finish(): Track;
}

/** Drops repeated values. */
export function createChangeRecorder(stepMs: number): ChangeRecorder {
  const recorder = createValueRecorder(stepMs);
  let last: number | undefined;
  return {
    add(instant, value) {
      if (value === last) return false;
      last = value;
      recorder.add(instant, value);
      return true;
    },
    finish: recorder.finish,
  };
}

export interface ConnectorRecorder {
  /** @param mode index of the event's mode in the list of the report. */
  add(event: EventOf<'connector'>, mode: number): void;
  finish(): ConnectorTrack;
}

interface Change {
  readonly atMs: EpochMs;
  readonly powerW: number;
  readonly limitTenthsA: number;
  readonly mode: number;
}

/** Keeps every change of mode. Of the changes of only power and limit, it keeps the last one in each step. */
export function createConnectorRecorder(
  name: { readonly controllerUuid: string; readonly connectorId: string },
  stepMs: number,
): ConnectorRecorder {
  const [atMs, powerW, limitTenthsA, modes] = [
    createColumn(),
    createColumn(),
    createColumn(),
    createColumn(),
  ];
  let pending: Change | undefined;
  let keptMode: number | undefined;

  function keepPending(): void {
    if (pending === undefined) return;
    atMs.add(pending.atMs);
    powerW.add(pending.powerW);
    limitTenthsA.add(pending.limitTenthsA);
    modes.add(pending.mode);
    keptMode = pending.mode;
    pending = undefined;
  }

  /** True if only power and limit changed since the kept event, within the same step. */
  function isReplaced(change: Change, mode: number, instant: EpochMs): boolean {
    const isOneMode = change.mode === keptMode && change.mode === mode;
    return isOneMode && Math.floor(change.atMs / stepMs) === Math.floor(instant / stepMs);
  }

  return {
    add(event, mode) {
      if (pending !== undefined && !isReplaced(pending, mode, event.atMs)) keepPending();
      pending = { atMs: event.atMs, powerW: event.powerW, limitTenthsA: event.limitTenthsA, mode };
    },
    finish() {
      keepPending();
      return {
        controllerUuid: name.controllerUuid,
        connectorId: name.connectorId,
        atMs: atMs.differences,
        powerW: powerW.differences,
        limitTenthsA: limitTenthsA.differences,
        modes: modes.differences,
      };
    },
  };
}
