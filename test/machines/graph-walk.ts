// Walks a machine's graph: every reachable state by its shortest path, and from each of them every event.
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

/** One edge: `events` lead to a state, the last of them by this edge. */
export interface Walk<TSnapshot, TEvent> {
  readonly events: readonly TEvent[];
  readonly from: TSnapshot;
  readonly to: TSnapshot;
}

export interface GraphOptions<TSnapshot, TEvent, TInput> {
  readonly input: TInput;
  readonly events: readonly TEvent[];
  /** Whether an event may follow on others; any may, where it is left out. */
  isPossible?(way: readonly TEvent[], event: TEvent): boolean;
  /** What an actor is sent for an event; the event alone, where it is left out. */
  sentFor?(event: TEvent): readonly TEvent[];
  /** What makes two snapshots the same state of the graph. */
  serializeState(snapshot: TSnapshot): string;
}

/**
 * Every edge of the graph that `events` span, each with the shortest way to where it begins. It is walked with running
 * actors, because what a machine does may hang on the states of its children.
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

/** Time comes first: what began or ended by an event's instant is told before the event, as the directory does. */
export function inTime<TEvent extends { readonly type: string }>(
  event: TEvent,
): readonly (TEvent | { readonly type: 'boundary.reached'; readonly now: number })[] {
  if (!('now' in event) || typeof event.now !== 'number' || event.type === 'boundary.reached') return [event];
  return [{ type: 'boundary.reached', now: event.now }, event];
}

/** Events that carry an instant come in the order of time: where a clock goes back everything is built anew. */
export function isLater(way: readonly object[], event: object): boolean {
  const instantOf = (each: object): number => {
    if ('event' in each && each.event instanceof Object) return instantOf(each.event);
    return 'now' in each && typeof each.now === 'number' ? each.now : Number.NEGATIVE_INFINITY;
  };
  const now = instantOf(event);
  return now === Number.NEGATIVE_INFINITY || way.every((before) => instantOf(before) <= now);
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
