// Collects the marks of the time axis: faults, alarms and profiles with their duration, and single instants.
import type { EpochMs } from '../../machines/values/time.js';
import type { TraceEvent } from '../trace/trace-event.js';
import type { EventOf } from '../trace/trace-state.js';
import type { Mark, ProfileBar } from './report-data.js';

/** For each kind; more marks would be indistinguishable on a page. */
const MOST_MARKS = 5_000;

export interface MarkRecorder {
  add(event: TraceEvent): void;
  finish(endsAtMs: EpochMs): {
    readonly profiles: readonly ProfileBar[];
    /** By the instant of their start. */
    readonly marks: readonly Mark[];
    readonly marksLeftOut: number;
  };
}

type Lasting = EventOf<'fault' | 'alarm'>;

export function createMarkRecorder(): MarkRecorder {
  const marks: Mark[] = [];
  const profiles: ProfileBar[] = [];
  const counts = new Map<Mark['kind'], number>();
  const open = new Map<string, Mark>();
  const slots = new Map<string, ProfileBar>();
  let marksLeftOut = 0;

  function keep(mark: Mark): void {
    const count = counts.get(mark.kind) ?? 0;
    counts.set(mark.kind, count + 1);
    if (count < MOST_MARKS) marks.push(mark);
    else marksLeftOut++;
  }

  function switched(event: Lasting, what: string): void {
    const key = `${event.kind} ${what} ${event.target}`;
    const begun = open.get(key);
    if (event.isOn && begun === undefined) {
      const { kind, atMs, target } = event;
      open.set(key, { kind, what, target, detail: '', startsAtMs: atMs, endsAtMs: atMs });
    } else if (!event.isOn && begun !== undefined) {
      open.delete(key);
      keep({ ...begun, endsAtMs: event.atMs });
    }
  }

  function profileSubmitted({ atMs, target, priority, limitW, ...window }: EventOf<'profile'>): void {
    const slot = `${priority} ${target}`;
    const replaced = slots.get(slot);
    if (replaced !== undefined) keepBar({ ...replaced, endsAtMs: Math.min(replaced.endsAtMs, atMs) });
    const startsAtMs = Math.max(window.startsAtMs, atMs);
    slots.set(slot, { target, priority, limitW, startsAtMs, endsAtMs: window.endsAtMs });
  }

  function keepBar(bar: ProfileBar): void {
    if (bar.startsAtMs < bar.endsAtMs) profiles.push(bar);
  }

  return {
    add(event) {
      const instant = { startsAtMs: event.atMs, endsAtMs: event.atMs };
      if (event.kind === 'fault') switched(event, event.fault);
      else if (event.kind === 'alarm') switched(event, event.alarm);
      else if (event.kind === 'profile') profileSubmitted(event);
      else if (event.kind === 'action') {
        keep({ kind: 'action', what: event.name, target: '', detail: String(event.status), ...instant });
      } else if (event.kind === 'violation') {
        const { invariant, target, detail } = event;
        keep({ kind: 'violation', what: invariant, target, detail, ...instant });
      }
    },
    finish(endsAtMs) {
      for (const mark of open.values()) keep({ ...mark, endsAtMs });
      for (const bar of slots.values()) keepBar(bar);
      marks.sort((a, b) => a.startsAtMs - b.startsAtMs);
      return { profiles, marks, marksLeftOut };
    },
  };
}
