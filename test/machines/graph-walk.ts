// Walks the graph of a machine: every reachable state by its shortest path, and every event in each state.
import { getStateNodes } from '@xstate/graph';
import {
  type AnyStateMachine,
  createActor,
  type EventFrom,
  type InputFrom,
  type InspectionEvent,
  type SnapshotFrom,
  type StateValue,
  type TransitionDefinition,
} from 'xstate';

/** One edge of the graph. `events` end with this edge. */
export interface Walk<TSnapshot, TEvent> {
  readonly events: readonly TEvent[];
  readonly from: TSnapshot;
  readonly to: TSnapshot;
}

export interface GraphOptions<TSnapshot, TEvent, TInput> {
  readonly input: TInput;
  readonly events: readonly TEvent[];
  /** States whether an event may follow the others. By default any event may. */
  isPossible?(way: readonly TEvent[], event: TEvent): boolean;
  /** Events sent to the actor for an event of the walk. By default the event alone. */
  sentFor?(event: TEvent): readonly TEvent[];
  /** Two snapshots with the same result are the same state of the graph. */
  serializeState(snapshot: TSnapshot): string;
}

/**
 * Every edge of the graph that `events` span, with the shortest path to its start. The walk uses running actors,
 * because a machine's behaviour may depend on the states of its children.
 */
export function everyWalk<TMachine extends AnyStateMachine>(
  machine: TMachine,
  {
    input,
    events,
    serializeState,
    isPossible = () => true,
    sentFor = (event) => [event],
  }: GraphOptions<SnapshotFrom<TMachine>, EventFrom<TMachine>, InputFrom<TMachine>>,
): Walk<SnapshotFrom<TMachine>, EventFrom<TMachine>>[] {
  const stateAfter = (way: readonly EventFrom<TMachine>[]): SnapshotFrom<TMachine> => {
    const actor = createActor(machine as AnyStateMachine, { input }).start();
    for (const event of way.flatMap(sentFor)) actor.send(event);
    return actor.getSnapshot() as SnapshotFrom<TMachine>;
  };
  const seen = new Set<string>();
  const walks: Walk<SnapshotFrom<TMachine>, EventFrom<TMachine>>[] = [];
  const open: { readonly way: readonly EventFrom<TMachine>[]; readonly from: SnapshotFrom<TMachine> }[] = [];
  const visit = (way: readonly EventFrom<TMachine>[], from: SnapshotFrom<TMachine>): void => {
    const name = serializeState(from);
    if (seen.has(name)) return;
    seen.add(name);
    open.push({ way, from });
  };
  visit([], stateAfter([]));
  for (const { way, from } of open) {
    for (const event of events) {
      if (!isPossible(way, event)) continue;
      const longer = [...way, event];
      const to = stateAfter(longer);
      walks.push({ events: longer, from, to });
      visit(longer, to);
    }
  }
  return walks;
}

/**
 * Precedes the event by a boundary at the same instant, as the directory does: due boundaries take effect before the
 * event.
 */
export function inTime<TEvent extends { readonly type: string }>(
  event: TEvent,
): readonly (TEvent | { readonly type: 'boundary.reached'; readonly now: number })[] {
  if (!('now' in event) || typeof event.now !== 'number' || event.type === 'boundary.reached') return [event];
  return [{ type: 'boundary.reached', now: event.now }, event];
}

/** Events with an instant come in the order of time. If a clock goes back, the service builds everything anew. */
export function isLater(way: readonly object[], event: object): boolean {
  const instantOf = (each: object): number => {
    if ('event' in each && each.event instanceof Object) return instantOf(each.event);
    return 'now' in each && typeof each.now === 'number' ? each.now : Number.NEGATIVE_INFINITY;
  };
  const now = instantOf(event);
  return now === Number.NEGATIVE_INFINITY || way.every((before) => instantOf(before) <= now);
}

/** One line for each edge, such as `locked.free.online → unlocked.free.online`, for comparison. */
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

/** Records the transitions that running actors take. Pass `inspect` to `createActor`. */
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
    /** Names of the transitions that no actor took. */
    untaken: (): string[] => [...untaken.values()],
  };
}
