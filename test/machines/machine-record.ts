// Records all that the machines of locations and their supervisors receive, and replays it with XState's pure
// transitions. Only the record, the machine and a fresh supervisor decide.
import { isDeepStrictEqual } from 'node:util';
import {
  type AnyActorRef,
  type ExecutableActionsFrom,
  initialTransition,
  type SnapshotFrom,
  transition,
} from 'xstate';
import type { GrantTiming } from '../../machines/ledger/grant.js';
import {
  type LocationEvent,
  type LocationInput,
  locationMachine,
} from '../../machines/power/location.machine.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';

/** The parts of a supervisor that the runtime calls besides the machine. */
const PARTS = ['supervisor', 'meters', 'reserved'] as const;
type Part = (typeof PARTS)[number];

type Method = (...args: unknown[]) => unknown;

/** An input in the order of its arrival, with its visible result as plain data. */
type Entry =
  | { readonly kind: 'built'; readonly input: Omit<LocationInput, 'supervisor'> }
  | { readonly kind: 'event'; readonly event: LocationEvent; readonly result: unknown }
  | {
      readonly kind: 'call';
      readonly part: Part;
      readonly name: string;
      readonly args: readonly unknown[];
      result: unknown;
    };

/** The record of one supervisor, from its start to its end. */
export interface Life {
  readonly timing: GrantTiming;
  readonly entries: readonly Entry[];
}

/** A result that differs in the replay. */
interface Difference {
  readonly entry: Entry;
  readonly replayed: unknown;
}

/** Prototypes of the parts: two of their classes are not exported. */
function prototypesOf(): readonly (readonly [Part, object])[] {
  const timing = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
  const parts = partsOf(new LocationSupervisor({ timing, ownerTerm: 1 }));
  return PARTS.map((part) => [part, Object.getPrototypeOf(parts[part])] as const);
}

function partsOf(supervisor: LocationSupervisor): Readonly<Record<Part, object>> {
  return { supervisor, meters: supervisor.meters, reserved: supervisor.reserved };
}

// Plain data in place of connectors, their meter slots, and functions.

interface Reference {
  readonly referenceTo: 'connector' | 'slot' | 'function';
  readonly key: string;
}

function referenceOf(value: object): Reference | undefined {
  if (typeof value === 'function') return { referenceTo: 'function', key: '' };
  if (!('key' in value)) return undefined;
  const key = String(value.key);
  if ('account' in value) return { referenceTo: 'connector', key };
  return 'staleAfterMs' in value ? { referenceTo: 'slot', key } : undefined;
}

/** A copy that later changes of connectors leave alone. */
function plain(value: unknown): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  return (
    referenceOf(value) ?? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
  );
}

function isReference(value: object): value is Reference {
  return 'referenceTo' in value;
}

/** The same with the connectors of `supervisor`. */
function revived(value: unknown, supervisor: LocationSupervisor): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => revived(each, supervisor));
  if (!isReference(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, revived(each, supervisor)]));
  if (value.referenceTo === 'function') return () => {};
  const connector = supervisor.connectors.get(value.key);
  return value.referenceTo === 'connector' ? connector : connector?.telemetry.slot;
}

function decisionIn({ context }: SnapshotFrom<typeof locationMachine>, { type }: LocationEvent): unknown {
  return type === 'decision.due' ? plain(context.decision) : undefined;
}

/** Records from its construction until `stop`, in every world of this process. */
export class MachineRecorder {
  readonly #lives = new Map<object, { readonly timing: GrantTiming; readonly entries: Entry[] }>();
  readonly #restore: (() => void)[] = [];
  /** Calls of the machine and of the parts among themselves are consequences, and no inputs. */
  #isWithin = false;

  constructor() {
    this.#recordMachine();
    for (const [part, prototype] of prototypesOf())
      for (const name of Object.getOwnPropertyNames(prototype)) this.#recordCalls(part, prototype, name);
  }

