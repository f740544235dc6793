// Draws the machines of the running code as Mermaid state diagrams into the page that explains them.
import { getStateNodes } from '@xstate/graph';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { MACHINES } from '../mutants/mutants.js';

export const MACHINES_PAGE = 'docs/machines.md';

const DRAWING = /(```mermaid shown: drawn from machines\/\w+\/([\w-]+)\.machine\.ts\n)[^`]*(```)/g;

/** The machines that a page draws, by id. */
export function drawnIn(page: string): string[] {
  return [...page.matchAll(DRAWING)].map(([, , file = '']) => idOf(file));
}

/** The page with all its drawings redrawn. @throws Error if a drawn machine does not exist */
export function redrawn(page: string): string {
  return page.replaceAll(DRAWING, (_, opening: string, file: string, closing: string) => {
    const id = idOf(file);
    const machine = MACHINES.get(id);
    if (machine === undefined) throw new Error(`there is no machine ${id}`);
    return `${opening}${drawingOf(machine)}${closing}`;
  });
}

/** `site-meter.machine.ts` has the machine `siteMeter`. */
function idOf(file: string): string {
  return file.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** A transition to another state is an arrow. The box of a state lists events without a change of state. */
function drawingOf({ root }: AnyStateMachine): string {
  const everywhere = stayingLabels(root);
  const [first] = Object.keys(root.states);
  const lines =
    first === undefined
      ? boxOf(root.id, everywhere)
      : [...statesOf(root), ...noteOf(root.type === 'parallel' ? root.id : first, everywhere)];
  return ['stateDiagram-v2', ...indented(lines)].map((line) => `${line}\n`).join('');
}

/** A state with its inner actions; Mermaid takes the first line for its name. */
/** Mermaid's names apply to the whole drawing, so a key of several states gets its parent's in front. */
function nameIn(node: AnyStateNode): string {
  const { key, parent, machine } = node;
  const isAmbiguous = getStateNodes(machine).filter((each) => each.key === key).length > 1;
  return isAmbiguous && parent !== undefined ? `${parent.key}_${key}` : key;
}

function boxOf(state: string, labels: readonly string[]): string[] {
  return labels.length === 0 ? [] : [state, ...labels].map((line) => `${state}: ${line}`);
}

function noteOf(state: string, labels: readonly string[]): string[] {
  return labels.length === 0
    ? []
    : [`note right of ${state}`, ...indented(['in every state:', ...labels]), 'end note'];
}

function statesOf(node: AnyStateNode): string[] {
  const children = Object.values(node.states);
  const inner = children.map((child) => [...insideOf(child), ...arrowsFrom(child)]);
  if (node.type === 'parallel') {
    const regions = inner.flatMap((lines, i) => (i === 0 ? lines : ['--', ...lines]));
    return [`state ${node.key} {`, ...indented(regions), '}'];
  }
  const begins = node.initial.target.map((first) => `[*] --> ${nameIn(first)}`);
  // Transitions of the parent apply in each of its states.
  const shared = transitionsOf(node).flatMap(({ target = [], label }) =>
    target.flatMap((to) =>
      children.filter((child) => child !== to).map((child) => `${nameIn(child)} --> ${nameIn(to)}: ${label}`),
    ),
  );
  return [...begins, ...inner.flat(), ...shared];
}

function insideOf(node: AnyStateNode): string[] {
  const labels = boxOf(nameIn(node), stayingLabels(node));
  if (Object.keys(node.states).length === 0) return labels;
  return [`state ${nameIn(node)} {`, ...indented(statesOf(node)), '}', ...labels];
}

function arrowsFrom(node: AnyStateNode): string[] {
  return transitionsOf(node).flatMap(({ target = [], label }) =>
    target.filter(({ parent }) => parent !== node).map((to) => `${nameIn(node)} --> ${nameIn(to)}: ${label}`),
  );
}

function stayingLabels(node: AnyStateNode): string[] {
  const entries = node.entry.map((action) => `entry / ${nameOf(action)}`);
  const exits = node.exit.map((action) => `exit / ${nameOf(action)}`);
  const events = transitionsOf(node).filter(({ target }) => target === undefined);
  return [...entries, ...exits, ...events.map(({ label }) => label)];
}

/** All transitions of a node, each as `event [guard] / action, action`. */
function transitionsOf(node: AnyStateNode) {
  return [...node.transitions.values(), node.always ?? []]
    .flat()
    .map(({ eventType, guard, actions, target }) => ({
      target,
      label: [
        eventType,
        guard === undefined ? '' : `[${nameOf(guard)}]`,
        actions.length === 0 ? '' : `/ ${actions.map(nameOf).join(', ')}`,
      ]
        .filter((part) => part !== '')
        .join(' '),
    }));
}

function nameOf(part: unknown): string {
  if (typeof part === 'string') return part;
  return typeof part === 'object' && part !== null && 'type' in part ? String(part.type) : '…';
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
