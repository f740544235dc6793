// The five messages between chargers and the service, for charger makers: transport of each, with examples.
import type { z } from 'zod';
import {
  type AckMessage,
  ackSchema,
  type LimitMessage,
  limitSchema,
  type MeterMessage,
  meterSchema,
  type StateMessage,
  type SyncMessage,
  stateSchema,
  syncSchema,
} from './mqtt.js';
import type { Topic } from './topics.js';

export interface ChargerTraffic<Message = unknown> {
  readonly kind: Topic['kind'];
  readonly title: string;
  readonly summary: string;
  readonly schema: z.ZodType<Message>;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  readonly examples: readonly {
    readonly name: string;
    readonly summary: string;
    readonly payload: Message;
  }[];
}

const SESSION = '2c0f5a1e-93f6-4b7e-8a53-6d1f0e3b7c42';
const BOOT = '8f4f3c1e-5a0d-4f0b-9a54-0b8f0f7c2a11';

const state: ChargerTraffic<StateMessage> = {
  kind: 'state',
  title: 'The charger is connected, or lost',
  summary: 'Sent after connecting and after sync. The last will on the same topic has online: false.',
  schema: stateSchema,
  qos: 1,
  retain: true,
  examples: [
    {
      name: 'there',
      summary: 'A charger with one connector that keeps the newest thenA over a restart.',
      payload: {
        v: 1,
        online: true,
        boot: BOOT,
        seqNo: 1,
        firmware: 'Acme 2.4',
        connectors: [
          { id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 6, lease: 'heartbeat', keepsThen: true },
        ],
      },
    },
    {
      name: 'dc',
      summary: 'A charger with one DC connector: all its powers are W at the car.',
      payload: {
        v: 1,
        online: true,
        boot: BOOT,
        connectors: [
          {
            ...({ id: '1', powerType: 'DC', minW: 5_000, maxW: 150_000, failsafeW: 0 } as const),
            ...({ lease: 'heartbeat', keepsThen: true } as const),
          },
        ],
      },
    },
    {
      name: 'endsWithSession',
      summary:
        'A charger that ends a limit by itself when the car leaves, so that others may use phases that its car does not.',
      payload: {
        v: 1,
        online: true,
        boot: BOOT,
        connectors: [
          {
            ...({ id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 0, lease: 'heartbeat' } as const),
            keepsThen: true,
            endsWithSession: true,
          },
        ],
      },
    },
    {
      name: 'switchesPhases',
      summary:
        'The same with a contactor for one phase and one for the others: a limit for one phase lets any car charge on one.',
      payload: {
        v: 1,
        online: true,
        boot: BOOT,
        connectors: [
          {
            ...({ id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 0, lease: 'heartbeat' } as const),
            keepsThen: true,
            endsWithSession: true,
            switchesPhases: true,
          },
        ],
      },
    },
    { name: 'lost', summary: 'The last will.', payload: { v: 1, online: false, boot: BOOT } },
  ],
};

const meter: ChargerTraffic<MeterMessage> = {
  kind: 'meter',
  title: 'Heartbeat with meter values',
  summary:
    'Sent every 10 s and after a change, for each connector. It requests a lease and repeats the newest ack.',
  schema: meterSchema,
  qos: 0,
  retain: false,
  examples: [
    {
      name: 'charging',
      summary: 'A car draws 10.8 A on three phases under a lease.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 17,
        at: '2026-06-01T12:00:10.000Z',
        status: 'Charging',
        powerW: 7452,
        currentA: [10.8, 10.8, 10.8],
        voltageV: [230, 230, 230],
        energyWh: 12_440,
        epoch: 4,
        seq: 9,
        limitA: 10.9,
        leaseLeftS: 52.4,
      },
    },
    {
      name: 'fallenBack',
      summary: 'Its lease has ended: it keeps to the thenA of the last limit.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 24,
        status: 'Charging',
        powerW: 4140,
        epoch: 0,
        seq: 0,
        limitA: 6,
      },
    },
    {
      name: 'dc',
      summary: 'A car takes 80 kW of a DC connector, which keeps to 84.6 kW.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 17,
        status: 'Charging',
        powerW: 80_000,
        epoch: 4,
        seq: 9,
        limitW: 84_642,
        leaseLeftS: 52.4,
      },
    },
    {
      name: 'onePhase',
      summary: 'A car that uses one phase of three, named by its session.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 31,
        status: 'Charging',
        session: SESSION,
        powerW: 3680,
        currentA: [16, 0, 0],
        voltageV: [230, 230, 230],
        epoch: 4,
        seq: 12,
        limitA: 16,
        leaseLeftS: 58.1,
      },
    },
    {
      name: 'endOpen',
      summary: 'It counts leases by a clock that is about to be set: its limits may last longer.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 32,
        status: 'Charging',
        powerW: 7452,
        epoch: 4,
        seq: 9,
        limitA: 10.9,
        isEndOpen: true,
      },
    },
    { name: 'simple', summary: 'The fields of a simple charger.', payload: { powerW: 7400 } },
  ],
};

