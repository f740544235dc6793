// What actors did, as the service's own log tells it at level debug: the only word of a lock before chargers are told.
import type { Log } from '../../src/ports.js';

export interface RecordedEffects {
  readonly log: Log;
  /** The effects of this type since the last `clear`, in order, without the tenant. */
  of(type: string): readonly object[];
  clear(): void;
}

export function recordEffects(): RecordedEffects {
  const effects: { readonly type: string }[] = [];
  return {
    log: {
      debug(fields, message) {
        if (message !== 'effect' || !('type' in fields) || typeof fields.type !== 'string') return;
        const { tenantUuid: _, ...effect } = { tenantUuid: undefined, ...fields, type: fields.type };
        effects.push(effect);
      },
      info() {},
      warn() {},
      error() {},
    },
    of: (type) => effects.filter((effect) => effect.type === type),
    clear: () => void effects.splice(0),
  };
}
