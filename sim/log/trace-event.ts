// Events of a simulated world as plain data, in the order in which they happened. Hash, trace file, replay and report
// derive from them.

import type { AlarmKind, LimitReason } from '../../machines/ledger/grant.js';
import type { LimitCause } from '../../machines/limits/limit-in-force.js';
import type { OperatorState } from '../../machines/limits/lpc.machine.js';
import type { ChargingStatus } from '../../machines/values/charging-status.js';
import type { EpochMs } from '../../machines/values/time.js';

/** Kinds of faults. `target` of a fault event is a location, a charger, or empty for the service as a whole. */
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
 * One event. Instants in epoch ms, powers in whole W, currents in tenths of A per phase; no floats anywhere. Instants
 * never decrease. `target` is the id of a location or charger, or `controllerUuid/connectorId`. Any other `target` (a
 * cluster, an empty string) concerns every location.
 */
export type TraceEvent = { readonly atMs: EpochMs } & (
  | {
      /**
       * Limit of the location by its profiles and connection, computed by an independent oracle. After a decrease that
       * nobody announced, the earlier limit until chargers must have followed.
       */
      readonly kind: 'limit';
      readonly locationId: string;
      readonly limitW: number;
    }
  | {
      /** True power of the location after each change. */
      readonly kind: 'power';
      readonly locationId: string;
      readonly powerW: number;
    }
  | {
      /** State of a connector after a change: true power, enforced limit, and the reason sent with that limit. */
      readonly kind: 'connector';
      readonly locationId: string;
      readonly controllerUuid: string;
      readonly connectorId: string;
      readonly status: ChargingStatus;
      readonly powerW: number;
      readonly limitTenthsA: number;
      readonly reason: LimitReason;
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
      /**
       * A profile was submitted. Equal `startsAtMs` and `endsAtMs` mean that the profile in this slot was cancelled.
       */
      readonly kind: 'profile';
      readonly target: string;
      readonly priority: number;
      readonly limitW: number;
      readonly startsAtMs: EpochMs;
      readonly endsAtMs: EpochMs;
    }
  | {
      /** Voltage of a line of the grid, phase to neutral, after a change of one volt. */
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
      /** The service reports the start or the end of a connector's lock; at the end `limitW` is 0. */
      readonly kind: 'lock';
      readonly target: string;
      readonly limitW: number;
      readonly isOn: boolean;
    }
  | {
      /** Answer to the preceding action: a service that answers differently gives a different trace. */
      readonly kind: 'answer';
      readonly name: string;
      /** First part of the SHA-256 of the body, in hex, without the id of the request. */
      readonly digest: string;
    }
  | {
      /** Limit in force at the location as the service applies it, with its cause and the load of the building. */
      readonly kind: 'limits';
      readonly locationId: string;
      /** Limit in force. */
      readonly limitW: number;
      readonly cause: LimitCause['kind'];
      /** Id of the cluster, or priority of the profile, that is the cause; empty for other causes. */
      readonly rule: string;
      /** By the location's own profiles. */
      readonly effectiveW: number;
      readonly operator: OperatorState | 'none';
      /** Counted load of the building, and the power that is kept free for it to rise; 0 without a meter. */
      readonly buildingW: number;
      readonly reserveW: number;
    }
  | {
      /** Limit of another source than the location's own profiles, whose limit is `effectiveW`. */
      readonly kind: 'limitSource';
      readonly locationId: string;
      /** Name of the source: its kind, and the id of one of several after a colon. */
      readonly source: string;
      /** Highest safe integer while the source sets no limit, as before its first event. */
      readonly limitW: number;
    }
);
