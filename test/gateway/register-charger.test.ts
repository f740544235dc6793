// A charger with registers in place of messages, as by Modbus: its dialect and its device are defined here alone.
import { expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { bridgesOf } from '../../src/gateway/bridged-chargers.js';
import type { ChargerBridge } from '../../src/gateway/charger-bridge.js';
import type { ChargerDialect } from '../../src/gateway/charger-dialect.js';
import { openGatewayMemory } from '../../src/gateway/gateway-memory.js';
import { createGatewayMetrics } from '../../src/gateway/gateway-metrics.js';
import type { Clock } from '../../src/ports/clock.js';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { type MeterMessage, meterSchema, stateSchema } from '../../src/wire/mqtt.js';
import { silentLog } from '../service/running-service.js';

const HEARTBEAT_MS = 10_000;
const FILE = {
  tenants: [
    {
      tenantUuid: '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10',
      name: 'Harbour',
      features: ['energy-management'],
      apiKeys: [{}],
      locations: [
        {
          locationId: 'quay',
          name: 'quay',
          permanentLimitKw: 50,
          chargers: [
            {
              controllerUuid: 'quay-a',
              connectors: [{ connectorId: '1', phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 }],
            },
          ],
        },
      ],
    },
  ],
};

/** Registers for the current limit, the watchdog's timeout and the fallback current. A car draws all that it may. */
class RegisterDevice {
  fallbackA = 32;
  #limitA = 32;
  #endsAtMs = Number.POSITIVE_INFINITY;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  write(limitA: number, timeoutS: number, fallbackA: number): void {
    this.#limitA = limitA;
    this.fallbackA = fallbackA;
    this.#endsAtMs = this.#clock.monotonicMs() + 1000 * timeoutS;
  }

  /** Seconds until the watchdog ends the limit; 0 afterwards. */
  get leftS(): number {
    return Math.max(0, Math.ceil((this.#endsAtMs - this.#clock.monotonicMs()) / 1000));
  }

  get limitA(): number {
    return this.leftS > 0 ? this.#limitA : this.fallbackA;
  }
}

/** The charger has no clock of its own, so its reports carry the clock of the gateway. */
function registersAs(device: RegisterDevice, { session }: ChargerBridge, clock: Clock): ChargerDialect {
  return {
    names: {},
    readAbilities: async () => ({ whyNot: undefined, units: ['A'], hindrance: undefined, summary: '' }),
    sample: async () => {},
    setFailsafe: async ({ limit }) => {
      device.fallbackA = limit;
    },
    setLease: async ({ schedule: { limit, thenLimit, startsAtOwnMs, endsAfterS } }) => {
      const leftS = Math.floor((startsAtOwnMs - clock.nowMs()) / 1000 + endsAfterS);
      device.write(limit, leftS, thenLimit);
    },
    readSchedule: async ({ durationS }) => ({
      unit: 'A',
      startsAtOwnMs: clock.nowMs(),
      durationS,
      periods: [
        { startS: 0, limit: device.limitA },
        ...(device.leftS > 0 ? [{ startS: device.leftS, limit: device.fallbackA }] : []),
      ],
    }),
    askStatus: async (evse) => session.receivedStatus(evse, 'Charging', clock.nowMs(), clock.monotonicMs()),
    askValues: async (evse) => {
      const { limitA } = device;
      const values = { ownMs: clock.nowMs(), transaction: undefined, energyWh: 0, namesPhases: true };
      const [currentA, voltageV] = [[limitA, limitA, limitA] as const, [230, 230, 230] as const];
      session.receivedValues(
        evse,
        { ...values, powerW: 690 * limitA, currentA, voltageV },
        clock.monotonicMs(),
      );
    },
  };
}

/** The charger with a service that answers each heartbeat by `answer`, if any. */
async function joined(answer: { limitA: number; thenA: number } | undefined) {
  const clock = createVirtualClock(Date.parse('2026-06-01T00:00:00Z'));
  const service = { answer };
  const leases: (string | undefined)[] = [];
  const state = { lowestA: () => Number.POSITIVE_INFINITY, began() {}, keep() {}, retire() {} };
  let boots = 0;
  const { tenants } = parseProvisioning(JSON.stringify(FILE), 'register-charger');
  const [bridge] = bridgesOf(
    { tenants },
    {
      heartbeatMs: HEARTBEAT_MS,
      clock,
      log: silentLog,
      memory: openGatewayMemory(undefined),
      stateOf: () => state,
      metrics: createGatewayMetrics({ processMetrics: false }),
      newBoot: () => `boot-${++boots}`,
    },
  );
  if (bridge === undefined) throw new Error('the charger was left out');
  const device = new RegisterDevice(clock);
  const dialect = registersAs(device, bridge, clock);
  let seq = 0;
  const grant = ({ boot = '', hb: ref = 0 }: MeterMessage) => {
    const { answer: given } = service;
    const [connector] = bridge.connectors;
    if (given === undefined || connector === undefined) return;
    const limit = {
      v: 1,
      epoch: 1,
      seq: ++seq,
      boot,
      ref,
      ttlS: 60,
      limitW: 0,
      reason: 'fairShare',
      ...given,
    } as const;
    bridge.limit(connector.connectorId, limit);
  };
  const uplink = {
    isListening: true,
    attach: async () => {},
    detach() {},
    setWill() {},
    publish: (topic: string, body: object) => {
      if (topic.endsWith('/meter')) grant(meterSchema.parse(body));
      if (topic.endsWith('/state')) leases.push(stateSchema.parse(body).connectors?.[0]?.lease);
    },
  };
  await bridge.open({ dialect, close() {} }, uplink);
  bridge.session.booted('Registers 1.0', clock.monotonicMs());
  /** The gateway reads the meter at each heartbeat. */
  const pass = async (seconds: number) => {
    for (let step = 0; step < 10 * seconds; step++) {
      if (step % 100 === 0)
        for (const { evse } of bridge.connectors) {
          await dialect.askStatus(evse);
          await dialect.askValues(evse);
        }
      clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { device, pass, leases, service };
}

it('A charger with registers proves its lease, follows its limit, and falls back by its watchdog', async () => {
  const { device, pass, leases, service } = await joined({ limitA: 16, thenA: 6 });
  await pass(40);
  expect(leases.at(-1)).toBe('heartbeat');
  expect(device.limitA).toBe(16);
  service.answer = { limitA: 10, thenA: 6 };
  await pass(15);
  expect(device.limitA).toBe(10);
  service.answer = undefined;
  await pass(65);
  expect(device.limitA).toBe(6);
  expect(leases.at(-1)).toBe('heartbeat');
});

it('A charger whose registers have no watchdog gets no lease', async () => {
  const { device, pass, leases } = await joined({ limitA: 16, thenA: 6 });
  device.write = () => {};
  await pass(60);
  expect(leases.at(-1)).toBe('none');
});
