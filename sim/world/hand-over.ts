// Carries messages within the process, as the objects they are: what is a message of the contract is never turned into text.
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import { createTelemetry } from '../../src/inbound/mqtt/telemetry.js';
import type { Metrics } from '../../src/metrics.js';
import { limitMessageOf } from '../../src/outbound/mqtt/limit-publisher.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { ChargerGateway, ConnectorMeter, MeterSink } from '../../src/ports/telemetry.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Carrier, CarrierEvents } from './carrier.js';
import type { Wire } from './wire.js';

/** The way in of one life of the service. */
interface Listener {
  readonly sink: MeterSink;
  /** For what may be no message at all. */
  readonly read: (topic: string, payload: Buffer) => void;
  readonly meters: Map<Wire, Map<ConnectorId, ConnectorMeter>>;
}

export function createHandOver(options: {
  readonly wireOf: (charger: ChargerAddress) => Wire | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly events: CarrierEvents;
}): Carrier {
  const { wireOf, clock, log, metrics, events } = options;
  const lastWills = new Map<Wire, ChargerMessage | undefined>();
  let listener: Listener | undefined;

  function meterOf(
    { sink, meters }: Listener,
    wire: Wire,
    connectorId: ConnectorId,
  ): ConnectorMeter | undefined {
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

  function arrive(to: Listener, wire: Wire, message: ChargerMessage): void {
    const { tenantUuid, locationId, controllerUuid } = wire.address;
    events.heard(wire.address, message);
    if (message.kind === 'meter' && message.body !== undefined && message.connectorId !== undefined) {
      meterOf(to, wire, message.connectorId)?.record(message.body, clock.monotonicMs());
    } else if (message.kind === 'ack' && message.body !== undefined && message.connectorId !== undefined) {
      to.sink.recordAck(tenantUuid, locationId, controllerUuid, message.connectorId, message.body);
    } else if (message.kind === 'state' && message.body !== undefined) {
      to.sink.recordState(tenantUuid, locationId, controllerUuid, message.body);
    } else {
      to.read(message.topic, Buffer.from(message.payload));
    }
  }

  function createGateway(): ChargerGateway & { end(): void } {
    let isLiving = true;
    return {
      async start(sink) {
        listener = { sink, read: createTelemetry({ sink, clock, log, metrics }), meters: new Map() };
        return { url: 'mqtt://in-process' };
      },
      publishLimit(connector, grant) {
        if (!isLiving) return;
        const limit = limitMessageOf(grant);
        events.limitLeft(connector, limit);
        const wire = wireOf(connector);
        wire?.travelDown(() => wire.receiver.limit(connector.connectorId, limit));
      },
      requestSync(charger) {
        if (!isLiving) return;
        const wire = wireOf(charger);
        wire?.travelDown(() => wire.receiver.sync());
      },
      isHealthy: () => isLiving,
      async stop() {
        isLiving = false;
      },
      end() {
        isLiving = false;
        listener = undefined;
      },
    };
  }

  return {
    open() {
      const gateway = createGateway();
      return { seams: { gateway }, end: gateway.end };
    },
    say(wire, message) {
      wire.travelUp(() => {
        if (listener !== undefined) arrive(listener, wire, message);
      });
    },
    sayAgain(wire, message) {
      if (listener !== undefined) arrive(listener, wire, message);
    },
    connect: (wire, lastWill) => void lastWills.set(wire, lastWill),
    cut() {},
    lose(wire) {
      const lastWill = lastWills.get(wire);
      if (listener !== undefined && lastWill !== undefined) arrive(listener, wire, lastWill);
    },
    loseAll() {},
    async close() {},
  };
}
