// Drives a virtual charger for a test: time, heartbeats and limits, with a record of the charger's messages.
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import { HUNGRY, type Traffic } from '../../sim/charger/traffic.js';
import type { ChargerTraits } from '../../sim/charger/traits.js';
import { VirtualCharger } from '../../sim/charger/virtual-charger.js';
import type { VirtualConnectorSpec } from '../../sim/charger/virtual-connector.js';
import {
  type AckMessage,
  ackSchema,
  type LimitMessage,
  type MeterMessage,
  meterSchema,
  type StateMessage,
  stateSchema,
} from '../../src/wire/mqtt.js';

export const ADDRESS = {
  tenantUuid: 'tenant-1' as TenantUuid,
  locationId: 'quay.1' as LocationId,
  controllerUuid: 'q1-a' as ControllerUuid,
};

const WALL_MS = Date.UTC(2026, 5, 1);

export function connector(id: string, spec: Partial<VirtualConnectorSpec> = {}): VirtualConnectorSpec {
  return {
    connectorId: id as ConnectorId,
    ...({ phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 } as const),
    ...spec,
  };
}

/** A charger that starts at 0 ms. By default it has the one connector "1" and a car that takes all power. */
export function chargerRig(
  options: {
    readonly connectors?: readonly VirtualConnectorSpec[];
    readonly traffic?: Traffic;
    readonly traits?: Partial<ChargerTraits>;
  } = {},
) {
  const charger = new VirtualCharger({
    address: ADDRESS,
    boot: 'boot-1',
    seed: 1,
    startsAtMs: 0,
    connectors: options.connectors ?? [connector('1')],
    traffic: options.traffic ?? HUNGRY,
    traits: options.traits ?? {},
  });
  const acks: AckMessage[] = [];
  const meters: (MeterMessage & { readonly topic: string })[] = [];
  const states: StateMessage[] = [];
  /** Time of each message, ms. */
  const saidAtMs: number[] = [];
  let nowMs = 0;
  let seq = 0;

  function listen(): void {
    for (const { kind, topic, payload } of charger.takeMessages(nowMs, WALL_MS + nowMs)) {
      saidAtMs.push(nowMs);
      const body: unknown = JSON.parse(payload);
      if (kind === 'ack') acks.push(ackSchema.parse(body));
      else if (kind === 'state') states.push(stateSchema.parse(body));
      else meters.push({ ...meterSchema.parse(body), topic });
    }
  }

  /** Advances time from one instant with work for the charger to the next. */
  function pass(seconds: number): void {
    const untilMs = nowMs + 1000 * seconds;
    listen();
    while (nowMs < untilMs) {
      nowMs = Math.min(untilMs, Math.max(nowMs + 1, charger.nextDueMs(nowMs)));
      charger.advance(nowMs);
      listen();
    }
  }

  /** A limit that answers the newest heartbeat; `seq` counts up by default. */
  function limit(limitA: number, fields: Partial<LimitMessage> = {}, connectorId = '1'): LimitMessage {
    const message: LimitMessage = {
      v: 1,
      epoch: 1,
      seq: ++seq,
      boot: 'boot-1',
      ref: meters.at(-1)?.hb ?? 0,
      ttlS: 60,
      limitA,
      limitW: Math.round(limitA * 690),
      thenA: 6,
      reason: 'fairShare',
      ...fields,
    };
    charger.receiveLimit(connectorId as ConnectorId, message, nowMs);
    listen();
    return message;
  }

  charger.connected(0);
  listen();
  return {
    charger,
    acks,
    meters,
    states,
    saidAtMs,
    pass,
    limit,
    nowMs: () => nowMs,
    /** The physical current, A per phase on three phases of 230 V. */
    drawnA: () => charger.physicalPowerW() / 690,
    heldA: () => charger.limits()[0]?.limitA,
    sync: () => {
      charger.receiveSync(nowMs);
      listen();
    },
  };
}
