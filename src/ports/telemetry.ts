// Messages to and from chargers, without naming a broker.
import type { Ack, Grant, LeaseKind } from '../../machines/power/grant.js';
import type { MeterReading, RecordResult } from '../../machines/power/meter-ledger.js';
import type {
  ChargerAddress,
  ConnectorAddress,
  ConnectorId,
  ControllerUuid,
  LocationId,
  TenantUuid,
} from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';

/** Messages in and out, through any broker. */
export interface MessageBus {
  /** From now on what these tenants' chargers send is delivered, those before included, and of no tenant of another shard; of all tenants where it is never called. */
  listenTo?(tenants: readonly TenantUuid[]): void;
  /**
   * Begins to deliver. Resolves to the address chargers connect to. Neither callback throws. `onBack` is called when the bus
   * is there again, where it keeps nothing of what chargers said of themselves while it was away.
   */
  start(
    onMessage: (topic: string, payload: Buffer) => void,
    onBack?: () => void,
  ): Promise<{ readonly url: string }>;
  /** Hands a message to the broker; QoS 1 is resent by the broker until acknowledged or the session ends. */
  publish(topic: string, payload: string, options: { readonly qos: 0 | 1; readonly retain: boolean }): void;
  isHealthy(): boolean;
  stop(): Promise<void>;
}

/** Who may connect, and what it may speak for. */
export interface MqttLogin {
  readonly tenantUuid: TenantUuid;
  /** The client id it must use. */
  readonly clientId: string;
  /** `{tenantUuid}/{clientId}`: unique among all tenants, as the client id is not. */
  readonly username: string;
  /** `ems/v1/{tenantUuid}/{locationId}/{controllerUuid}` of each of its chargers, or the one topic of a grid operator or meter. */
  readonly prefixes: readonly string[];
}

/** The logins chargers and gateways connect with. */
export interface MqttLogins {
  /** The login of that name, and what is stored of its password (`hashPassword`). */
  find(username: string): { readonly login: MqttLogin; readonly secretHash: string } | undefined;
  /** False once the login vanished, or got another password or other chargers. */
  isCurrent(login: MqttLogin): boolean;
  /** Calls `listener` whenever logins may have stopped being current. */
  onReplaced(listener: () => void): void;
}

/** A login that the other brokers were told of. No function throws. */
export interface SiblingEntry {
  /** From now on nothing is brought here for its chargers on its behalf. */
  leave(): void;
  /** Hands its last will on. The service takes it only where it has not heard that the client logged in elsewhere since. */
  sayWill(topic: string, payload: Buffer): void;
}

/** Other brokers that the same chargers may connect to: a charger is at the one that it logged in to last. No function throws. */
export interface Siblings {
  /** False where the others cannot be told of a login. */
  isHealthy(): boolean;
  /**
   * The login is in: the others are told, and what is sent to its chargers arrives here until it leaves.
   * undefined where the others cannot be told; then it must not come in.
   */
  enter(login: MqttLogin): SiblingEntry | undefined;
  /** Resolves to true once every login elsewhere until now has been told to `onElsewhere`, and to false where that cannot be known. */
  settled(): Promise<boolean>;
  /** Calls `listener` with the username of a client that has logged in elsewhere since. */
  onElsewhere(listener: (username: string) => void): void;
  /** Calls `listener` when nobody knows any more who logs in elsewhere. */
  onLost(listener: () => void): void;
}

/** Where one connector's meter values and acknowledgements go. It is kept and reused for as long as it is current. */
export interface ConnectorMeter {
  /** False once its location was built anew or let go of: look the connector up again. */
  readonly isCurrent: boolean;
  /** Folds one value in, on `Clock.monotonicMs`; tells the machines by itself where a mode changed. Never throws. */
  record(reading: MeterReading, nowMs: number): RecordResult;
  /** What its charger did with a limit; `refused` where nothing of the kind was sent to it. Never throws. */
  acknowledge(ack: Ack, nowMs: number): RecordResult;
}

/** What a charger says of itself when it comes, goes, or is lost (its last will). Currents in A per phase. */
export interface ChargerState {
  readonly online: boolean;
  readonly boot?: string | undefined;
  /** Rises with each of a boot, where it is said. */
  readonly seqNo?: number | undefined;
  readonly connectors?:
    | readonly {
        readonly id: string;
        /** Of an AC connector. */
        readonly failsafeA?: number | undefined;
        /** Of a DC connector, W at the car. */
        readonly failsafeW?: number | undefined;
        readonly lease: LeaseKind;
        /** What speaks against a lease, in words, where something does. */
        readonly whyNoLease?: string | undefined;
        /** It keeps the newest `thenA` (`thenW`) over a restart. */
        readonly keepsThen?: boolean | undefined;
        /** A grant with a session ends by itself with that. */
        readonly endsWithSession?: boolean | undefined;
        /** It can charge a car on fewer phases than that uses, where a grant says so. */
        readonly switchesPhases?: boolean | undefined;
      }[]
    | undefined;
}

/** What the grid operator's side sends of a location. */
export interface OperatorMessage {
  /** Who says so, in the operator's own words. */
  readonly source: string;
  /** undefined: a heartbeat. */
  readonly isActive?: boolean | undefined;
  readonly limitKw?: number | undefined;
  /** From `sentAtMs` on, s; undefined: until it is taken back. */
  readonly durationS?: number | undefined;
  /** By the sender's clock. */
  readonly sentAtMs: EpochMs;
}

/** A reading of a location's meter. */
export interface SiteMeterMessage {
  readonly hb?: number | undefined;
  /** By the sender's clock. */
  readonly atMs: EpochMs;
  /** Positive: import. */
  readonly powerW: number;
  /** Of L1, L2 and L3. */
  readonly currentA?: readonly [number, number, number] | undefined;
  readonly energyWh?: number | undefined;
}

/** Takes what chargers report. No function throws or waits. */
export interface MeterSink {
  /** undefined where there is no such connector at that charger and location of the tenant. */
  connectorMeter(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    connectorId: ConnectorId,
  ): ConnectorMeter | undefined;
  /** From the grid operator of the location; undefined where none may limit it. */
  recordOperator(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    message: OperatorMessage,
  ): RecordResult | undefined;
  /** From the meter of the location; undefined where it has none. */
  recordSiteMeter(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    message: SiteMeterMessage,
  ): RecordResult | undefined;
  /** To every connector of the charger; undefined where there is no such charger. */
  recordState(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    state: ChargerState,
  ): RecordResult | undefined;
}

/** Where limits leave for the chargers. Neither function throws or waits; what is lost is sent again by heartbeat. */
export interface LimitPublisher {
  /** @param connector the same object for each limit of a connector, so that what is known of it can be kept by it. */
  publishLimit(connector: ConnectorAddress, grant: Grant): void;
  /** Asks a charger to send its state and meter values now. */
  requestSync(charger: ChargerAddress, ownerTerm: number): void;
}

/** The way to the chargers and back, over any transport. */
export interface ChargerGateway extends LimitPublisher {
  /** As of a `MessageBus`. */
  listenTo?(tenants: readonly TenantUuid[]): void;
  /** Begins to hand `sink` what chargers report. Resolves to the address they connect to. `onBack` is called as by a `MessageBus`. */
  start(sink: MeterSink, onBack?: () => void): Promise<{ readonly url: string }>;
  isHealthy(): boolean;
  stop(): Promise<void>;
}
