// A login of chargers at a broker that refuses it for a while, or for good.
import { connect } from 'mqtt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  ChargerAddress,
  ConnectorId,
  ControllerUuid,
  LocationId,
  TenantUuid,
} from '../../machines/values/ids.js';
import { Uplink } from '../../src/gateway/uplink.js';
import { eventually } from '../eventually.js';
import {
  NOT_AUTHORIZED,
  type RefusingBroker,
  SERVER_UNAVAILABLE,
  startRefusingBroker,
} from './refusing-broker.js';

const RECONNECT_MS = 50;
const ADDRESS: ChargerAddress = {
  tenantUuid: 'tenant-1' as TenantUuid,
  locationId: 'quay-1' as LocationId,
  controllerUuid: 'q1-a' as ControllerUuid,
};

let broker: RefusingBroker;
let uplink: Uplink;
let listened: number;
let refused: number;

beforeEach(async () => {
  broker = await startRefusingBroker();
  listened = 0;
  refused = 0;
  uplink = new Uplink(
    {
      url: broker.url,
      ca: undefined,
      clientId: 'q1-a',
      username: 'tenant-1/q1-a',
      password: Buffer.from('a password'),
      reconnectMs: RECONNECT_MS,
    },
    undefined,
  );
});

afterEach(async () => {
  await uplink.end();
  await broker.close();
});

async function listen(): Promise<void> {
  expect(await uplink.opened()).toBeUndefined();
  await uplink.attach(ADDRESS, ['1' as ConnectorId], {
    limit() {},
    sync() {},
    listening() {
      listened++;
    },
    refused() {
      refused++;
    },
  });
  expect(uplink.isListening).toBe(true);
}

describe('A login that was taken', () => {
  it('is tried again, and listens again, after a server that was unavailable takes it', async () => {
    await listen();
    broker.refuseWith(SERVER_UNAVAILABLE);
    broker.cutAll();
    await eventually(() => expect(broker.attemptsOf('q1-a')).toBeGreaterThan(3));
    expect(uplink.isListening).toBe(false);
    expect(refused).toBe(0);
    broker.refuseWith(undefined);
    await eventually(() => expect(uplink.isListening).toBe(true));
    expect(listened).toBe(1);
  });

  it('and is no longer is told so once, and not tried again', async () => {
    await listen();
    broker.refuseWith(NOT_AUTHORIZED);
    broker.cutAll();
    await eventually(() => expect(refused).toBe(1));
    const stubborn = connect(broker.url, {
      clientId: 'stubborn',
      reconnectPeriod: RECONNECT_MS,
      reconnectOnConnackError: true,
    });
    stubborn.on('error', () => {});
    await eventually(() => expect(broker.attemptsOf('stubborn')).toBeGreaterThan(5));
    await stubborn.endAsync(true);
    expect(broker.attemptsOf('q1-a')).toBe(2);
    expect(uplink).toMatchObject({ isRefused: true, isListening: false });
  });
});

describe('A first login', () => {
  it('that a server refuses for now could not be judged', async () => {
    broker.refuseWith(SERVER_UNAVAILABLE);
    expect(await uplink.opened()).toBe('unreachable');
  });

  it('with a wrong password is refused', async () => {
    broker.refuseWith(NOT_AUTHORIZED);
    expect(await uplink.opened()).toBe('password');
  });
});
