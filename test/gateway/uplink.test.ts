// A login of chargers at a broker that refuses it for a while, or for good.
import { connect, connectAsync } from 'mqtt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  ChargerAddress,
  ConnectorId,
  ControllerUuid,
  LocationId,
  TenantUuid,
} from '../../machines/values/ids.js';
import { createVirtualClock, type VirtualClock } from '../../sim/virtual-clock.js';
import { type LastWill, Uplink } from '../../src/gateway/uplink.js';
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
let clock: VirtualClock;
let listened: number;
let refused: number;

beforeEach(async () => {
  broker = await startRefusingBroker();
  listened = 0;
  refused = 0;
  clock = createVirtualClock(0);
  uplink = logIn(undefined);
});

afterEach(async () => {
  await uplink.end();
  await broker.close();
});

function logIn(will: LastWill | undefined): Uplink {
  const login = {
    url: broker.url,
    ca: undefined,
    clientId: 'q1-a',
    username: 'tenant-1/q1-a',
    password: Buffer.from('a password'),
    reconnectMs: RECONNECT_MS,
    clock,
  };
  return new Uplink(login, will);
}

async function listen(): Promise<void> {
  expect(await uplink.opened()).toBeUndefined();
  await attach();
  expect(uplink.isListening).toBe(true);
}

async function attach(): Promise<void> {
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
}

describe('An accepted login', () => {
  it('is retried while the server is unavailable, and subscribes again after that', async () => {
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

  it('is reported as refused once, and not retried, after the server refuses it', async () => {
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

it('An accepted login that is refused before its charger connects is reported as refused', async () => {
  expect(await uplink.opened()).toBeUndefined();
  broker.refuseWith(NOT_AUTHORIZED);
  broker.cutAll();
  await eventually(() => expect(uplink.isRefused).toBe(true));
  await attach();
  expect(refused).toBe(1);
  expect(uplink.isListening).toBe(false);
});

describe('The last will of a login', () => {
  const willOf = (boot: string) => ({ topic: 'q1-a/state', body: { boot } });
  const spoken = (boot: string) => JSON.stringify({ boot });

  beforeEach(async () => {
    await uplink.end();
    uplink = logIn(willOf('first'));
    await listen();
  });

  it('is the newest one, and earlier ones are never published', async () => {
    uplink.publish('q1-a/state', { said: 'before' }, { qos: 1, retain: false });
    uplink.setWill(willOf('second'));
    uplink.setWill(willOf('third'));
    expect(uplink.isListening).toBe(false);
    await eventually(() => expect(uplink.isListening).toBe(true));
    expect(listened).toBe(1);
    uplink.publish('q1-a/state', { said: 'after' }, { qos: 1, retain: false });
    await eventually(() => expect(broker.heard).toContain('{"said":"after"}'));
    broker.cutAll();
    await eventually(() => expect(broker.heard).toContain(spoken('third')));
    expect(broker.heard).toEqual(['{"said":"before"}', '{"said":"after"}', spoken('third')]);
  });

  it('is published without another login if it is unchanged', async () => {
    uplink.setWill(willOf('first'));
    expect(uplink.isListening).toBe(true);
    broker.cutAll();
    await eventually(() => expect(broker.heard).toEqual([spoken('first')]));
  });

  it('can change without a connection', async () => {
    broker.refuseWith(SERVER_UNAVAILABLE);
    broker.cutAll();
    await eventually(() => expect(uplink.isListening).toBe(false));
    uplink.setWill(willOf('second'));
    broker.refuseWith(undefined);
    await eventually(() => expect(uplink.isListening).toBe(true));
    broker.cutAll();
    await eventually(() => expect(broker.heard).toEqual([spoken('first'), spoken('second')]));
  });

  it('is renewed if the broker does not confirm the end of the earlier login', async () => {
    broker.freezeAll();
    uplink.setWill(willOf('second'));
    clock.advance(4_999);
    expect(broker.attemptsOf('q1-a')).toBe(1);
    clock.advance(1);
    await eventually(() => expect(uplink.isListening).toBe(true));
    broker.cutAll();
    await eventually(() => expect(broker.heard.at(-1)).toBe(spoken('second')));
  });

  it('is not published after the login has ended, even directly after a change', async () => {
    uplink.setWill(willOf('second'));
    await uplink.end();
    // Another login would reach the broker before these.
    for (const clientId of ['one', 'two', 'three'])
      await (await connectAsync(broker.url, { clientId })).endAsync();
    expect(broker.attemptsOf('q1-a')).toBe(1);
    expect(broker.heard).toEqual([]);
  });
});

describe('A first login', () => {
  it('is not judged if the server is unavailable', async () => {
    broker.refuseWith(SERVER_UNAVAILABLE);
    expect(await uplink.opened()).toBe('attempts');
  });

  it('with a wrong password is refused', async () => {
    broker.refuseWith(NOT_AUTHORIZED);
    expect(await uplink.opened()).toBe('password');
  });
});
