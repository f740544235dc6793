// Carries messages within the process as objects: a valid message is never turned into text and parsed again.
import type { ChargerAddress, ConnectorAddress, ConnectorId, TenantUuid } from '../../machines/values/ids.js';
import { Telemetry } from '../../src/inbound/mqtt/telemetry.js';
import type { Metrics } from '../../src/metrics.js';
import { limitMessageOf } from '../../src/outbound/mqtt/limit-publisher.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { ChargerGateway, ConnectorMeter, TelemetryHandler } from '../../src/ports/telemetry.js';
import { type LimitMessage, readingOf } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { CarriedNode, Carrier, CarrierEvents, CarrierLife } from './carrier.js';
import type { Passenger, Wire } from './wire.js';

/** Inbound side of one life of the service. */
interface Listener {
  readonly node: CarriedNode | undefined;
  /** Undefined means all tenants. */
  readonly tenants: () => ReadonlySet<TenantUuid> | undefined;
  readonly sink: TelemetryHandler;
  /** Handles bytes that may not be a valid message. */
  readonly telemetry: Telemetry;
}

/** State of a charger at the service's end of its wire. */
class WireEnd {
  readonly wire: Wire;
  lastWill: ChargerMessage | undefined;
  readonly #meters = new Map<ConnectorId, ConnectorMeter>();
  #sink: TelemetryHandler | undefined;

  constructor(wire: Wire) {
    this.wire = wire;
  }

  /** Target of the connector's values; looked up once in the life of a location's actors. */
  meterOf(connectorId: ConnectorId, sink: TelemetryHandler): ConnectorMeter | undefined {
    if (sink !== this.#sink) this.#meters.clear();
    this.#sink = sink;
    const known = this.#meters.get(connectorId);
    if (known?.isCurrent === true) return known;
    const { tenantUuid, locationId, controllerUuid } = this.wire.address;
    const meter = sink.connectorMeter(tenantUuid, locationId, controllerUuid, connectorId);
    if (meter !== undefined) this.#meters.set(connectorId, meter);
    return meter;
  }
}

class Upward implements Passenger {
  readonly #handOver: InProcessCarrier;
  readonly #end: WireEnd;
  readonly #message: ChargerMessage;

  constructor(handOver: InProcessCarrier, end: WireEnd, message: ChargerMessage) {
    this.#handOver = handOver;
    this.#end = end;
    this.#message = message;
  }

  arrive(): void {
    this.#handOver.receive(this.#end, this.#message);
  }
}

class Downward implements Passenger {
  readonly #wire: Wire;
  readonly #connectorId: ConnectorId;
  readonly #limit: LimitMessage;

  constructor(wire: Wire, connectorId: ConnectorId, limit: LimitMessage) {
    this.#wire = wire;
    this.#connectorId = connectorId;
    this.#limit = limit;
  }

  arrive(): void {
    this.#wire.receiver.limit(this.#connectorId, this.#limit);
  }
}

interface InProcessCarrierOptions {
  readonly wireOf: (charger: ChargerAddress) => Wire | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly events: CarrierEvents;
}

export class InProcessCarrier implements Carrier {
  readonly #options: InProcessCarrierOptions;
  readonly #ends = new Map<Wire, WireEnd>();
  /** Valid for one life of the service, which keeps its address objects. */
  readonly #wires = new WeakMap<ConnectorAddress, Wire>();
  /** One for each tenant, except while a node has not yet noticed its successor. */
  readonly #listeners = new Set<Listener>();

  constructor(options: InProcessCarrierOptions) {
    this.#options = options;
  }

  open(node?: CarriedNode): CarrierLife {
    const ends: (() => void)[] = [];
    return {
      seams: {
        createGateway: () => {
          const { end, ...gateway } = this.#createGateway(node);
          ends.push(end);
          return gateway;
        },
      },
      end: () => {
        for (const end of ends) end();
      },
    };
  }

