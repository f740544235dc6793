// Speaks for one virtual charger over real MQTT: the upward half of the contract, as a charger's firmware would.
import { connect } from 'mqtt';
import type { ChargerAddress } from '../../machines/ids.js';
import { MINIMUM_CURRENT_A } from '../../machines/units.js';
import type { Cancel, Clock } from '../../src/ports/clock.js';
import type { MeterMessage, StateMessage } from '../../src/wire/mqtt.js';
import { toInstant } from '../../src/wire/rest.js';
import { buildTopic } from '../../src/wire/topics.js';
import type { Reading, VirtualCharger } from './virtual-charger.js';

export interface ChargerLink {
  isOnline(): boolean;
  /** Why the last attempt to connect failed. */
  lastError(): string | undefined;
  /** Says goodbye (`online: false`) and closes. */
  stop(): Promise<void>;
}

const TICK_MS = 1000;
const KEEPALIVE_S = 30;
const RECONNECT_MS = 2000;
const GOODBYE_MS = 2000;
/** The broker takes 5 messages a second of one client: one is left for the state. */
const MESSAGES_PER_TICK = 4;
const CHANGE_W = 200;
const CHANGE_SHARE = 0.05;

interface Sent {
  readonly atMs: number;
  readonly status: string;
  readonly powerW: number;
}

/** Whether the reading differs enough from what was sent to be told before the next heartbeat. */
function isChange(sent: Sent, { status, powerW }: Reading): boolean {
  if (status !== sent.status) return true;
  return Math.abs(powerW - sent.powerW) >= Math.max(CHANGE_W, CHANGE_SHARE * sent.powerW);
}

function stateOf(charger: VirtualCharger, boot: string, online: boolean): string {
  const connectors = charger.connectors.map(({ connectorId, phases, maxCurrentA, failsafeA }) => ({
    id: connectorId,
    phases,
    minA: MINIMUM_CURRENT_A,
    maxA: maxCurrentA,
    failsafeA,
    // It takes no limits from above, so it must not promise to hold any.
    lease: 'none' as const,
  }));
  const message: StateMessage = { v: 1, online, boot, firmware: 'virtual', connectors };
  return JSON.stringify(message);
}

/**
 * Connects `charger` to the broker at `url` and keeps it connected until `stop`.
 * @param options.username `{tenantUuid}/{controllerUuid}` unless the broker has logins of its own.
 * @param options.meterPeriodMs between heartbeats; changes are told at once.
 * @param options.boot new at every start of the charger, a uuid.
 */
export function connectCharger(options: {
  readonly url: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly address: ChargerAddress;
  readonly charger: VirtualCharger;
  readonly clock: Clock;
  readonly meterPeriodMs: number;
  readonly boot: string;
}): ChargerLink {
  const { address, charger, clock, boot } = options;
  const stateTopic = buildTopic({ ...address, kind: 'state' });
  const sent = new Map<string, Sent>();
  const heartbeats = new Map<string, number>();
  let lastError: string | undefined;
  let cancelTick: Cancel = () => {};

  const client = connect(options.url, {
    clientId: address.controllerUuid,
    ...(options.username === undefined ? {} : { username: options.username }),
    ...(options.password === undefined ? {} : { password: options.password }),
    protocolVersion: 4,
    clean: true,
    keepalive: KEEPALIVE_S,
    reconnectPeriod: RECONNECT_MS,
    // A charger is often installed before its login is: it asks again.
    reconnectOnConnackError: true,
    // Meter values of a minute ago are worth nothing once the link is back.
    queueQoSZero: false,
    will: {
      topic: stateTopic,
      payload: Buffer.from(JSON.stringify({ v: 1, online: false, boot })),
      qos: 1,
      retain: true,
    },
  });

  function sendMeter(reading: Reading): void {
    const { connectorId, status, powerW, currentA, voltageV, energyWh } = reading;
    const hb = (heartbeats.get(connectorId) ?? 0) + 1;
    heartbeats.set(connectorId, hb);
    sent.set(connectorId, { atMs: clock.monotonicMs(), status, powerW });
    const limitA = charger.connectors.find((spec) => spec.connectorId === connectorId)?.maxCurrentA;
    const message: MeterMessage = {
      ...{ v: 1, boot, hb, at: toInstant(clock.nowMs()), status, powerW, energyWh },
      ...{ currentA: [...currentA], voltageV: [...voltageV], epoch: 0, seq: 0, limitA },
    };
    client.publish(buildTopic({ ...address, kind: 'meter', connectorId }), JSON.stringify(message));
  }

  /** Readings that are due, the longest-waiting first. */
  function dueReadings(): readonly Reading[] {
    const nowMs = clock.monotonicMs();
    const lastSent = (reading: Reading) => sent.get(reading.connectorId);
    return charger
      .readings()
      .filter((reading) => {
        const last = lastSent(reading);
        return last === undefined || nowMs - last.atMs >= options.meterPeriodMs || isChange(last, reading);
      })
      .sort((a, b) => (lastSent(a)?.atMs ?? 0) - (lastSent(b)?.atMs ?? 0))
      .slice(0, MESSAGES_PER_TICK);
  }

  function tick(): void {
    charger.advance(clock.monotonicMs());
    if (client.connected) dueReadings().forEach(sendMeter);
    cancelTick = clock.after(TICK_MS, tick);
  }

  /** It opens its contactors before it goes, so that nobody takes its last draw for a present one. */
  async function sayGoodbye(): Promise<void> {
    for (const reading of charger.readings()) {
      sendMeter({ ...reading, status: 'Unavailable', powerW: 0, currentA: [0, 0, 0] });
    }
    await client.publishAsync(stateTopic, stateOf(charger, boot, false), { qos: 1, retain: true });
    // With the DISCONNECT of an orderly end the broker does not speak the last will as well.
    await client.endAsync(false);
  }

  client.on('connect', () => {
    lastError = undefined;
    sent.clear();
    client.publish(stateTopic, stateOf(charger, boot, true), { qos: 1, retain: true });
  });
  client.on('error', (error) => {
    lastError = error.message;
  });
  tick();

  return {
    isOnline: () => client.connected,
    lastError: () => lastError,
    async stop() {
      cancelTick();
      if (client.connected) {
        // A broker that is gone by now must not hold up the stop.
        const givenUp = new Promise<void>((done) => void clock.after(GOODBYE_MS, done));
        await Promise.race([sayGoodbye().catch(() => {}), givenUp]);
      }
      client.stream.destroy();
      await client.endAsync(true);
    },
  };
}
