// Extension: webhooks, which send the event log of an organization to its systems.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { eventPageSchema } from '../../src/features/events/contract.js';
import {
  deliveryListSchema,
  issuedWebhookSchema,
  webhookDeletedSchema,
  webhookListSchema,
  webhookSchema,
} from '../../src/features/webhooks/contract.js';
import { type Store, StoreUnavailableError } from '../../src/ports/store.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import {
  HARBOUR,
  provision,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';
import { isSignedWith, startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.js';

const HOUR_MS = 3_600_000;
// Receivers refuse requests of another time.
const clock = createVirtualClock(Date.now());
const SITES = [site('quay'), site('yard')];

let service: RunningService;
/** The database takes no progress of webhooks. */
let isFull = false;
let refusedWrites = 0;
const wrapStore = (store: Store): Store => ({
  ...store,
  async append(tenantUuid, changes, by) {
    if (isFull && changes.some(({ kind }) => kind === 'webhook.progress')) {
      refusedWrites++;
      throw new StoreUnavailableError('the disk is full');
    }
    await store.append(tenantUuid, changes, by);
  },
});
let receiver: WebhookReceiver;
beforeAll(async () => {
  const tenants = [tenantWith(HARBOUR, SITES), tenantWith(RIVAL, [site('rivals')])];
  service = await runService(tenants, { clock, wrapStore }, { HEADROOM_WEBHOOK_PRIVATE: 'true' });
});
beforeEach(async () => {
  receiver = await startWebhookReceiver();
});
afterEach(async () => {
  const { webhooks } = bodyOf(await service.call('GET', '/webhooks'), webhookListSchema);
  for (const { webhookId } of webhooks) await service.call('DELETE', `/webhooks/${webhookId}`);
  await receiver.stop();
});
afterAll(() => service.stop());

async function create(body: object = {}) {
  const answer = await service.call('POST', '/webhooks', { url: receiver.url, ...body });
  return bodyOf(answer, issuedWebhookSchema, 201);
}

const webhookOf = async (webhookId: string) =>
  bodyOf(await service.call('GET', `/webhooks/${webhookId}`), webhookSchema);

const deliveriesOf = async (webhookId: string, state: 'dead' | 'waiting') =>
  bodyOf(await service.call('GET', `/webhooks/${webhookId}/deliveries?state=${state}`), deliveryListSchema)
    .deliveries;

const limitsKw = { quay: 50, yard: 50 };
/** Leads to one event of each location, in this order. */
async function change(...locationIds: readonly (keyof typeof limitsKw)[]): Promise<void> {
  for (const id of locationIds) {
    limitsKw[id]++;
    const sites = (['quay', 'yard'] as const).map((each) => site(each, { permanentLimitKw: limitsKw[each] }));
    await provision(service.config, tenantWith(HARBOUR, sites));
  }
  clock.advance(1_000);
}

async function addCluster(name: string): Promise<void> {
  const answer = await service.call('POST', '/clusters', { name, locationIds: ['quay'] });
  expect(answer.status).toBe(201);
}

const namesOf = () => receiver.accepted().map(({ data }) => data.name);

describe('a webhook', () => {
  it('receives each event of the log in order, signed by the standard, as the log shows it', async () => {
    const { webhookId, secret, lastEventId } = await create();
    for (const name of ['a', 'b', 'c']) await addCluster(name);
    const page = await service.call('GET', `/events?after=${lastEventId}`);
    const { events } = bodyOf(page, eventPageSchema);
    expect(events.map(({ type }) => type)).toEqual(['webhook.changed', ...Array(3).fill('cluster.changed')]);
    await eventually(() => expect(receiver.accepted()).toEqual(events));
    for (const request of receiver.received) {
      expect(isSignedWith(secret, request)).toBe(true);
      expect(isSignedWith(`whsec_${Buffer.alloc(32).toString('base64')}`, request)).toBe(false);
      expect(request.headers['webhook-id']).toBe(`${webhookId}_${request.event.id}`);
      expect(request.headers['webhook-timestamp']).toBe(String(Math.floor(clock.nowMs() / 1000)));
      expect(JSON.parse(request.body)).toMatchObject({ type: request.event.type });
    }
    await eventually(async () => expect((await webhookOf(webhookId)).lastEventId).toBe(events.at(-1)?.id));
    expect(JSON.stringify((await service.call('GET', '/webhooks')).body)).not.toContain(secret);
    expect(JSON.stringify(events)).not.toContain(secret);
  });

  it('receives only events of its types and locations, and earlier ones after an id', async () => {
    const { lastEventId } = await create({ types: ['cluster.deleted'] });
    await addCluster('not asked for');
    await change('yard', 'quay');
    const earlier = await startWebhookReceiver();
    const types = ['provisioning.changed'];
    await create({ url: earlier.url, types, locationIds: ['quay'], after: lastEventId });
    await eventually(() => expect(earlier.accepted()).toMatchObject([{ locationId: 'quay' }]));
    expect(receiver.received).toEqual([]);
    await earlier.stop();
  });

  it('keeps the order of a location whose event fails, while other locations go on', async () => {
    const { webhookId } = await create({ types: ['provisioning.changed'] });
    receiver.answer = ({ locationId }) => (locationId === 'quay' ? 500 : 204);
    await change('quay');
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await change('quay', 'yard');
    await eventually(() => expect(receiver.accepted()).toMatchObject([{ locationId: 'yard' }]));
    const [failed] = receiver.received;
    await eventually(async () =>
      expect(await deliveriesOf(webhookId, 'waiting')).toMatchObject([
        { eventId: failed?.event.id, locationId: 'quay', attempts: 1, error: 'answered 500', diedAt: null },
      ]),
    );
    expect((await webhookOf(webhookId)).waitingLocations).toBe(1);
    receiver.answer = () => 204;
    clock.advance(5_000);
    await eventually(() => expect(receiver.accepted()).toHaveLength(3));
    const ofQuay = receiver.accepted().filter(({ locationId }) => locationId === 'quay');
    expect(ofQuay[0]?.id).toBe(failed?.event.id);
    expect(Number(ofQuay[1]?.id)).toBeGreaterThan(Number(ofQuay[0]?.id));
    await eventually(async () => expect((await webhookOf(webhookId)).waitingLocations).toBe(0));
    const ids = receiver.received.filter(({ event }) => event.id === failed?.event.id);
    expect(new Set(ids.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('gives an event up after three days, goes on, and sends it again when asked to', async () => {
    const { webhookId } = await create({ types: ['cluster.changed'] });
    receiver.answer = ({ data }) => (data.name === 'poison' ? 400 : 204);
    await addCluster('poison');
    await addCluster('waits');
    let hours = 0;
    await eventually(async () => {
      if (receiver.accepted().length === 0) {
        hours++;
        clock.advance(HOUR_MS);
      }
      expect(namesOf()).toEqual(['waits']);
    });
    expect(hours).toBeGreaterThan(60);
    expect(receiver.received.length).toBeLessThan(30);
    const { values } = await service.metrics.webhookDeliveries.get();
    expect(values.find(({ labels }) => labels.result === 'dead')?.value).toBe(1);
    const [dead, ...others] = await deliveriesOf(webhookId, 'dead');
    expect([dead?.error, dead?.nextAttemptAt, others]).toEqual(['answered 400', null, []]);
    receiver.answer = () => 204;
    const path = `/webhooks/${webhookId}/replay`;
    const other = bodyOf(await service.call('POST', path, { eventIds: ['1'] }), deliveryListSchema);
    expect(other.deliveries).toEqual([]);
    const replayed = bodyOf(await service.call('POST', path, {}), deliveryListSchema);
    expect(replayed.deliveries).toMatchObject([{ eventId: dead?.eventId }]);
    await eventually(() => expect(namesOf()).toEqual(['waits', 'poison']));
    await eventually(async () => {
      expect(await deliveriesOf(webhookId, 'dead')).toEqual([]);
      expect(await deliveriesOf(webhookId, 'waiting')).toEqual([]);
    });
  });

  it('is signed with the new secret and, until the overlap ends, with the one before', async () => {
    const { webhookId, secret } = await create({ types: ['cluster.changed'] });
    const path = `/webhooks/${webhookId}/secret`;
    const rotated = bodyOf(await service.call('POST', path, { overlapS: 60 }), issuedWebhookSchema);
    expect(rotated.secret).not.toBe(secret);
    const signers = (nth: number) =>
      receiver.received
        .slice(nth)
        .map((request) => [secret, rotated.secret].map((each) => isSignedWith(each, request)));
    await addCluster('during');
    await eventually(() => expect(signers(0)).toEqual([[true, true]]));
    clock.advance(60_000);
    await addCluster('after');
    await eventually(() => expect(signers(1)).toEqual([[false, true]]));
  });

  it('goes on in its place after a restart, with another URL if it has one', async () => {
    const { webhookId } = await create({ types: ['cluster.changed'] });
    receiver.answer = () => 503;
    await addCluster('before');
    await eventually(() => expect(receiver.received).toHaveLength(1));
    service = await service.restart({ clock, wrapStore });
    await addCluster('between');
    const next = await startWebhookReceiver();
    const put = { url: next.url, types: ['cluster.changed'] };
    await service.call('PUT', `/webhooks/${webhookId}`, put);
    clock.advance(10_000);
    await eventually(() =>
      expect(next.accepted().map(({ data }) => data.name)).toEqual(['before', 'between']),
    );
    const answer = await service.call('DELETE', `/webhooks/${webhookId}`);
    expect(bodyOf(answer, webhookDeletedSchema)).toEqual({ webhookId, deleted: true });
    await addCluster('later');
    expect((await service.call('GET', `/webhooks/${webhookId}`)).status).toBe(404);
    expect(next.accepted()).toHaveLength(2);
    await next.stop();
  });

  it('sends an event once, although its progress cannot be written for a while', async () => {
    const { webhookId, lastEventId } = await create({ types: ['cluster.changed'] });
    const isPast = async (id: string) => Number((await webhookOf(webhookId)).lastEventId) > Number(id);
    // Its own creation is an event.
    await eventually(async () => expect(await isPast(lastEventId)).toBe(true));
    const before = (await webhookOf(webhookId)).lastEventId;
    isFull = true;
    await addCluster('once');
    await eventually(() => {
      clock.advance(1_000);
      expect(refusedWrites).toBeGreaterThan(5);
    });
    expect(await isPast(before)).toBe(false);
    isFull = false;
    await eventually(async () => {
      clock.advance(1_000);
      expect(await isPast(before)).toBe(true);
    });
    expect(namesOf()).toEqual(['once']);
  });

  it('sends at most a few events after its deletion, however many wait and however slow its receiver is', async () => {
    const { webhookId } = await create({ types: ['cluster.changed'] });
    receiver.answer = () => 500;
    await addCluster('first');
    await eventually(async () => expect(await deliveriesOf(webhookId, 'waiting')).toHaveLength(1));
    for (let nth = 0; nth < 15; nth++) await addCluster(`waits ${nth}`);
    const deleted = new Promise<void>((resolve, reject) => {
      receiver.answer = () => {
        if (receiver.accepted().length === 0)
          service.call('DELETE', `/webhooks/${webhookId}`).then(() => resolve(), reject);
        clock.advance(9_000);
        return 204;
      };
    });
    clock.advance(5_000);
    await deleted;
    await addCluster('later');
    const slow = receiver.accepted().length;
    expect(slow).toBeLessThan(5);
    expect(receiver.accepted()).toHaveLength(slow);
  });

  it('goes on with the next event if its place is of a database that was replaced by an older one', async () => {
    const { webhookId } = await create({ types: ['cluster.changed'], after: '999999999' });
    await eventually(async () => expect((await webhookOf(webhookId)).lastEventId).not.toBe('999999999'));
    await addCluster('next');
    await eventually(() => expect(namesOf()).toEqual(['next']));
  });

  it('waits as long as its receiver asks, and a day at most', async () => {
    const { webhookId } = await create({ types: ['cluster.changed'] });
    receiver.answer = () => 429;
    const untilAttempt = (attempts: number, waitS: number) =>
      eventually(async () => {
        const nextAttemptAt = new Date(clock.nowMs() + 1000 * waitS).toISOString();
        expect(await deliveriesOf(webhookId, 'waiting')).toMatchObject([{ attempts, nextAttemptAt }]);
      });
    receiver.retryAfterS = 90;
    await addCluster('asked');
    await untilAttempt(1, 90);
    receiver.retryAfterS = 999_999;
    clock.advance(90_000);
    await untilAttempt(2, 86_400);
  });

  it('follows no redirect', async () => {
    const { webhookId } = await create({ types: ['cluster.changed'] });
    receiver.answer = () => 307;
    await addCluster('moved');
    await eventually(async () => {
      const [waiting] = await deliveriesOf(webhookId, 'waiting');
      expect(waiting?.error).toBe('answered 307: redirects are not followed');
    });
    expect(receiver.received).toHaveLength(1);
  });
});

describe('webhooks', () => {
  it('belong to their organization, which has ten at most', async () => {
    const { webhookId } = await create();
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['GET', '/deliveries'],
      ['POST', '/replay'],
      ['POST', '/secret'],
    ] as const) {
      const body = method === 'PUT' ? { url: receiver.url } : method === 'POST' ? {} : undefined;
      const answer = await service.call(method, `/webhooks/${webhookId}${path}`, body, RIVAL);
      expect(refusalOf(answer, 'NOT_FOUND')).toContain(webhookId);
    }
    for (let nth = 1; nth < 10; nth++) await create();
    const answer = await service.call('POST', '/webhooks', { url: receiver.url });
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toContain('10 webhooks');
  });

  it('need the right to read the events that they send', async () => {
    const request = { name: 'Credentials alone', scopes: ['credentials:write'] };
    const { body } = await service.call('POST', '/credentials/api-keys', request);
    const headers = { 'x-api-key': String(body.apiKey) };
    const answer = await service.send('POST', '/webhooks', { headers, body: { url: receiver.url } });
    expect(refusalOf(answer, 'INSUFFICIENT_SCOPE')).toContain('locations:read');
  });

  it.each([
    [{ url: 'not a url' }, 'url'],
    [{ url: 'ftp://example.com/' }, 'url'],
    [{ url: 'https://user:secret@example.com/' }, 'url'],
    [{ url: `https://example.com/${'x'.repeat(2_000)}` }, 'url'],
    [{ types: ['other'] }, 'types'],
    [{ types: [] }, 'types'],
    [{ locationIds: [] }, 'locationIds'],
    [{ after: '-1' }, 'after'],
  ])('refuses %j with the name of the field', async (body, field) => {
    const answer = await service.call('POST', '/webhooks', { url: receiver.url, ...body });
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toContain(field);
  });

  it('refuses an unknown location', async () => {
    const answer = await service.call('POST', '/webhooks', { url: receiver.url, locationIds: ['rivals'] });
    expect(refusalOf(answer, 'LOCATION_NOT_FOUND')).toContain('rivals');
  });
});

describe('without leave for private addresses, a webhook', () => {
  let strict: RunningService;
  beforeAll(async () => {
    strict = await runService([tenantWith(HARBOUR, SITES)], { clock });
  });
  afterAll(() => strict.stop());

  it.each([
    'http://example.com/',
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest',
    'https://[::1]/',
    'https://[::ffff:192.168.0.1]/',
    'https://[fd00::1]/',
    'https://[64:ff9b::a00:1]/',
  ])('is refused for %s', async (url) => {
    const answer = await strict.call('POST', '/webhooks', { url });
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toContain('url');
  });

  it('connects to no name that leads to one', async () => {
    const { port } = new URL(receiver.url);
    const answer = await strict.call('POST', '/webhooks', { url: `https://localhost:${port}/` });
    const { webhookId } = bodyOf(answer, issuedWebhookSchema, 201);
    await eventually(async () => {
      const path = `/webhooks/${webhookId}/deliveries?state=waiting`;
      const { deliveries } = bodyOf(await strict.call('GET', path), deliveryListSchema);
      expect(deliveries[0]?.error).toContain('private address');
    });
    expect(receiver.received).toEqual([]);
  });
});