const limit: ChargerTraffic<LimitMessage> = {
  kind: 'limit',
  title: 'Limit with a lease',
  summary: 'Sent in answer to heartbeats, and at once when the limit falls. Answered with ack.',
  schema: limitSchema,
  qos: 1,
  retain: false,
  examples: [
    {
      name: 'fairShare',
      summary: '10.9 A for 60 s from when heartbeat 17 was sent, then 6 A.',
      payload: {
        v: 1,
        epoch: 4,
        seq: 9,
        boot: BOOT,
        ref: 17,
        ttlS: 60,
        limitA: 10.9,
        limitW: 7521,
        thenA: 6,
        reason: 'fairShare',
      },
    },
    {
      name: 'dc',
      summary: '84.6 kW at the car of a DC connector, then nothing: 145 A of each phase at most, at 94 %.',
      payload: {
        v: 1,
        epoch: 4,
        seq: 9,
        boot: BOOT,
        ref: 17,
        ttlS: 60,
        limitA: 145,
        limitW: 84_642,
        thenA: 0,
        thenW: 0,
        reason: 'fairShare',
      },
    },
    {
      name: 'onePhase',
      summary: '27.1 A on the first phase alone, and for this car alone.',
      payload: {
        v: 1,
        epoch: 4,
        seq: 13,
        boot: BOOT,
        ref: 31,
        ttlS: 60,
        limitA: 27.1,
        limitW: 6233,
        thenA: 6,
        session: SESSION,
        phases: 1,
        reason: 'fairShare',
      },
    },
    {
      name: 'pause',
      summary: 'No power now: the connector is paused until its turn.',
      payload: {
        v: 1,
        epoch: 4,
        seq: 10,
        boot: BOOT,
        ref: 18,
        ttlS: 60,
        limitA: 0,
        limitW: 0,
        thenA: 0,
        reason: 'paused',
      },
    },
  ],
};

const ack: ChargerTraffic<AckMessage> = {
  kind: 'ack',
  title: 'Outcome of a limit',
  summary: 'Sent once the hardware took a limit, or at once if the charger does not take it.',
  schema: ackSchema,
  qos: 1,
  retain: false,
  examples: [
    {
      name: 'applied',
      summary: 'The car has been offered 10.9 A.',
      payload: { v: 1, boot: BOOT, epoch: 4, seq: 9, result: 'APPLIED', appliedA: 10.9 },
    },
    {
      name: 'dc',
      summary: 'A DC connector keeps to 84.6 kW at the car.',
      payload: { v: 1, boot: BOOT, epoch: 4, seq: 9, result: 'APPLIED', appliedW: 84_642 },
    },
    {
      name: 'expired',
      summary: 'The limit came after its lease had ended; nothing changed.',
      payload: { v: 1, boot: BOOT, epoch: 4, seq: 8, result: 'EXPIRED', appliedA: 6 },
    },
  ],
};

const sync: ChargerTraffic<SyncMessage> = {
  kind: 'sync',
  title: 'Request to send everything now',
  summary: 'Sent after the service has started. Answered with state and a meter value of each connector.',
  schema: syncSchema,
  qos: 1,
  retain: false,
  examples: [{ name: 'started', summary: 'The service has started.', payload: { v: 1, epoch: 5 } }],
};

/** In the order in which a charger needs them. */
export const CHARGER_TRAFFIC: readonly ChargerTraffic[] = [state, meter, limit, ack, sync];
