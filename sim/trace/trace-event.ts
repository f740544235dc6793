// What happened in a simulated world, as plain data in the order it happened: hashed, stored, replayed and drawn from it.
import type { AlarmKind, LimitReason } from '../../machines/power/grant.js';
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { EpochMs } from '../../machines/values/time.js';

/** Faults a world can inflict; `target` of a fault event is a location, a charger, or empty for the service as a whole. */
export const FAULT_KINDS = [
  'loss',
  'duplication',
  'delay',
  'hold',
  'partition',
  'reboot',
  'serviceCrash',
  'brokerRestart',
  'databaseBusy',
  'gatewayCrash',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/**
 * One event. Instants in epoch ms, powers in whole W, currents in tenths of A per phase; no floats anywhere. Instants never
 * go back. A `target` is a location's id, a charger's, `controllerUuid/connectorId`, or anything else (a cluster, nothing at
 * all), which then concerns every location.
 */
export type TraceEvent = { readonly atMs: EpochMs } & (
  | {
      /** The limit the location is held to, by an oracle of its own. */
      readonly kind: 'limit';
      readonly locationId: string;
      readonly limitW: number;
    }
  | {
      /** What truly flows at the location, whenever it changed. */
      readonly kind: 'power';
      readonly locationId: string;
      readonly powerW: number;
    }
  | {
      /** A connector after something of it changed: what truly flows, what it is held to, and the reason it was told. */
      readonly kind: 'connector';
      readonly locationId: string;
      readonly controllerUuid: string;
      readonly connectorId: string;
      readonly status: ChargingStatus;
      readonly powerW: number;
      readonly limitTenthsA: number;
      readonly reason: LimitReason;
      /** It holds a lease. */
      readonly isLeased: boolean;
      readonly isOnline: boolean;
    }
  | {
      /** A limit left the service. */
      readonly kind: 'grant';
      readonly locationId: string;
      readonly controllerUuid: string;
      readonly connectorId: string;
      readonly epoch: number;
      readonly seq: number;
      readonly limitTenthsA: number;
      readonly reason: LimitReason;
    }
  | {
      readonly kind: 'session';
      readonly locationId: string;
      readonly controllerUuid: string;
      readonly connectorId: string;
      readonly what: 'arrived' | 'left';
      readonly sessionId: string;
      readonly requestedWh: number;
      readonly deliveredWh: number;
    }
  | {
      /** It was submitted; where it ends when it begins, what held its slot was cancelled. */
      readonly kind: 'profile';
      readonly target: string;
      readonly priority: number;
      readonly limitW: number;
      readonly startsAtMs: EpochMs;
      readonly endsAtMs: EpochMs;
    }
  | {
      /** What a line of the grid feeds its locations with, phase to neutral, after it changed by a volt. */
      readonly kind: 'voltage';
      readonly line: string;
      readonly l1TenthsV: number;
      readonly l2TenthsV: number;
      readonly l3TenthsV: number;
    }
  | { readonly kind: 'action'; readonly name: string; readonly status: number }
  | { readonly kind: 'fault'; readonly fault: FaultKind; readonly target: string; readonly isOn: boolean }
  | { readonly kind: 'alarm'; readonly alarm: AlarmKind; readonly target: string; readonly isOn: boolean }
  | {
      readonly kind: 'violation';
      readonly invariant: string;
      readonly target: string;
      readonly detail: string;
    }
  | {
      /** The service says that the connector is locked, or is no longer; `limitW` is 0 then. */
      readonly kind: 'lock';
      readonly target: string;
      readonly limitW: number;
      readonly isOn: boolean;
    }
  | {
      /** What the action before it was answered: a service that answers otherwise leaves another trace. */
      readonly kind: 'answer';
      readonly name: string;
      /** The beginning of the body's SHA-256, in hex; the id of the request left aside. */
      readonly digest: string;
    }
);
