// Messages to and from chargers, independent of the broker.
import type { Ack, Grant, LeaseKind } from '../../machines/ledger/grant.js';
import type { MeterReading, RecordResult } from '../../machines/power/meter-ledger.js';
import type {
  ChargerAddress,
  ConnectorAddress,
  ConnectorId,
  ControllerUuid,
  LocationId,
  TenantUuid,
} from '../../machines/values/ids.js';
import type { SessionState } from '../../machines/values/session-state.js';

/** Of one topic of one connection: the receiver of its messages keeps here the connector that it has looked up. */
export interface TopicMemo {
  known?: { readonly kind: 'meter' | 'ack'; readonly connector: ConnectorMeter };
}

/** Messages in both directions, through any broker. */
export interface MessageBus {
  /**
   * From now on messages of these tenants' chargers are delivered, in addition to earlier tenants; none of a tenant of
   * another shard. Without a call, those of all tenants are delivered.
   */
  listenTo?(tenants: readonly TenantUuid[]): void;
  /**
   * Begins to deliver. Resolves to the address to which chargers connect. Neither callback throws. `onBack` is called
   * after a reconnection of a bus that kept no state messages of chargers meanwhile.
   */
  start(
    onMessage: (topic: string, payload: Buffer, memo?: TopicMemo) => void,
    onBack?: () => void,
  ): Promise<{ readonly url: string }>;
  /**
   * Passes a message to the broker. A broker sends QoS 1 again until it is acknowledged or the session ends. It keeps a
   * retained message for later subscribers, until an empty one.
   */
  publish(topic: string, payload: string, options: { readonly qos: 0 | 1; readonly retain: boolean }): void;
  /**
   * Of a bus that keeps no retained messages: calls `listener` for each new login of a reader, with the begin of the
   * topics of its states.
   */
  onReader?(listener: (prefix: string) => void): void;
  isHealthy(): boolean;
  stop(): Promise<void>;
}

/** A login with its rights. */
export interface MqttLogin {
  readonly tenantUuid: TenantUuid;
  /** The required client id. */
  readonly clientId: string;
  /** `{tenantUuid}/{clientId}`: unique among all tenants, unlike the client id. */
  readonly username: string;
  /**
   * `ems/v1/{tenantUuid}/{locationId}/{controllerUuid}` of each of its
   * chargers, or the one topic of a grid operator or meter. None for a reader.
   */
  readonly prefixes: readonly string[];
  /** For a reader: the begins of the topics that it may receive. */
  readonly reads: readonly string[];
}

/** The logins of chargers and gateways. */
export interface MqttLogins {
  /** The login of that name, and its stored password hash (`hashPassword`). */
  find(username: string): { readonly login: MqttLogin; readonly secretHash: string } | undefined;
  /** False after the login was removed, or its password or its chargers have changed. */
  isCurrent(login: MqttLogin): boolean;
  /** Calls `listener` whenever logins may have stopped being current. */
  onReplaced(listener: () => void): void;
}

/** A login that was announced to the other brokers. No function throws. */
export interface SiblingEntry {
  /** From now on this login receives no messages for its chargers here. */
  leave(): void;
  /** Passes its last will on. The service ignores the will if the client has logged in elsewhere since. */
  sayWill(topic: string, payload: Buffer): void;
}

/** Other brokers for the same chargers. A charger belongs to the broker of its newest login. No function throws. */
export interface Siblings {
  /** False if logins cannot be announced to the others. */
  isHealthy(): boolean;
  /**
   * Announces the login to the others. Messages for its chargers arrive here until it leaves.
   * @returns undefined if it cannot be announced; then it must be refused
   */
  enter(login: MqttLogin): SiblingEntry | undefined;
  /**
   * Resolves to true once `onElsewhere` has received every login elsewhere until now; to false if that is uncertain.
   */
  settled(): Promise<boolean>;
  /** Calls `listener` with the username of a client that has logged in elsewhere since. */
  onElsewhere(listener: (username: string) => void): void;
  /** Calls `listener` after a gap in the logins received from elsewhere. */
  onLost(listener: () => void): void;
}

/** Receives one connector's meter values and acknowledgements. It is cached for as long as it is current. */
export interface ConnectorMeter {
  /** False once its location was rebuilt or released: look the connector up again. */
  readonly isCurrent: boolean;
  /**
   * Adds one value, at a time of `Clock.monotonicMs`. A change of mode reaches the machines by itself. Never throws.
   */
  record(reading: MeterReading, nowMs: number): RecordResult;
  /** The charger's answer to a limit; `refused` if no such limit was sent to it. Never throws. */
  acknowledge(ack: Ack, nowMs: number): RecordResult;
}

/** The state that a charger reports when it comes, goes, or is lost (its last will). Currents in A per phase. */
export interface ChargerState {
  readonly online: boolean;
  readonly boot?: string | undefined;
  /** Rises with each state of a boot; optional. */
  readonly seqNo?: number | undefined;
  readonly connectors?:
    | readonly {
        readonly id: string;
        /** For an AC connector. */
        readonly failsafeA?: number | undefined;
        /** For a DC connector, W at the car. */
        readonly failsafeW?: number | undefined;
        readonly lease: LeaseKind;
        /** Reason against a lease, in words, if there is one. */
        readonly whyNoLease?: string | undefined;
        /** For a charger behind an OCPP gateway. */
        readonly ocppState?: SessionState | undefined;
        /** It keeps the newest `thenA` (`thenW`) over a restart. */
        readonly keepsThen?: boolean | undefined;
        /** A grant for a session ends by itself with the session. */
        readonly endsWithSession?: boolean | undefined;
        /** It can charge a car on fewer phases than the car uses, if a grant demands it. */
        readonly switchesPhases?: boolean | undefined;
      }[]
    | undefined;
}

/** Telemetry handler: receives reports of chargers. No function throws or waits. */
export interface TelemetryHandler {
  /** undefined for an unknown connector of that charger, location and tenant. */
  connectorMeter(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    connectorId: ConnectorId,
  ): ConnectorMeter | undefined;
  /**
   * From the grid operator or the meter of the location, already checked; undefined if it has none.
   */
  recordSite(
    kind: 'operator' | 'siteMeter',
    tenantUuid: TenantUuid,
    locationId: LocationId,
    message: unknown,
  ): RecordResult | undefined;
  /** For every connector of the charger; undefined for an unknown charger. */
  recordState(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    state: ChargerState,
  ): RecordResult | undefined;
}

/** Sends limits to chargers. Neither function throws or waits. A lost limit is sent again after the next heartbeat. */
export interface LimitPublisher {
  /** @param connector the same object for each limit of a connector, usable as a cache key */
  publishLimit(connector: ConnectorAddress, grant: Grant): void;
  /** Asks a charger to send its state and meter values now. */
  requestSync(charger: ChargerAddress, ownerTerm: number): void;
}

/** The connection to the chargers in both directions, over any transport. */
export interface ChargerGateway extends LimitPublisher {
  /** Sends a message to readers of its location, and keeps it for later ones, until an empty one. */
  retain?(topic: string, payload: string): void;
  /** As in `MessageBus`. */
  onReader?(listener: (prefix: string) => void): void;
  /** As in `MessageBus`. */
  listenTo?(tenants: readonly TenantUuid[]): void;
  /**
   * Begins to pass reports of chargers to `sink`. Resolves to the address to
   * which they connect. `onBack` as in `MessageBus`.
   */
  start(sink: TelemetryHandler, onBack?: () => void): Promise<{ readonly url: string }>;
  isHealthy(): boolean;
  stop(): Promise<void>;
}