  get lives(): readonly Life[] {
    return [...new Set(this.#lives.values())];
  }

  stop(): void {
    for (const restore of this.#restore.splice(0)) restore();
  }

  #recordMachine(): void {
    const { transition: pass, getInitialSnapshot: build } = locationMachine;
    locationMachine.getInitialSnapshot = (scope, input) => {
      const { supervisor, ...rest } = input as LocationInput;
      const life = this.#lives.get(supervisor) ?? { timing: supervisor.timing, entries: [] };
      for (const part of Object.values(partsOf(supervisor))) this.#lives.set(part, life);
      const connectors = structuredClone(rest.connectors);
      life.entries.push({ kind: 'built', input: { ...rest, connectors } });
      return this.#within(() => build(scope, input));
    };
    locationMachine.transition = (snapshot, event, scope) => {
      // XState adds events of its own, such as the start.
      if (event.type.startsWith('xstate.')) return pass(snapshot, event, scope);
      const copy = structuredClone(event);
      const next = this.#within(() => pass(snapshot, event, scope));
      const result = decisionIn(next, event);
      this.#lives.get(snapshot.context.supervisor)?.entries.push({ kind: 'event', event: copy, result });
      return next;
    };
    this.#restore.push(() => {
      Object.assign(locationMachine, { transition: pass, getInitialSnapshot: build });
    });
  }

  #recordCalls(part: Part, prototype: object, name: string): void {
    const own = Object.getOwnPropertyDescriptor(prototype, name);
    const method: unknown = own?.value;
    if (own === undefined || typeof method !== 'function' || name === 'constructor') return;
    const isWithin = () => this.#isWithin;
    const entriesOf = (owner: object) => this.#lives.get(owner)?.entries;
    const within = (run: () => unknown) => this.#within(run);
    const without = (run: () => unknown) => this.#within(run, false);
    function recorded(this: object, ...args: unknown[]): unknown {
      const entries = entriesOf(this);
      if (isWithin() || entries === undefined) return Reflect.apply(method as Method, this, args);
      const entry: Entry = { kind: 'call', part, name, args: args.map(plain), result: undefined };
      entries.push(entry);
      // A call back is the runtime's own, with inputs of its own.
      const passed = args.map((arg) =>
        typeof arg === 'function' ? (...given: unknown[]) => without(() => arg(...given)) : arg,
      );
      const result = within(() => Reflect.apply(method as Method, this, passed));
      entry.result = plain(result);
      return result;
    }
    Object.defineProperty(prototype, name, { ...own, value: recorded });
    this.#restore.push(() => void Object.defineProperty(prototype, name, own));
  }

  #within<T>(run: () => T, isWithin = true): T {
    const before = this.#isWithin;
    this.#isWithin = isWithin;
    try {
      return run();
    } finally {
      this.#isWithin = before;
    }
  }
}

/** Replays a life with a fresh supervisor, and returns the results that differ. */
export function replay({ timing, entries }: Life, ownerTerm: number): readonly Difference[] {
  const supervisor = new LocationSupervisor({ timing, ownerTerm });
  const parts = partsOf(supervisor);
  const differences: Difference[] = [];
  let snapshot: SnapshotFrom<typeof locationMachine> | undefined;
  const compare = (entry: Exclude<Entry, { kind: 'built' }>, result: unknown) => {
    if (!isDeepStrictEqual(result, entry.result)) differences.push({ entry, replayed: result });
  };
  for (const entry of entries) {
    if (entry.kind === 'call') {
      const method: unknown = Reflect.get(parts[entry.part], entry.name);
      const args = entry.args.map((arg) => revived(arg, supervisor));
      compare(entry, plain(Reflect.apply(method as Method, parts[entry.part], args)));
      continue;
    }
    let actions: readonly ExecutableActionsFrom<typeof locationMachine>[];
    if (entry.kind === 'built') {
      [snapshot, actions] = initialTransition(locationMachine, { ...entry.input, supervisor });
    } else {
      if (snapshot === undefined) throw new Error('an event precedes the first state');
      [snapshot, actions] = transition(locationMachine, snapshot, entry.event);
      compare(entry, decisionIn(snapshot, entry.event));
    }
    carryOut(snapshot, actions);
  }
  return differences;
}

/** Children start, and receive their events. Their reports to the location are in the record. */
function carryOut(
  { children }: SnapshotFrom<typeof locationMachine>,
  actions: readonly ExecutableActionsFrom<typeof locationMachine>[],
): void {
  for (const child of Object.values<AnyActorRef | undefined>(children)) child?.start();
  for (const { type, params } of actions) if (type === 'xstate.sendTo') params.to.send(params.event);
}
