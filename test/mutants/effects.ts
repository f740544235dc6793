// The effects of a machine outside the service: limits, power and alarms. Labels of states and causes are no effects.
import type { TraceEvent } from '../../sim/log/trace-event.js';

/** The effect in an event of a trace, without labels; undefined for an event without an effect. */
export function effectOf(event: TraceEvent): object | undefined {
  switch (event.kind) {
    case 'grant': {
      const { reason: _, ...grant } = event;
      return grant;
    }
    case 'connector': {
      const { status: _, reason: __, isOnline: ___, ...connector } = event;
      return connector;
    }
    case 'limits': {
      const { cause: _, rule: __, operator: ___, ...limits } = event;
      return limits;
    }
    case 'power':
    case 'limitSource':
    case 'alarm':
    case 'violation':
      return event;
    default:
      return undefined;
  }
}
