// Mutants of the machines. Each lacks one transition, one action or one state, and exists only in a test process.
import { readdirSync } from 'node:fs';
import { getStateNodes } from '@xstate/graph';
import type { AnyStateMachine, AnyStateNode } from 'xstate';

export interface Mutant {
  /** The missing part, as `connector.lock.locked: always 1 → connector.lock.unlocked`. */
  readonly name: string;
  /** The machine's id. */
  readonly machine: string;
  /**
   * Removes the part for every actor created from now on.
   * @returns a function that restores the part
   */
  plant(): () => void;
}

/** One part, as an edit of a fresh copy of its machine. */
interface Cut {
  readonly name: string;
  cut(nodes: ReadonlyMap<string, AnyStateNode>): void;
}

const FOLDER = new URL('../../machines/', import.meta.url);

/** The bundle has a class StateMachine of its own, so `instanceof` does not work. */
function isMachine(value: unknown): value is AnyStateMachine {
  return typeof value === 'object' && value !== null && 'implementations' in value && 'provide' in value;
}

const FILES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.machine.ts'),
);
const MODULES: readonly object[] = await Promise.all(
  FILES.map((name) => import(/* @vite-ignore */ new URL(name, FOLDER).pathname)),
);

/** Every machine of `machines/`, by its id. */
export const MACHINES: ReadonlyMap<string, AnyStateMachine> = new Map(
  MODULES.flatMap((each) => Object.values(each).filter(isMachine))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((machine) => [machine.id, machine]),
);

/**
 * A mutant for each transition, each action of a transition with several, each entry or exit action, and each state.
 */
export function mutantsOf(machine: AnyStateMachine): readonly Mutant[] {
  const nodes = [...nodesOf(machine).values()];
  const cuts = [
    ...nodes.flatMap((node) => [...transitionCuts(node), ...entryCuts(node)]),
    ...nodes.filter(hasAlternative).map(stateCut),
  ];
  return cuts.map(({ name, cut }) => ({ name, machine: machine.id, plant: () => plant(machine, cut) }));
}

/**
 * Changes the machine object itself, because others refer to it: a location spawns connectors from this object. The cut
 * goes into a fresh copy, because XState caches lookups by node.
 */
function plant(machine: AnyStateMachine, cut: Cut['cut']): () => void {
  const { root, states } = machine;
  const copy: AnyStateMachine = machine.provide({});
  cut(nodesOf(copy));
  Object.assign(machine, { root: copy.root, states: copy.states });
  return () => void Object.assign(machine, { root, states });
}

function nodesOf(machine: AnyStateMachine): Map<string, AnyStateNode> {
  return new Map([machine.root, ...getStateNodes(machine)].map((node) => [node.id, node]));
}

/** All transitions of a node in lists that can be shortened: those on events and the eventless ones. */
function transitionsOf(node: AnyStateNode) {
  return [...node.transitions.values(), node.always ?? []];
}

function transitionCuts(node: AnyStateNode): Cut[] {
  return transitionsOf(node).flatMap((list, l) =>
    list.flatMap(({ eventType, target, actions }, t) => {
      const event = eventType === '' ? 'always' : eventType;
      const nth = list.length > 1 ? ` ${t + 1}` : '';
      const way = target === undefined ? '' : ` → ${target.map(({ id }) => id).join(', ')}`;
      const name = `${node.id}: ${event}${nth}${way}`;
      const listIn = (nodes: ReadonlyMap<string, AnyStateNode>) =>
        transitionsOf(nodeIn(nodes, node))[l] ?? [];
      const whole: Cut = { name, cut: (nodes) => void listIn(nodes).splice(t, 1) };
      if (actions.length < 2 && target === undefined) return [whole];
      const parts = actions.map(
        (action, a): Cut => ({
          name: `${name}, without ${nameOf(action)}`,
          // A new list, because the transition holds the list of the machine's own definition.
          cut: (nodes) => void Object.assign(listIn(nodes)[t] ?? {}, { actions: actions.toSpliced(a, 1) }),
        }),
      );
      return [whole, ...parts];
    }),
  );
}

function entryCuts(node: AnyStateNode): Cut[] {
  return (['entry', 'exit'] as const).flatMap((when) =>
    node[when].map((action, a) => ({
      name: `${node.id}: ${when} without ${nameOf(action)}`,
      cut: (nodes) => void (nodeIn(nodes, node)[when] as unknown[]).splice(a, 1),
    })),
  );
}

/** Removes the state and all transitions to it. If its parent began in it, the parent begins in the next state. */
function stateCut(removed: AnyStateNode): Cut {
  return {
    name: `${removed.id}: the state`,
    cut(nodes) {
      const own = nodeIn(nodes, removed);
      for (const node of nodes.values())
        for (const list of transitionsOf(node))
          for (let t = list.length - 1; t >= 0; t--) if (list[t]?.target?.includes(own)) list.splice(t, 1);
      const { parent } = own;
      if (parent?.initial.target.includes(own) !== true) return;
      const next = Object.values(parent.states).find((sibling) => sibling !== own);
      Object.assign(parent.initial, { target: [next] });
    },
  };
}

/** The root and the regions of a parallel state have no alternative. */
function hasAlternative({ parent }: AnyStateNode): boolean {
  return parent?.type === 'compound' && Object.keys(parent.states).length > 1;
}

function nodeIn(nodes: ReadonlyMap<string, AnyStateNode>, { id }: AnyStateNode): AnyStateNode {
  const found = nodes.get(id);
  if (found === undefined) throw new Error(`no state ${id}`);
  return found;
}

function nameOf(action: unknown): string {
  if (typeof action === 'string') return action;
  if (typeof action === 'object' && action !== null && 'type' in action) return String(action.type);
  return 'an action';
}
