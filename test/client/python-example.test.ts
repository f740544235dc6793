// The example for Python runs as it is, against a service and through a proxy that loses an answer.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { issuedWebhookSchema } from '../../src/features/webhooks/contract.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { missingPrograms, needing } from '../needs.js';
import { bodyOf } from '../service/answers.js';
import {
  apiKeyOf,
  HARBOUR,
  type RunningService,
  runService,
  site,
  tenantWith,
} from '../service/running-service.js';
import { openFaultyProxy } from './faulty-proxy.js';

const EXAMPLE = fileURLToPath(new URL('../../docs/examples/client/headroom.py', import.meta.url));

describe('The example for Python', needing(missingPrograms('python3')), () => {
  let service: RunningService;
  let directory: string;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headroom-python-'));
    const tenants = [tenantWith(HARBOUR, [site('quay')])];
    service = await runService(tenants, {}, { HEADROOM_WEBHOOK_PRIVATE: 'true' });
  });
  afterAll(async () => {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  function start(words: readonly string[], { url = service.httpUrl, secret = '' } = {}) {
    const env = {
      ...process.env,
      HEADROOM_URL: url,
      HEADROOM_KEY: apiKeyOf(HARBOUR),
      WEBHOOK_SECRET: secret,
    };
    const child = spawn('python3', [EXAMPLE, ...words], { env, cwd: directory });
    const lines: string[] = [];
    const errors: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
    const ended = once(child, 'close');
    async function stop() {
      child.kill();
      await ended;
    }
    onTestFinished(stop);
    return { lines, errors, ended, stop };
  }

  const limits = () =>
    service
      .call('GET', '/events?type=profile.submitted')
      .then((answer) => bodyOf(answer, eventPageSchema).events);

  it('sets a limit once although its answer is lost, and prints a refusal', async () => {
    const { url, give, received } = await openFaultyProxy(service.httpUrl);
    give('loseAnswer');
    const setting = start(['limit', 'quay', '22'], { url });
    await setting.ended;
    expect(setting).toMatchObject({ lines: ['ACTIVE 22'], errors: [] });
    expect(received).toHaveLength(2);
    expect(await limits()).toHaveLength(1);

    const refused = start(['limit', 'quay', '-1']);
    await refused.ended;
    expect(refused.errors).toEqual([expect.stringContaining('limitKw: must be')]);
  });

  it('follows the event log from its last event on', async () => {
    const first = start(['follow', 'quay']);
    await eventually(() =>
      expect(first.lines.join()).toContain("profile.submitted {'priority': 5, 'limitKw': 22"),
    );
    await first.stop();
    const second = start(['follow', 'quay']);
    await service.call('PUT', '/locations/quay/limit', { limitKw: 31 });
    await eventually(() => expect(second.lines).toEqual(["permanentLimit.changed {'permanentLimitKw': 31}"]));
    expect(second.errors).toEqual([]);
  });

  it('accepts genuine and recent webhooks alone', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const asked = { url, types: ['permanentLimit.changed'] };
    const { secret } = bodyOf(await service.call('POST', '/webhooks', asked), issuedWebhookSchema, 201);
    const receiving = start(['receive', String(port)], { secret });
    await eventually(() => fetch(url));
    await service.call('PUT', '/locations/quay/limit', { limitKw: 32 });
    await eventually(() =>
      expect(receiving.lines).toEqual(["permanentLimit.changed {'permanentLimitKw': 32}"]),
    );

    const body = JSON.stringify({ data: { type: 'forged', data: {} } });
    const at = new Date();
    const longAgo = new Date(at.getTime() - 3_600_000);
    const post = async (
      sent: string,
      instant = at,
      signature = new Webhook(secret).sign('1', instant, body),
    ) => {
      const headers = {
        'webhook-id': '1',
        'webhook-timestamp': String(Math.floor(instant.getTime() / 1000)),
        'webhook-signature': signature,
      };
      return (await fetch(url, { method: 'POST', headers, body: sent })).status;
    };
    expect(await post(`${body} `)).toBe(401);
    expect(await post(body, longAgo)).toBe(401);
    expect(await post(body, at, new Webhook(`whsec_${'A'.repeat(32)}`).sign('1', at, body))).toBe(401);
    expect((await fetch(url, { method: 'POST' })).status).toBe(401);
    expect(receiving.lines).toHaveLength(1);
    expect(await post(body)).toBe(204);
  });
});
