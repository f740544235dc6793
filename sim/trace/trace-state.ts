// The state of a simulated world at an instant, which is the newest event about each thing in it.
import type { EpochMs } from '../../machines/values/time.js';
import type { TraceEvent } from './trace-event.js';

export type EventOf<K extends TraceEvent['kind']> = Extract<TraceEvent, { kind: K }>;

export interface ConnectorAt extends EventOf<'connector'> {
  /** The newest limit that left the service for it, whether or not it arrived. */
  readonly grant?: EventOf<'grant'>;
  /** The car that is there. */
  readonly session?: EventOf<'session'>;
}

export interface LocationAt {
  readonly locationId: string;
  /** Absent until the trace has told it. */
  readonly limitW?: number;
  readonly powerW?: number;
  readonly connectors: readonly ConnectorAt[];
}

/** The whole state at `atMs`, everything that happened at that instant included. */
export interface TraceState {
  readonly atMs: EpochMs;
  readonly locations: readonly LocationAt[];
  /** The newest profile of each slot of each target, unless it has ended. */
  readonly profiles: readonly EventOf<'profile'>[];
  /** Faults and alarms that last. */
  readonly faults: readonly EventOf<'fault'>[];
  readonly alarms: readonly EventOf<'alarm'>[];
  readonly lastAction: EventOf<'action'> | undefined;
  readonly lastViolation: EventOf<'violation'> | undefined;
}

export interface TraceStateFold {
  apply(event: TraceEvent): void;
  /** The events that make up the state: applied to an empty one they give this one. */
  newest(): readonly TraceEvent[];
  /** @param connector narrows connectors and locations to this one's. */
  at(instant: EpochMs, connector?: ConnectorName): TraceState;
}

export interface ConnectorName {
  readonly controllerUuid: string;
  readonly connectorId: string;
}

/** What is known of one connector, and of one location. */
interface ConnectorNews {
  connector?: EventOf<'connector'> | undefined;
  grant?: EventOf<'grant'> | undefined;
  session?: EventOf<'session'> | undefined;
}
interface LocationNews {
  limit?: EventOf<'limit'> | undefined;
  power?: EventOf<'power'> | undefined;
}

/** Begins with a world of which nothing is known. */
export function createTraceState(): TraceStateFold {
  const connectors = new Map<string, Map<string, ConnectorNews>>();
  const locations = new Map<string, LocationNews>();
  const profiles = new Map<string, EventOf<'profile'>>();
  const faults = new Map<string, EventOf<'fault'>>();
  const alarms = new Map<string, EventOf<'alarm'>>();
  let lastAction: EventOf<'action'> | undefined;
  let lastViolation: EventOf<'violation'> | undefined;

  const newsOfConnector = ({ controllerUuid, connectorId }: ConnectorName) =>
    entryOf(
      entryOf(connectors, controllerUuid, () => new Map<string, ConnectorNews>()),
      connectorId,
      (): ConnectorNews => ({}),
    );
  const newsOfLocation = (locationId: string) => entryOf(locations, locationId, (): LocationNews => ({}));

  function apply(event: TraceEvent): void {
    switch (event.kind) {
      case 'connector':
        newsOfConnector(event).connector = event;
        break;
      case 'grant':
        newsOfConnector(event).grant = event;
        break;
      case 'session':
        newsOfConnector(event).session = event.what === 'left' ? undefined : event;
        break;
      case 'limit':
        newsOfLocation(event.locationId).limit = event;
        break;
      case 'power':
        newsOfLocation(event.locationId).power = event;
        break;
      case 'profile':
        profiles.set(`${event.priority} ${event.target}`, event);
        break;
      case 'fault':
        putWhileOn(faults, `${event.fault} ${event.target}`, event);
        break;
      case 'alarm':
        putWhileOn(alarms, `${event.alarm} ${event.target}`, event);
        break;
      case 'action':
        lastAction = event;
        break;
      case 'violation':
        lastViolation = event;
        break;
    }
  }

  function newest(): TraceEvent[] {
    const ofConnectors = [...connectors.values()].flatMap((held) => [...held.values()]);
    return [
      ...[...locations.values()].flatMap(({ limit, power }) => [limit, power]),
      ...ofConnectors.flatMap(({ connector, grant, session }) => [connector, grant, session]),
      ...profiles.values(),
      ...faults.values(),
      ...alarms.values(),
      lastAction,
      lastViolation,
    ].filter((event) => event !== undefined);
  }

  function connectorsAt(asked: ConnectorName | undefined): ConnectorAt[] {
    const all =
      asked === undefined
        ? [...connectors.values()].flatMap((held) => [...held.values()])
        : [newsOfConnector(asked)];
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

  function locationsAt(asked: ConnectorName | undefined): LocationAt[] {
    const held = new Map<string, ConnectorAt[]>();
    for (const connector of connectorsAt(asked))
      entryOf(held, connector.locationId, (): ConnectorAt[] => []).push(connector);
    const ids = asked === undefined ? [...locations.keys(), ...held.keys()] : [...held.keys()];
    return [...new Set(ids)].sort().map((locationId) => {
      const { limit, power } = locations.get(locationId) ?? {};
      return {
        locationId,
        ...(limit === undefined ? {} : { limitW: limit.limitW }),
        ...(power === undefined ? {} : { powerW: power.powerW }),
        connectors: held.get(locationId) ?? [],
      };
    });
  }

  return {
    apply,
    newest,
    at: (instant, connector) => ({
      atMs: instant,
      locations: locationsAt(connector),
      profiles: [...profiles.values()].filter(({ endsAtMs }) => endsAtMs > instant),
      faults: [...faults.values()],
      alarms: [...alarms.values()],
      lastAction,
      lastViolation,
    }),
  };
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
