// State of a simulated world at an instant: the newest event about each thing in the world.
import { compareNaturally } from '../../machines/values/natural-order.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { TraceEvent } from './trace-event.js';

export type EventOf<K extends TraceEvent['kind']> = Extract<TraceEvent, { kind: K }>;

export interface ConnectorAt extends EventOf<'connector'> {
  /** Newest limit that left the service for the connector; the message may have been lost. */
  readonly grant?: EventOf<'grant'>;
  /** The connected car. */
  readonly session?: EventOf<'session'>;
}

export interface LocationAt {
  readonly locationId: string;
  /** Absent until the trace has an event with the limit. */
  readonly limitW?: number;
  readonly powerW?: number;
  readonly connectors: readonly ConnectorAt[];
}

/** The whole state at `atMs`, after all events of that instant. */
export interface TraceState {
  readonly atMs: EpochMs;
  readonly locations: readonly LocationAt[];
  /** Newest profile of each slot of each target, without the profiles that have ended. */
  readonly profiles: readonly EventOf<'profile'>[];
  /** Faults and alarms that have not ended. */
  readonly faults: readonly EventOf<'fault'>[];
  readonly alarms: readonly EventOf<'alarm'>[];
  /** One for each line of the grid; phase to neutral. */
  readonly voltages: readonly EventOf<'voltage'>[];
  readonly lastAction: EventOf<'action'> | undefined;
  readonly lastViolation: EventOf<'violation'> | undefined;
}

export interface ConnectorName {
  readonly controllerUuid: string;
  readonly connectorId: string;
}

interface ConnectorNews {
  connector?: EventOf<'connector'> | undefined;
  grant?: EventOf<'grant'> | undefined;
  session?: EventOf<'session'> | undefined;
}
interface LocationNews {
  limit?: EventOf<'limit'> | undefined;
  power?: EventOf<'power'> | undefined;
}

export class TraceStateFold {
  readonly #connectors = new Map<string, Map<string, ConnectorNews>>();
  readonly #locations = new Map<string, LocationNews>();
  readonly #profiles = new Map<string, EventOf<'profile'>>();
  readonly #faults = new Map<string, EventOf<'fault'>>();
  readonly #alarms = new Map<string, EventOf<'alarm'>>();
  readonly #voltages = new Map<string, EventOf<'voltage'>>();
  #lastAction: EventOf<'action'> | undefined;
  #lastViolation: EventOf<'violation'> | undefined;

  apply(event: TraceEvent): void {
    switch (event.kind) {
      case 'connector':
        this.#newsOfConnector(event).connector = event;
        break;
      case 'grant':
        this.#newsOfConnector(event).grant = event;
        break;
      case 'session':
        this.#newsOfConnector(event).session = event.what === 'left' ? undefined : event;
        break;
      case 'limit':
        this.#newsOfLocation(event.locationId).limit = event;
        break;
      case 'power':
        this.#newsOfLocation(event.locationId).power = event;
        break;
      case 'profile':
        this.#profiles.set(`${event.priority} ${event.target}`, event);
        break;
      case 'fault':
        putWhileOn(this.#faults, `${event.fault} ${event.target}`, event);
        break;
      case 'alarm':
        putWhileOn(this.#alarms, `${event.alarm} ${event.target}`, event);
        break;
      case 'voltage':
        this.#voltages.set(event.line, event);
        break;
      case 'action':
        this.#lastAction = event;
        break;
      case 'violation':
        this.#lastViolation = event;
        break;
    }
  }

  /** The events that make up the state. Applied to an empty fold, they give the same state. */
  newest(): readonly TraceEvent[] {
    const ofConnectors = [...this.#connectors.values()].flatMap((held) => [...held.values()]);
    return [
      ...[...this.#locations.values()].flatMap(({ limit, power }) => [limit, power]),
      ...ofConnectors.flatMap(({ connector, grant, session }) => [connector, grant, session]),
      ...this.#profiles.values(),
      ...this.#faults.values(),
      ...this.#alarms.values(),
      ...this.#voltages.values(),
      this.#lastAction,
      this.#lastViolation,
    ].filter((event) => event !== undefined);
  }

  /** @param connector narrows connectors and locations to this connector and its location. */
  at(instant: EpochMs, connector?: ConnectorName): TraceState {
    return {
      atMs: instant,
      locations: this.#locationsAt(connector),
      profiles: [...this.#profiles.values()].filter(({ endsAtMs }) => endsAtMs > instant),
      faults: [...this.#faults.values()],
      alarms: [...this.#alarms.values()],
      voltages: [...this.#voltages.values()],
      lastAction: this.#lastAction,
      lastViolation: this.#lastViolation,
    };
  }

  #connectorsAt(asked: ConnectorName | undefined): ConnectorAt[] {
    const all =
      asked === undefined
        ? [...this.#connectors.values()].flatMap((held) => [...held.values()])
        : [this.#newsOfConnector(asked)];
    return all.flatMap(({ connector, grant, session }) =>
      connector === undefined
        ? []
        : [
            {
              ...connector,
              ...(grant === undefined ? {} : { grant }),
              ...(session === undefined ? {} : { session }),
            },
          ],
    );
  }

  #locationsAt(asked: ConnectorName | undefined): LocationAt[] {
    const held = new Map<string, ConnectorAt[]>();
    for (const connector of this.#connectorsAt(asked))
      entryOf(held, connector.locationId, (): ConnectorAt[] => []).push(connector);
    const ids = asked === undefined ? [...this.#locations.keys(), ...held.keys()] : [...held.keys()];
    return [...new Set(ids)].sort(compareNaturally).map((locationId) => {
      const { limit, power } = this.#locations.get(locationId) ?? {};
      return {
        locationId,
        ...(limit === undefined ? {} : { limitW: limit.limitW }),
        ...(power === undefined ? {} : { powerW: power.powerW }),
        connectors: held.get(locationId) ?? [],
      };
    });
  }

  #newsOfConnector({ controllerUuid, connectorId }: ConnectorName): ConnectorNews {
    const ofCharger = entryOf(this.#connectors, controllerUuid, () => new Map<string, ConnectorNews>());
    return entryOf(ofCharger, connectorId, (): ConnectorNews => ({}));
  }

  #newsOfLocation(locationId: string): LocationNews {
    return entryOf(this.#locations, locationId, (): LocationNews => ({}));
  }
}

function putWhileOn<E extends { readonly isOn: boolean }>(open: Map<string, E>, key: string, event: E): void {
  if (event.isOn) open.set(key, event);
  else open.delete(key);
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const held = map.get(key);
  if (held !== undefined) return held;
  const made = make();
  map.set(key, made);
  return made;
}
