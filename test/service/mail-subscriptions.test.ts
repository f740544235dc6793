// Extension: mail subscriptions, which send the event log of an organization to people.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../sim/virtual-clock.js';
import { loadConfig } from '../../src/config.js';
import { eventPageSchema } from '../../src/features/events/contract.js';
import {
  deliveryListSchema,
  mailSubscriptionDeletedSchema,
  mailSubscriptionListSchema,
  mailSubscriptionSchema,
  webhookListSchema,
} from '../../src/features/webhooks/contract.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { type MailServer, startMailServer } from './mail-server.js';
import {
  HARBOUR,
  provision,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';
import { startWebhookReceiver } from './webhook-receiver.js';

const FROM = 'headroom@harbour.example';
const TO = ['night@harbour.example', 'day@harbour.example'];
const HOUR_MS = 3_600_000;
/** Shorter than the span in which events gather, so that answers of the mail server come in between. */
const STEP_MS = 5_000;

let clock: VirtualClock;
let server: MailServer;
let service: RunningService;
beforeEach(async () => {
  clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
  server = await startMailServer();
  const tenants = [tenantWith(HARBOUR, [site('quay'), site('yard')]), tenantWith(RIVAL, [site('rivals')])];
  service = await runService(
    tenants,
    { clock },
    { HEADROOM_SMTP_URL: server.url, HEADROOM_MAIL_FROM: FROM, HEADROOM_WEBHOOK_PRIVATE: 'true' },
  );
});
afterEach(async () => {
  await service.stop();
  await server.stop();
});

async function subscribe(body: object = {}) {
  const answer = await service.call('POST', '/mail-subscriptions', { to: TO, ...body });
  return bodyOf(answer, mailSubscriptionSchema, 201);
}

async function addCluster(name: string): Promise<void> {
  const answer = await service.call('POST', '/clusters', { name, locationIds: ['quay'] });
  expect(answer.status).toBe(201);
}

async function untilMails(count: number): Promise<void> {
  await eventually(() => {
    clock.advance(STEP_MS);
    expect(server.mails).toHaveLength(count);
  });
}

const one = async (id: string) =>
  bodyOf(await service.call('GET', `/mail-subscriptions/${id}`), mailSubscriptionSchema);

const deliveries = async (id: string, state: 'dead' | 'waiting') =>
  bodyOf(await service.call('GET', `/mail-subscriptions/${id}/deliveries?state=${state}`), deliveryListSchema)
    .deliveries;

const owed = async (id: string) => [...(await deliveries(id, 'waiting')), ...(await deliveries(id, 'dead'))];

async function untilFirstAttempt(id: string): Promise<void> {
  await eventually(async () => {
    clock.advance(STEP_MS);
    expect((await owed(id))[0]).toMatchObject({ attempts: 1 });
  });
}

/** Makes the next attempt, and waits for its result. False if none is to come. */
async function isRepeated(id: string): Promise<boolean> {
  const before = await owed(id);
  const instants = before.flatMap(({ nextAttemptAt }) =>
    nextAttemptAt === null ? [] : [Date.parse(nextAttemptAt)],
  );
  if (instants.length === 0) return false;
  clock.advance(Math.max(0, Math.min(...instants) - clock.nowMs()));
  await eventually(async () => expect(await owed(id)).not.toEqual(before));
  return true;
}

const replay = async (id: string) =>
  bodyOf(await service.call('POST', `/mail-subscriptions/${id}/replay`, {}), deliveryListSchema).deliveries;

describe('A mail subscription', () => {
  it('gathers the events of half a minute into one plain mail to its receivers', async () => {
    const { mailSubscriptionId } = await subscribe({ types: ['cluster.changed', 'provisioning.changed'] });
    for (const name of ['a', 'b', 'c']) await addCluster(name);
    const moved = [site('quay', { permanentLimitKw: 40 }), site('yard')];
    await provision(service.config, tenantWith(HARBOUR, moved));
    await untilMails(1);
    const [mail] = server.mails;
    expect([mail?.from, mail?.to]).toEqual([FROM, TO]);
    expect(mail?.headers.get('subject')).toMatch(/The quay/);
    expect(mail?.headers.get('subject')).toMatch(/cluster\.changed \(3\), provisioning\.changed$/);
    expect(mail?.headers.get('auto-submitted')).toBe('auto-generated');
    expect(mail?.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(mail?.headers.get('message-id')).toMatch(
      new RegExp(`^<${mailSubscriptionId}\\.\\d+-\\d+@harbour\\.example>$`),
    );
    expect(mail?.text.trim().split('\n')).toHaveLength(4);
    expect(mail?.text).toMatch(/\| The quay \| provisioning\.changed/);
    await addCluster('later');
    await untilMails(2);
    await eventually(async () => expect(await one(mailSubscriptionId)).toMatchObject({ isWaiting: false }));
  });

  it('makes one mail of a storm, which names the first hundred events and counts the others', async () => {
    await subscribe({ types: ['cluster.changed'] });
    await Promise.all(Array.from({ length: 120 }, (_, i) => addCluster(`c${i}`)));
    await untilMails(1);
    const lines = server.mails[0]?.text.trim().split('\n') ?? [];
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toMatch(/^and 20 more: GET \/v1\/events\?after=\d+$/);
    expect(server.mails[0]?.headers.get('subject')).toBe('the organization: cluster.changed (120)');
  });

  it('sends the same mail with the same Message-ID until the server takes it, also after a restart', async () => {
    const { mailSubscriptionId } = await subscribe({ types: ['cluster.changed'] });
    server.isRefusing = true;
    await addCluster('refused');
    await eventually(() => {
      clock.advance(STEP_MS);
      expect(server.attempts).toHaveLength(1);
    });
    await addCluster('of the next mail');
    await eventually(async () =>
      expect(await deliveries(mailSubscriptionId, 'waiting')).toMatchObject([
        { attempts: 1, error: expect.stringMatching(/no room/), diedAt: null },
      ]),
    );
    service = await service.restart({ clock });
    server.isRefusing = false;
    await untilMails(2);
    const [refused, taken] = server.attempts;
    expect(taken?.headers.get('message-id')).toBe(refused?.headers.get('message-id'));
    expect(taken?.text).toBe(refused?.text);
    expect(server.mails.map(({ text }) => /refused|of the next mail/.exec(text)?.[0])).toEqual([
      'refused',
      'of the next mail',
    ]);
  });

  it('gives up after three days, and sends dead letters again when asked', async () => {
    const { mailSubscriptionId } = await subscribe({ types: ['cluster.changed'] });
    server.isRefusing = true;
    for (const name of ['a', 'b']) await addCluster(name);
    await untilFirstAttempt(mailSubscriptionId);
    while (await isRepeated(mailSubscriptionId));
    expect(await deliveries(mailSubscriptionId, 'dead')).toHaveLength(2);
    server.isRefusing = false;
    expect(await replay(mailSubscriptionId)).toHaveLength(2);
    await untilMails(1);
    expect(server.mails[0]?.headers.get('subject')).toBe('the organization: cluster.changed (2)');
    await eventually(async () => expect(await deliveries(mailSubscriptionId, 'dead')).toEqual([]));
  });

  it('reaches its other receivers once, and gives up at once for an address that is refused', async () => {
    const { mailSubscriptionId } = await subscribe({ types: ['cluster.changed'] });
    server.refusedWith.set('night@harbour.example', 550);
    for (const name of ['a', 'b']) await addCluster(name);
    await untilMails(1);
    expect(server.mails[0]?.to).toEqual(['day@harbour.example']);
    const dead = {
      to: ['night@harbour.example'],
      error: expect.stringMatching(/^night@harbour\.example: .*550/),
      attempts: 1,
      nextAttemptAt: null,
    };
    await eventually(async () =>
      expect(await deliveries(mailSubscriptionId, 'dead')).toMatchObject([dead, dead]),
    );
    expect(await deliveries(mailSubscriptionId, 'waiting')).toEqual([]);
    for (let hour = 0; hour < 80; hour++) clock.advance(HOUR_MS);
    await eventually(async () => expect(await one(mailSubscriptionId)).toMatchObject({ isWaiting: false }));
    expect(server.asked.filter((address) => address === 'night@harbour.example')).toHaveLength(1);
    server.refusedWith.clear();
    await replay(mailSubscriptionId);
    await untilMails(2);
    expect(server.mails.map(({ to }) => to)).toEqual([['day@harbour.example'], ['night@harbour.example']]);
    // The header names all, so that the repeated mail equals the first.
    expect(server.mails[1]?.headers.get('to')).toBe(server.mails[0]?.headers.get('to'));
    await eventually(async () => expect(await deliveries(mailSubscriptionId, 'dead')).toEqual([]));
  });

  it('sends dead letters to the address that replaced a wrong one, and to nobody twice', async () => {
    const { mailSubscriptionId } = await subscribe({ types: ['cluster.changed'] });
    server.refusedWith.set('night@harbour.example', 553);
    await addCluster('a');
    await untilMails(1);
    await eventually(async () => expect(await deliveries(mailSubscriptionId, 'dead')).toHaveLength(1));
    const to = ['day@harbour.example', 'nacht@harbour.example'];
    await service.call('PUT', `/mail-subscriptions/${mailSubscriptionId}`, { to });
    await replay(mailSubscriptionId);
    await untilMails(2);
    expect(server.mails[1]?.to).toEqual(['nacht@harbour.example']);
  });

  it('keeps a refused replay as a dead letter, without another attempt', async () => {
    const { mailSubscriptionId } = await subscribe({ types: ['cluster.changed'] });
    for (const address of TO) server.refusedWith.set(address, 550);
    await addCluster('a');
    await untilFirstAttempt(mailSubscriptionId);
    expect(await deliveries(mailSubscriptionId, 'dead')).toMatchObject([{ to: TO, attempts: 1 }]);
    await replay(mailSubscriptionId);
    await eventually(async () =>
      expect(await deliveries(mailSubscriptionId, 'dead')).toMatchObject([{ to: TO, attempts: 2 }]),
    );
    expect([server.mails, server.attempts]).toEqual([[], []]);
  });

  it('sends all dead letters again, past those of a location that goes on failing', async () => {
    const [address = ''] = TO;
    const types = ['cluster.changed', 'provisioning.changed'];
    const { mailSubscriptionId } = await subscribe({ to: [address], types });
    server.refusedWith.set(address, 550);
    await Promise.all(Array.from({ length: 110 }, (_, i) => addCluster(`c${i}`)));
    await provision(
      service.config,
      tenantWith(HARBOUR, [site('quay', { permanentLimitKw: 40 }), site('yard')]),
    );
    await untilFirstAttempt(mailSubscriptionId);
    expect(await deliveries(mailSubscriptionId, 'dead')).toHaveLength(111);
    server.refusedWith.clear();
    server.refuses = ({ text }) => text.includes('cluster.changed');
    await replay(mailSubscriptionId);
    await eventually(() =>
      expect(server.mails.map(({ headers }) => headers.get('subject'))).toEqual([
        'The quay: provisioning.changed',
      ]),
    );
    server.refuses = () => false;
    await eventually(async () => {
      clock.advance(1_000);
      expect(await owed(mailSubscriptionId)).toEqual([]);
    });
    const lines = server.mails.flatMap(({ text }) => text.trim().split('\n'));
    expect(new Set(lines).size).toBe(111);
    expect(lines).toHaveLength(111);
  });

  it('repeats a delayed address alone, beside one that is refused and one that has the mail', async () => {
    const [taken, delayed, refused] = [
      'a@harbour.example',
      'b@harbour.example',
      'c@harbour.example',
    ] as const;
    const { mailSubscriptionId } = await subscribe({
      to: [taken, delayed, refused],
      types: ['cluster.changed'],
    });
    server.refusedWith.set(delayed, 451).set(refused, 550);
    await addCluster('a');
    await untilMails(1);
    await eventually(async () =>
      expect(await deliveries(mailSubscriptionId, 'waiting')).toMatchObject([{ to: [delayed], attempts: 1 }]),
    );
    expect(await deliveries(mailSubscriptionId, 'dead')).toMatchObject([{ to: [refused] }]);
    service = await service.restart({ clock });
    server.refusedWith.set(refused, 451);
    // The replay and the repeated mail concern one event.
    await replay(mailSubscriptionId);
    for (const address of [delayed, refused])
      while (server.asked.filter((asked) => asked === address).length <= 3)
        expect(await isRepeated(mailSubscriptionId)).toBe(true);
    server.refusedWith.clear();
    while (await isRepeated(mailSubscriptionId));
    expect(server.mails.flatMap(({ to }) => to).sort()).toEqual([taken, delayed, refused]);
    await eventually(async () => expect(await one(mailSubscriptionId)).toMatchObject({ isWaiting: false }));
    expect(await deliveries(mailSubscriptionId, 'dead')).toEqual([]);
  });

  it('lists all its receivers that never got a mail, after three days of delays beside a refusal', async () => {
    const { mailSubscriptionId } = await subscribe({ types: ['cluster.changed'] });
    server.refusedWith.set(TO[0] ?? '', 451).set(TO[1] ?? '', 550);
    await addCluster('a');
    await untilFirstAttempt(mailSubscriptionId);
    expect(await deliveries(mailSubscriptionId, 'dead')).toMatchObject([{ to: [TO[1]], attempts: 1 }]);
    while (await isRepeated(mailSubscriptionId));
    expect(await deliveries(mailSubscriptionId, 'dead')).toMatchObject([{ to: TO }]);
    expect(server.asked.filter((address) => address === TO[1])).toHaveLength(1);
    expect(await deliveries(mailSubscriptionId, 'waiting')).toEqual([]);
  });

  it('gives up a text that is refused for good, and waits for a sender that the operator can mend', async () => {
    const { mailSubscriptionId } = await subscribe({ types: ['cluster.changed'] });
    server.refusedWith.set(FROM, 550);
    await addCluster('a');
    await eventually(async () => {
      clock.advance(STEP_MS);
      expect(await deliveries(mailSubscriptionId, 'waiting')).toMatchObject([{ to: TO, attempts: 1 }]);
    });
    server.refusedWith.clear();
    Object.assign(server, { isRefusing: true, refusalCode: 554 });
    await eventually(async () => {
      clock.advance(STEP_MS);
      expect(await deliveries(mailSubscriptionId, 'dead')).toMatchObject([
        { to: TO, error: expect.stringMatching(/554 no room/) },
      ]);
    });
    expect(server.attempts).toHaveLength(1);
    await eventually(async () => expect(await one(mailSubscriptionId)).toMatchObject({ isWaiting: false }));
  });

  it('waits for a server that refuses by its policy, such as relaying, until the operator has mended that', async () => {
    const [refused, ...others] = TO;
    const { mailSubscriptionId } = await subscribe({ types: ['cluster.changed'] });
    server.refusedWith.set(refused ?? '', `554 5.7.1 <${refused}>: Relay access denied`);
    await addCluster('a');
    await untilMails(1);
    await eventually(async () =>
      expect(await deliveries(mailSubscriptionId, 'waiting')).toMatchObject([
        { to: [refused], attempts: 1, error: expect.stringMatching(/Relay access denied/) },
      ]),
    );
    expect(await deliveries(mailSubscriptionId, 'dead')).toEqual([]);
    server.refusedWith.clear();
    await isRepeated(mailSubscriptionId);
    expect(server.mails.map(({ to }) => to)).toEqual([others, [refused]]);
  });

  it('holds no webhook while the mail server does not answer, and each mail is sent once', async () => {
    const receiver = await startWebhookReceiver();
    try {
      let answer = () => {};
      server.answersAfter = new Promise((resolve) => {
        answer = resolve;
      });
      // A tenant sends four mails at once.
      for (let mail = 0; mail < 4; mail++) await subscribe({ types: ['cluster.changed'] });
      await addCluster('a');
      await eventually(() => {
        clock.advance(STEP_MS);
        expect(server.attempts).toHaveLength(4);
      });
      const hook = { url: receiver.url, types: ['cluster.changed'] };
      expect((await service.call('POST', '/webhooks', hook)).status).toBe(201);
      await addCluster('b');
      await eventually(() => expect(receiver.accepted()).toMatchObject([{ data: { name: 'b' } }]));
      expect(server.mails).toEqual([]);
      answer();
      // A second mail each has the second cluster.
      await untilMails(8);
      const ids = server.attempts.map(({ headers }) => headers.get('message-id'));
      expect([ids.length, new Set(ids).size]).toEqual([8, 8]);
    } finally {
      await receiver.stop();
    }
  });

  it('leaves no connection to a mail server that never answers, once the service stops', async () => {
    await subscribe({ types: ['cluster.changed'] });
    server.answersAfter = new Promise(() => {});
    await addCluster('a');
    await eventually(() => {
      clock.advance(STEP_MS);
      expect(server.attempts).toHaveLength(1);
    });
    expect(server.connections()).toBe(1);
    service = await service.restart({ clock }, async () =>
      eventually(() => expect(server.connections()).toBe(0)),
    );
  });

  it('writes names with line breaks on one line, and into no header', async () => {
    await subscribe({ types: ['provisioning.changed'] });
    const name = 'Quay\r\nBcc: thief@elsewhere.example\r\n\r\nHello';
    await provision(service.config, tenantWith(HARBOUR, [{ ...site('quay'), name }, site('yard')]));
    await untilMails(1);
    const [mail] = server.mails;
    expect(mail?.to).toEqual(TO);
    expect(mail?.headers.get('subject')).toBe(
      'Quay Bcc: thief@elsewhere.example Hello: provisioning.changed',
    );
    expect(mail?.headers.has('bcc')).toBe(false);
    expect(mail?.text.trim().split('\n')).toHaveLength(1);
  });

  it('receives only events of its locations, and shows its own changes in the log', async () => {
    const { mailSubscriptionId, to } = await subscribe({
      types: ['provisioning.changed'],
      locationIds: ['yard'],
    });
    const changed = [site('quay', { permanentLimitKw: 41 }), site('yard', { permanentLimitKw: 42 })];
    await provision(service.config, tenantWith(HARBOUR, changed));
    await untilMails(1);
    expect(server.mails[0]?.headers.get('subject')).toBe('The yard: provisioning.changed');
    const page = await service.call('GET', '/events?type=mailSubscription.changed');
    expect(bodyOf(page, eventPageSchema).events).toMatchObject([
      { source: 'rest', data: { mailSubscriptionId, to } },
    ]);
    expect(bodyOf(await service.call('GET', '/webhooks'), webhookListSchema).webhooks).toEqual([]);
    refusalOf(await service.call('DELETE', `/webhooks/${mailSubscriptionId}`), 'NOT_FOUND');
    const path = `/mail-subscriptions/${mailSubscriptionId}`;
    for (const [method, body] of [['GET'], ['PUT', { to: TO }], ['DELETE']] as const)
      refusalOf(await service.call(method, path, body, RIVAL), 'NOT_FOUND');
    const renamed = await service.call('PUT', path, { to: ['one@harbour.example'] });
    expect(bodyOf(renamed, mailSubscriptionSchema)).toMatchObject({
      to: ['one@harbour.example'],
      types: null,
      locationIds: null,
    });
    bodyOf(await service.call('DELETE', path), mailSubscriptionDeletedSchema);
    const list = bodyOf(await service.call('GET', '/mail-subscriptions'), mailSubscriptionListSchema);
    expect(list.mailSubscriptions).toEqual([]);
  });

  it.each([
    [['a@b.example\r\nBcc: thief@b.example']],
    [['Thief <a@b.example>']],
    [['a@b.example, c@d.example']],
    [['no address']],
    [['a@localhost']],
    [[`${'a'.repeat(65)}@b.example`]],
    [[]],
    [Array.from({ length: 21 }, (_, i) => `a${i}@b.example`)],
    [[7]],
    ['a@b.example'],
  ])('to %j is refused with the field', async (to) => {
    const answer = await service.call('POST', '/mail-subscriptions', { to });
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(/^to(\.\d+)?: must be /);
  });

  it('is refused beyond ten, and of a location of others', async () => {
    for (let i = 0; i < 10; i++) await subscribe();
    const answer = await service.call('POST', '/mail-subscriptions', { to: TO });
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(/at most 10 mail subscriptions/);
    const foreign = { to: TO, locationIds: ['rivals'] };
    refusalOf(
      await service
        .call('POST', '/mail-subscriptions', foreign, RIVAL)
        .then(() => service.call('PUT', '/mail-subscriptions/none', foreign)),
      'NOT_FOUND',
    );
  });
});

describe('A service without a mail server', () => {
  it('refuses a subscription with the settings that are missing, and takes no half of them', async () => {
    const without = await runService([tenantWith(HARBOUR, [site('quay')])]);
    const answer = await without.call('POST', '/mail-subscriptions', { to: TO });
    expect(refusalOf(answer, 'FEATURE_NOT_ENABLED')).toMatch(/HEADROOM_SMTP_URL and HEADROOM_MAIL_FROM/);
    await without.stop();
    expect(() => loadConfig({}, { HEADROOM_SMTP_URL: server.url })).toThrow(/HEADROOM_MAIL_FROM/);
    expect(() => loadConfig({}, { HEADROOM_MAIL_FROM: FROM })).toThrow(/HEADROOM_SMTP_URL/);
  });
});
