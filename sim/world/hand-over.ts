// Carries messages within the process, as the objects they are: what is a message of the contract is never turned into text.
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import { Telemetry } from '../../src/inbound/mqtt/telemetry.js';
import type { Metrics } from '../../src/metrics.js';
import { limitMessageOf } from '../../src/outbound/mqtt/limit-publisher.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { ChargerGateway, ConnectorMeter, MeterSink } from '../../src/ports/telemetry.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Carrier, CarrierEvents, CarrierLife } from './carrier.js';
import type { Wire } from './wire.js';

/** The way in of one life of the service. */
interface Listener {
  readonly sink: MeterSink;
  /** For what may be no message at all. */
  readonly telemetry: Telemetry;
  readonly meters: Map<Wire, Map<ConnectorId, ConnectorMeter>>;
}

export class HandOver implements Carrier {
  readonly #wireOf: (charger: ChargerAddress) => Wire | undefined;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #events: CarrierEvents;
  readonly #lastWills = new Map<Wire, ChargerMessage | undefined>();
  #listener: Listener | undefined;

  constructor(options: {
    readonly wireOf: (charger: ChargerAddress) => Wire | undefined;
    readonly clock: Clock;
    readonly log: Log;
    readonly metrics: Metrics;
    readonly events: CarrierEvents;
  }) {
    this.#wireOf = options.wireOf;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#metrics = options.metrics;
    this.#events = options.events;
  }

  open(): CarrierLife {
    const gateway = this.#createGateway();
    return { seams: { gateway }, end: gateway.end };
  }

  say(wire: Wire, message: ChargerMessage): void {
    wire.travelUp(() => {
      if (this.#listener !== undefined) this.#arrive(this.#listener, wire, message);
    });
  }

  sayAgain(wire: Wire, message: ChargerMessage): void {
    if (this.#listener !== undefined) this.#arrive(this.#listener, wire, message);
  }

  connect(wire: Wire, lastWill: ChargerMessage | undefined): void {
    this.#lastWills.set(wire, lastWill);
  }

  cut(): void {}

  lose(wire: Wire): void {
    const lastWill = this.#lastWills.get(wire);
    if (this.#listener !== undefined && lastWill !== undefined) this.#arrive(this.#listener, wire, lastWill);
  }

  loseAll(): void {}

  async close(): Promise<void> {}

  #meterOf({ sink, meters }: Listener, wire: Wire, connectorId: ConnectorId): ConnectorMeter | undefined {
    const known = meters.get(wire)?.get(connectorId);
    if (known?.isCurrent === true) return known;
    const { tenantUuid, locationId, controllerUuid } = wire.address;
    const meter = sink.connectorMeter(tenantUuid, locationId, controllerUuid, connectorId);
    const own = meters.get(wire) ?? new Map<ConnectorId, ConnectorMeter>();
    meters.set(wire, own);
    if (meter === undefined) own.delete(connectorId);
    else own.set(connectorId, meter);
    return meter;
  }

  #arrive(to: Listener, wire: Wire, message: ChargerMessage): void {
    const { tenantUuid, locationId, controllerUuid } = wire.address;
    this.#events.heard(wire.address, message);
    if (message.kind === 'meter' && message.body !== undefined && message.connectorId !== undefined) {
      this.#meterOf(to, wire, message.connectorId)?.record(message.body, this.#clock.monotonicMs());
    } else if (message.kind === 'ack' && message.body !== undefined && message.connectorId !== undefined) {
      to.sink.recordAck(tenantUuid, locationId, controllerUuid, message.connectorId, message.body);
    } else if (message.kind === 'state' && message.body !== undefined) {
      to.sink.recordState(tenantUuid, locationId, controllerUuid, message.body);
    } else {
      to.telemetry.receive(message.topic, Buffer.from(message.payload));
    }
  }

  #createGateway(): ChargerGateway & { end(): void } {
    let isLiving = true;
    return {
      start: async (sink) => {
        this.#listener = { sink, telemetry: this.#createTelemetry(sink), meters: new Map() };
        return { url: 'mqtt://in-process' };
      },
      publishLimit: (connector, grant) => {
        if (!isLiving) return;
        const limit = limitMessageOf(grant);
        this.#events.limitLeft(connector, limit);
        const wire = this.#wireOf(connector);
        wire?.travelDown(() => wire.receiver.limit(connector.connectorId, limit));
      },
      requestSync: (charger) => {
        if (!isLiving) return;
        const wire = this.#wireOf(charger);
        wire?.travelDown(() => wire.receiver.sync());
      },
      isHealthy: () => isLiving,
      stop: async () => {
        isLiving = false;
      },
      end: () => {
        isLiving = false;
        this.#listener = undefined;
      },
    };
  }

  #createTelemetry(sink: MeterSink): Telemetry {
    return new Telemetry({ sink, clock: this.#clock, log: this.#log, metrics: this.#metrics });
  }
}
