// The interface between the session of a charger and its protocol: requests that a charger of any protocol carries out.
// The protocol passes reports of the charger to the session itself: its status, values, cars and starts.
import type {
  ChargerAbilities,
  GatewayAnswer,
  GatewayRequest,
} from '../../machines/session/gateway-request.js';
import type { ShownSchedule } from '../../machines/session/lease-schedule.js';

export type RequestOf<K extends GatewayRequest['kind']> = Extract<GatewayRequest, { kind: K }>;

/** The charger answered that it does not do that; the text is the reason. */
export class ChargerRefusal extends Error {}

/**
 * A charger on one connection. A request resolves once the charger has carried it out. It rejects with `ChargerRefusal`
 * if the charger refuses it. After any other error the outcome is unknown, and the session repeats the request.
 */
export interface ChargerDialect {
  /** Names of requests in the charger's protocol, for alarms. Without a name the session has words of its own. */
  readonly names: Readonly<Partial<Record<GatewayRequest['kind'], string>>>;
  /** The charger describes itself. */
  readAbilities(): Promise<ChargerAbilities>;
  /** From now on the charger reports the values of a car at that interval. */
  sample(request: RequestOf<'sample'>): Promise<void>;
  /** Sets the limit without an end, with which the charger starts and to which it falls back. */
  setFailsafe(request: RequestOf<'setFailsafe'>): Promise<void>;
  /** Sets a limit that ends by itself, also without a connection. */
  setLease(request: RequestOf<'setLease'>): Promise<void>;
  /** Shows the limit that the charger holds, and the end of that limit. */
  readSchedule(request: RequestOf<'readSchedule'>): Promise<ShownSchedule>;
  /** The status of a connector follows as a report. */
  askStatus(evse: number): Promise<void>;
  /** The meter values of a connector follow as a report. */
  askValues(evse: number): Promise<void>;
  /** Removes a limit. It is missing for a charger in which each limit replaces the one before. */
  clear?(request: RequestOf<'clear'>): Promise<void>;
}

/** Never rejects: a failure is an answer too. */
export async function performRequest(
  dialect: ChargerDialect,
  request: GatewayRequest,
): Promise<GatewayAnswer> {
  try {
    return await perform(dialect, request);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (error instanceof ChargerRefusal) return { kind: 'refused', why };
    return { kind: 'failed', why, name: dialect.names[request.kind] };
  }
}

async function perform(dialect: ChargerDialect, request: GatewayRequest): Promise<GatewayAnswer> {
  switch (request.kind) {
    case 'readAbilities':
      return { kind: 'abilities', abilities: await dialect.readAbilities() };
    case 'readSchedule':
      return { kind: 'schedule', schedule: await dialect.readSchedule(request) };
    case 'sample':
      await dialect.sample(request);
      break;
    case 'setFailsafe':
      await dialect.setFailsafe(request);
      break;
    case 'setLease':
      await dialect.setLease(request);
      break;
    case 'clear':
      await dialect.clear?.(request);
      break;
    case 'askStatus':
    case 'askValues':
      await dialect[request.kind](request.evse);
  }
  return { kind: 'done' };
}