  say(wire: Wire, message: ChargerMessage): void {
    wire.travelUp(new Upward(this, this.#endOf(wire), message));
  }

  sayAgain(wire: Wire, message: ChargerMessage): void {
    this.receive(this.#endOf(wire), message);
  }

  receiveOfSite(topic: string, payload: string): boolean {
    for (const { telemetry } of this.#listeners) telemetry.receive(topic, Buffer.from(payload));
    return this.#listeners.size > 0;
  }

  connect(wire: Wire, lastWill: ChargerMessage | undefined): void {
    this.#endOf(wire).lastWill = lastWill;
  }

  cut(): void {}

  lose(wire: Wire): void {
    const end = this.#endOf(wire);
    if (end.lastWill !== undefined) this.receive(end, end.lastWill);
  }

  loseAll(): void {}

  async close(): Promise<void> {}

  /** Delivers a charger's message to the running service, if any. */
  receive(end: WireEnd, message: ChargerMessage): void {
    for (const listener of this.#listeners) {
      const { node } = listener;
      if (listener.tenants()?.has(end.wire.address.tenantUuid) === false) continue;
      if (node === undefined) this.#tell(listener, end, message);
      else if (!node.host.isCutFromBroker)
        node.host.whenItMoves(() => this.#listeners.has(listener) && this.#tell(listener, end, message));
    }
  }

  #tell({ sink, telemetry }: Listener, end: WireEnd, message: ChargerMessage): void {
    const { address } = end.wire;
    this.#options.events.received(address, message);
    if (message.body === undefined) {
      telemetry.receive(message.topic, Buffer.from(message.payload));
    } else if (message.kind === 'state') {
      sink.recordState(address.tenantUuid, address.locationId, address.controllerUuid, message.body);
    } else {
      const meter = end.meterOf(message.connectorId, sink);
      if (message.kind === 'meter') meter?.record(readingOf(message.body), this.#options.clock.monotonicMs());
      else meter?.acknowledge(message.body, this.#options.clock.monotonicMs());
    }
  }

  #endOf(wire: Wire): WireEnd {
    const known = this.#ends.get(wire);
    if (known !== undefined) return known;
    const made = new WireEnd(wire);
    this.#ends.set(wire, made);
    return made;
  }

  #wireTo(connector: ConnectorAddress): Wire | undefined {
    const known = this.#wires.get(connector);
    if (known !== undefined) return known;
    const wire = this.#options.wireOf(connector);
    if (wire !== undefined) this.#wires.set(connector, wire);
    return wire;
  }

  #createGateway(node: CarriedNode | undefined): ChargerGateway & { end(): void } {
    let isLiving = true;
    let listener: Listener | undefined;
    let tenants: ReadonlySet<TenantUuid> | undefined;
    const isReached = () => isLiving && listener !== undefined && node?.host.isCutFromBroker !== true;
    const stopListening = () => {
      if (listener !== undefined) this.#listeners.delete(listener);
      listener = undefined;
    };
    return {
      listenTo: (all) => {
        tenants = new Set(all);
      },
      start: async (sink) => {
        listener = {
          node,
          tenants: () => tenants,
          sink,
          telemetry: new Telemetry({ ...this.#options, sink }),
        };
        this.#listeners.add(listener);
        return { url: 'mqtt://in-process' };
      },
      publishLimit: (connector, grant) => {
        if (!isReached()) return;
        const limit = limitMessageOf(grant);
        node?.granted(connector.tenantUuid);
        this.#options.events.limitLeft(connector, limit);
        const wire = this.#wireTo(connector);
        wire?.travelDown(new Downward(wire, connector.connectorId, limit));
      },
      requestSync: (charger) => {
        if (!isReached()) return;
        const wire = this.#options.wireOf(charger);
        wire?.travelDown({ arrive: () => wire.receiver.sync() });
      },
      isHealthy: isReached,
      stop: async () => stopListening(),
      end: () => {
        isLiving = false;
        stopListening();
      },
    };
  }
}
