// Effects of actors from the service's own log at level debug, their only record before a message to chargers.
import { systemClock } from '../../src/clock.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';

interface Effect {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface RecordedEffects {
  readonly log: Log;
  /** The effects of this type since the last `clear`, in order, without the tenant. */
  of(type: string): readonly Effect[];
  /** The same as `[instant in epoch ms, value of the field]`. */
  instantsOf(type: string, field: string): readonly (readonly [number, unknown])[];
  clear(): void;
}

export function recordEffects(clock: Clock = systemClock): RecordedEffects {
  const recorded: { readonly atMs: number; readonly effect: Effect }[] = [];
  const of = (type: string) => recorded.filter(({ effect }) => effect.type === type);
  return {
    log: {
      debug(fields, message) {
        if (message !== 'effect' || !('type' in fields) || typeof fields.type !== 'string') return;
        const { tenantUuid: _, ...effect } = { tenantUuid: undefined, ...fields, type: fields.type };
        recorded.push({ atMs: clock.nowMs(), effect });
      },
      info() {},
      warn() {},
      error() {},
    },
    of: (type) => of(type).map(({ effect }) => effect),
    instantsOf: (type, field) => of(type).map(({ atMs, effect }) => [atMs, effect[field]]),
    clear: () => void recorded.splice(0),
  };
}
