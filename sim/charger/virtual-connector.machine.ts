// One virtual connector: a car arrives, is recognised, charges, fills up and leaves. Time comes in as data.
import { type ActorRefFrom, assign, setup } from 'xstate';
import type { ChargingStatus } from '../../machines/meter-ledger.js';
import type { ConnectorRating } from '../../machines/units.js';
import { type Car, charge, isFull, nextCurrentA } from './car.js';

export type VirtualConnectorEvent =
  | { readonly type: 'car.arrived'; readonly nowMs: number; readonly car: Car }
  | { readonly type: 'time.passed'; readonly nowMs: number };

interface Context {
  readonly rating: ConnectorRating;
  readonly nowMs: number;
  /** When the present mode began. */
  readonly sinceMs: number;
  readonly car: Car | undefined;
  /** Drawn now, A per phase in use. */
  readonly drawnA: number;
  /** Meter register; it only rises. */
  readonly energyWh: number;
}

export type VirtualConnectorActor = ActorRefFrom<typeof virtualConnectorMachine>;

const RECOGNISED_AFTER_MS = 2000;
const UNPLUGGED_AFTER_MS = 2000;
const MS_PER_HOUR = 3_600_000;

/** Phases that carry current: a single-phase car uses one, whatever the connector has. */
export function phasesInUse({ car, rating }: Context): number {
  return car === undefined ? 0 : Math.min(car.phases, rating.phases);
}

function chargeUntil(context: Context, nowMs: number): Context {
  const { car, rating, drawnA } = context;
  if (car === undefined) return { ...context, nowMs };
  const elapsedMs = nowMs - context.nowMs;
  const powerW = drawnA * rating.voltageV * phasesInUse(context);
  const energyWh = (powerW * elapsedMs) / MS_PER_HOUR;
  const charged = charge(car, energyWh);
  return {
    ...context,
    nowMs,
    car: charged,
    drawnA: nextCurrentA(charged, drawnA, rating.maxCurrentA, elapsedMs),
    energyWh: context.energyWh + energyWh,
  };
}

export const virtualConnectorMachine = setup({
  types: {
    context: {} as Context,
    events: {} as VirtualConnectorEvent,
    input: {} as { readonly rating: ConnectorRating; readonly nowMs: number },
  },
  actions: {
    rememberNow: assign({ nowMs: ({ event }) => event.nowMs }),
    chargeUntilNow: assign(({ context, event }) => chargeUntil(context, event.nowMs)),
    beginMode: assign({ sinceMs: ({ context }) => context.nowMs }),
    plugIn: assign({ car: ({ event }) => (event.type === 'car.arrived' ? event.car : undefined) }),
    stopDrawing: assign({ drawnA: 0 }),
    unplug: assign({ car: undefined }),
  },
  guards: {
    isRecognised: ({ context }) => context.nowMs - context.sinceMs >= RECOGNISED_AFTER_MS,
    isUnplugged: ({ context }) => context.nowMs - context.sinceMs >= UNPLUGGED_AFTER_MS,
    isLeaving: ({ context }) => context.car !== undefined && context.nowMs >= context.car.leavesAtMs,
    isFull: ({ context }) => context.car !== undefined && isFull(context.car),
  },
}).createMachine({
  id: 'virtualConnector',
  context: ({ input }) => ({
    ...input,
    sinceMs: input.nowMs,
    car: undefined,
    drawnA: 0,
    energyWh: 0,
  }),
  initial: 'available',
  on: { 'time.passed': { actions: 'rememberNow' } },
  states: {
    available: {
      on: { 'car.arrived': { target: 'preparing', actions: ['rememberNow', 'plugIn'] } },
    },
    preparing: {
      entry: 'beginMode',
      always: [
        { guard: 'isLeaving', target: 'finishing' },
        { guard: 'isRecognised', target: 'charging' },
      ],
    },
    charging: {
      exit: 'stopDrawing',
      on: { 'time.passed': { actions: 'chargeUntilNow' } },
      always: [
        { guard: 'isLeaving', target: 'finishing' },
        { guard: 'isFull', target: 'suspendedEv' },
      ],
    },
    suspendedEv: { always: { guard: 'isLeaving', target: 'finishing' } },
    finishing: {
      entry: 'beginMode',
      always: { guard: 'isUnplugged', target: 'available', actions: 'unplug' },
    },
  },
});

/** The word of the MQTT contract for each mode. */
export const STATUS_OF = {
  available: 'Available',
  preparing: 'Preparing',
  charging: 'Charging',
  suspendedEv: 'SuspendedEV',
  finishing: 'Finishing',
} as const satisfies Record<string, ChargingStatus>;
