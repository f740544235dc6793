// Mails of a real process that is killed in the middle of them: each event is mailed, also past a refused address.
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { mailSubscriptionSchema } from '../../src/features/webhooks/contract.js';
import { serve, temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { startMailServer } from '../service/mail-server.js';
import { apiKeyOf, HARBOUR, provision, site, tenantWith } from '../service/running-service.js';

const HEADERS = { 'x-api-key': apiKeyOf(HARBOUR), 'content-type': 'application/json' };
const [TAKING, REFUSED] = ['day@harbour.example', 'night@harbour.example'] as const;
/** Events gather for half a minute of the host's clock. */
const GATHERED_WITHIN_MS = 90_000;
/** A mail lists at most a hundred. */
const EVENTS_AT_ONCE = 40;

describe('A mail subscription', () => {
  it('mails each event at least once, although the process is killed in the middle of mails', async () => {
    const server = await startMailServer();
    server.refusedWith.set(REFUSED, 550);
    const dataDir = temporaryDirectory();
    const environment = {
      HEADROOM_DATA_DIR: dataDir,
      HEADROOM_SMTP_URL: server.url,
      HEADROOM_MAIL_FROM: 'headroom@harbour.example',
    };
    await provision(loadConfig({}, environment), tenantWith(HARBOUR, [site('quay-1')]));
    let running = await serve(dataDir, environment);
    const killed = async () => {
      await running.stop('SIGKILL');
      running = await serve(dataDir, environment);
    };
    const { mailSubscriptionId, lastEventId } = mailSubscriptionSchema.parse(
      await ask(running.httpUrl, 'mail-subscriptions', { to: [REFUSED, TAKING], types: ['cluster.changed'] }),
    );
    const attempted = (count: number) =>
      eventually(() => expect(server.attempts.length).toBeGreaterThanOrEqual(count), GATHERED_WITHIN_MS);

    // The server has the text, and the process dies before the answer; then again, in the repeated mail.
    let answer: () => void = () => {};
    server.answersAfter = new Promise((resolve) => {
      answer = resolve;
    });
    await write(running.httpUrl, 'a', EVENTS_AT_ONCE);
    await attempted(1);
    await killed();
    await attempted(2);
    await killed();
    await attempted(3);
    answer();
    const [first, ...repeated] = server.attempts;
    for (const each of repeated) {
      expect(each.text).toBe(first?.text);
      expect(each.headers.get('message-id')).toBe(first?.headers.get('message-id'));
    }
    // It dies while events arrive and gather.
    const writing = write(running.httpUrl, 'b', EVENTS_AT_ONCE);
    await eventually(async () => {
      const names = await namesLogged(running.httpUrl, lastEventId);
      expect(names.filter((name) => name.startsWith('b')).length).toBeGreaterThan(5);
    });
    await killed();
    await writing;

    const logged = await namesLogged(running.httpUrl, lastEventId);
    expect(logged.length).toBeGreaterThan(EVENTS_AT_ONCE);
    await eventually(() => {
      const mailed = server.mails.flatMap(({ text }) =>
        [...text.matchAll(/cluster [ab]\d+/g)].map(([name]) => name),
      );
      expect(new Set(mailed)).toEqual(new Set(logged.map((name) => `cluster ${name}`)));
    }, GATHERED_WITHIN_MS);
    expect(new Set(server.mails.flatMap(({ to }) => to))).toEqual(new Set([TAKING]));
    // The refused address has lost none: its events rest, to be sent again.
    await eventually(async () => {
      const dead = await ask(running.httpUrl, `mail-subscriptions/${mailSubscriptionId}/deliveries`);
      expect(dead).toMatchObject({ deliveries: logged.map(() => ({ to: [REFUSED], nextAttemptAt: null })) });
    });
    await running.stop();
    await server.stop();
  });
});

async function ask(httpUrl: string, path: string, body?: object): Promise<unknown> {
  const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(`${httpUrl}/v1/${path}`, { headers: HEADERS, ...request });
  return answer.json();
}

/** Creates clusters, until the process no longer answers. */
async function write(httpUrl: string, prefix: string, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth++) {
    const body = { name: `cluster ${prefix}${nth}`, locationIds: ['quay-1'] };
    const answer = await ask(httpUrl, 'clusters', body).catch(() => undefined);
    if (answer === undefined) return;
  }
}

async function namesLogged(httpUrl: string, after: string): Promise<readonly string[]> {
  const page = await ask(httpUrl, `events?type=cluster.changed&after=${after}&limit=1000`);
  return eventPageSchema
    .parse(page)
    .events.map(({ data }) => String(JSON.parse(JSON.stringify(data)).name).replace('cluster ', ''));
}
