// The modes of a virtual connector: a car arrives, is recognised, charges, is paused, fills up and leaves.
import { setup } from 'xstate';
import type { ChargingStatus } from '../../machines/values/charging-status.js';

/** Events at the connector. `outlet.ts` counts their instants and the energy between them. */
export type VirtualConnectorEvent =
  | { readonly type: 'car.arrived' }
  | { readonly type: 'car.recognised'; readonly isOffered: boolean }
  | { readonly type: 'car.filled' }
  | { readonly type: 'car.left' }
  | { readonly type: 'car.unplugged' }
  /** The charger offers at least 6 A again. */
  | { readonly type: 'offer.made' }
  | { readonly type: 'offer.withdrawn'; readonly isStubborn: boolean };

export const virtualConnectorMachine = setup({
  types: { events: {} as VirtualConnectorEvent },
  guards: {
    isOffered: ({ event }) => event.type === 'car.recognised' && event.isOffered,
    isStubborn: ({ event }) => event.type === 'offer.withdrawn' && event.isStubborn,
  },
}).createMachine({
  id: 'virtualConnector',
  initial: 'available',
  states: {
    available: { on: { 'car.arrived': 'preparing' } },
    preparing: {
      on: {
        'car.recognised': [{ guard: 'isOffered', target: 'charging' }, { target: 'suspendedEvse' }],
        'car.left': 'finishing',
      },
    },
    charging: {
      on: {
        'offer.withdrawn': [{ guard: 'isStubborn', target: 'suspendedByBoth' }, { target: 'suspendedEvse' }],
        'car.filled': 'suspendedEv',
        'car.left': 'finishing',
      },
    },
    suspendedEvse: { on: { 'offer.made': 'charging', 'car.left': 'finishing' } },
    /** The car is full, or no offer wakes it any more. */
    suspendedEv: { on: { 'offer.withdrawn': 'suspendedByBoth', 'car.left': 'finishing' } },
    suspendedByBoth: { on: { 'offer.made': 'suspendedEv', 'car.left': 'finishing' } },
    finishing: { on: { 'car.unplugged': 'available' } },
  },
});

/** Status of the MQTT contract for each mode; as in OCPP, the charger's pause has precedence over the car's. */
export const STATUS_OF = {
  available: 'Available',
  preparing: 'Preparing',
  charging: 'Charging',
  suspendedEvse: 'SuspendedEVSE',
  suspendedEv: 'SuspendedEV',
  suspendedByBoth: 'SuspendedEVSE',
  finishing: 'Finishing',
} as const satisfies Record<string, ChargingStatus>;
export type ConnectorMode = keyof typeof STATUS_OF;
