// Webhooks of a real process that is killed in the middle of deliveries: each event arrives, and each location's in order.
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { issuedWebhookSchema } from '../../src/features/webhooks/contract.js';
import { serve, temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { apiKeyOf, HARBOUR, provision, site, tenantWith } from '../service/running-service.js';
import { isSignedWith, startWebhookReceiver } from '../service/webhook-receiver.js';

const KILLS = 3;
const HEADERS = { 'x-api-key': apiKeyOf(HARBOUR), 'content-type': 'application/json' };

describe('A webhook', () => {
  it('receives each event at least once and in order, although the process is killed in the middle', async () => {
    const dataDir = temporaryDirectory();
    const environment = { HEADROOM_DATA_DIR: dataDir, HEADROOM_WEBHOOK_PRIVATE: 'true' };
    await provision(loadConfig({}, environment), tenantWith(HARBOUR, [site('quay-1')]));
    const receiver = await startWebhookReceiver();
    let running = await serve(dataDir, environment);
    const { secret, lastEventId } = issuedWebhookSchema.parse(
      await post(running.httpUrl, 'webhooks', { url: receiver.url }),
    );
    for (let kill = 0; kill < KILLS; kill++) {
      const before = receiver.received.length;
      const writing = write(running.httpUrl, String(kill));
      await eventually(() => expect(receiver.received.length).toBeGreaterThan(before + 30));
      await running.stop('SIGKILL');
      await writing;
      running = await serve(dataDir, environment);
    }
    const logged = await idsLogged(running.httpUrl, lastEventId);
    await eventually(() => expect(new Set(receiver.accepted().map(({ id }) => id)).size).toBe(logged.length));
    // The first arrivals are in the order of the log.
    expect([...new Set(receiver.accepted().map(({ id }) => id))]).toEqual(logged);
    for (const request of receiver.received) expect(isSignedWith(secret, request)).toBe(true);
    // A kill repeats at most the events of a round.
    expect(receiver.received.length - logged.length).toBeLessThanOrEqual(20 * KILLS);
    await running.stop();
    await receiver.stop();
  });
});

async function post(httpUrl: string, path: string, body: object): Promise<unknown> {
  const answer = await fetch(`${httpUrl}/v1/${path}`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify(body),
  });
  return answer.json();
}

/** Creates clusters until the process no longer answers. */
async function write(httpUrl: string, prefix: string): Promise<void> {
  for (let nth = 0; ; nth++) {
    const body = { name: `${prefix}/${nth}`, locationIds: ['quay-1'] };
    const answer = await post(httpUrl, 'clusters', body).catch(() => undefined);
    if (answer === undefined) return;
  }
}

async function idsLogged(httpUrl: string, after: string): Promise<readonly string[]> {
  const answer = await fetch(`${httpUrl}/v1/events?after=${after}&limit=1000`, { headers: HEADERS });
  return eventPageSchema.parse(await answer.json()).events.map(({ id }) => id);
}
