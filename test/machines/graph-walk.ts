// Walks a machine's graph: every reachable state by its shortest path, and from each of them every event.
import { type AdjacencyMap, getAdjacencyMap, getShortestPaths, getStateNodes } from '@xstate/graph';
import type {
  ActorLogic,
  ActorSystem,
  ActorSystemInfo,
  AnyStateMachine,
  EventObject,
  InspectionEvent,
  Snapshot,
  StateValue,
  TransitionDefinition,
} from 'xstate';

/** One edge: `events` lead to a state, the last of them by this edge. */
export interface Walk<TSnapshot, TEvent> {
  readonly events: readonly TEvent[];
  readonly from: TSnapshot;
  readonly to: TSnapshot;
}

export interface GraphOptions<TSnapshot, TEvent, TInput> {
  readonly input: TInput;
  readonly events: readonly TEvent[];
  /** What makes two snapshots the same state of the graph. */
  serializeState(snapshot: TSnapshot): string;
}

/** Every edge of the graph that `events` span, each with the shortest way to where it begins. */
export function everyWalk<
  TSnapshot extends Snapshot<unknown>,
  TEvent extends EventObject,
  TInput,
  TEmitted extends EventObject,
>(
  machine: ActorLogic<TSnapshot, TEvent, TInput, ActorSystem<ActorSystemInfo>, TEmitted>,
  options: GraphOptions<TSnapshot, TEvent, TInput>,
): Walk<TSnapshot, TEvent>[] {
  // A graph has no listeners: what a machine emits does not matter to it, but the types know only of untyped effects.
  const logic = machine as unknown as ActorLogic<TSnapshot, TEvent, TInput>;
  const adjacency = getAdjacencyMap(logic, options);
  return getShortestPaths(logic, options).flatMap(({ state, steps }) => {
    const way = steps.slice(1).map(({ event }) => event);
    const key = options.serializeState(state) as keyof AdjacencyMap<TSnapshot, TEvent>;
    const transitions = adjacency[key]?.transitions ?? {};
    const edges = Object.values<{ event: TEvent; state: TSnapshot }>(transitions);
    return edges.map((edge) => ({ events: [...way, edge.event], from: state, to: edge.state }));
  });
}

/** `locked.free.online → unlocked.free.online`, for comparing which states follow which. */
export function edgesOf(
  walks: readonly { readonly from: { value: StateValue }; readonly to: { value: StateValue } }[],
) {
  const name = (value: StateValue): string =>
    typeof value === 'string'
      ? value
      : Object.values(value)
          .map((each) => name(each ?? ''))
          .join('.');
  return {
    states: new Set(walks.flatMap(({ from, to }) => [name(from.value), name(to.value)])),
    changes: new Set(walks.map(({ from, to }) => `${name(from.value)} → ${name(to.value)}`)),
  };
}

type AnyTransition = TransitionDefinition<never, never>;

/** Which of a machine's transitions running actors took. Hand `inspect` to `createActor`. */
export function watchTransitions(machine: AnyStateMachine) {
  const names = new Map<object, string>();
  for (const node of [machine.root, ...getStateNodes(machine)]) {
    for (const [i, transition] of [...node.transitions.values(), node.always ?? []].flat().entries()) {
      const { eventType, target } = transition as unknown as AnyTransition;
      names.set(transition, `${node.id} ${i}: ${eventType} → ${target?.map(({ id }) => id) ?? '(stays)'}`);
    }
  }
  const untaken = new Map(names);
  return {
    count: names.size,
    inspect(event: InspectionEvent): void {
      if (event.type !== '@xstate.microstep') return;
      for (const transition of event._transitions) untaken.delete(transition);
    },
    /** Transitions nobody took, by name. */
    untaken: (): string[] => [...untaken.values()],
  };
}
