// If `/metrics` has a token, requests need it: on a node, a front, a standby node and the OCPP gateway.
import type { RequestListener } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { ConfigError, loadConfig } from '../../../src/config.js';
import { createFrontApp } from '../../../src/inbound/http/front-app.js';
import { HttpServer } from '../../../src/inbound/http/server.js';
import { createMetrics } from '../../../src/metrics.js';
import { fetchOnce } from '../../fetch-once.js';
import { runOcppSite } from '../../gateway/ocpp-site.js';
import { silentLog } from '../../service/running-service.js';
import { API_KEY, createRig, WELL } from './http-rig.js';

const metricsToken = 'the-token-of-prometheus-1234';

async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  return (await fetchOnce(`${url}/metrics`, { headers })).status;
}

async function listen(
  answer: (exchanges: Parameters<Parameters<HttpServer['answerWith']>[0]>[0]) => RequestListener,
): Promise<string> {
  const config = loadConfig({}, { HEADROOM_HTTP_PORT: '0' });
  const server = new HttpServer({ config, clock: systemClock, log: silentLog, metrics: createMetrics() });
  server.answerWith(answer);
  onTestFinished(() => server.stop());
  return (await server.start()).url;
}

const common = { trustProxy: 0, metricsToken, clock: systemClock, log: silentLog, health: () => WELL };

const PLACES: Readonly<Record<string, () => Promise<string>>> = {
  async node() {
    const rig = await createRig({ settings: { metricsToken } });
    onTestFinished(() => rig.stop());
    return rig.url;
  },
  front: () => listen((exchanges) => createFrontApp({ ...common, metrics: createMetrics(), ...exchanges })),
  async standby() {
    const notHere = async () => expect.unreachable('only its own paths are called');
    const rig = await createRig({ settings: { metricsToken }, forwardElsewhere: notHere });
    onTestFinished(() => rig.stop());
    return rig.url;
  },
  async gateway() {
    const site = await runOcppSite({ metricsPort: 0, metricsToken });
    onTestFinished(() => site.stop());
    if (site.metricsUrl === undefined) throw new Error('the gateway serves no figures');
    return site.metricsUrl.replace(/\/metrics$/, '');
  },
};

describe.each(Object.keys(PLACES))('/metrics of a %s', (place) => {
  it('is read with its token, and with nothing else', async () => {
    const url = (await PLACES[place]?.()) ?? '';
    expect(await statusOf(url, { authorization: `Bearer ${metricsToken}` })).toBe(200);
    expect(await statusOf(url, { authorization: `bearer  ${metricsToken}` })).toBe(200);
    for (const authorization of [
      '',
      'Bearer',
      `Bearer ${metricsToken}x`,
      `Bearer ${metricsToken.slice(1)}`,
      `Basic ${metricsToken}`,
      `Bearer ${metricsToken}, Bearer ${metricsToken}`,
      `Bearer ${'x'.repeat(4000)}`,
    ])
      expect([authorization, await statusOf(url, { authorization })]).toEqual([authorization, 401]);
    expect(await statusOf(url)).toBe(401);
    expect(await statusOf(url, { 'x-api-key': API_KEY })).toBe(401);
    expect(await statusOf(url, { authorization: `Bearer ${API_KEY}` })).toBe(401);
  });
});

describe('The token', () => {
  it('opens nothing else, and its refusal has the envelope and the way out', async () => {
    const rig = await createRig({ settings: { metricsToken } });
    onTestFinished(() => rig.stop());
    const headers = { authorization: `Bearer ${metricsToken}` };
    expect((await rig.call('GET', '/v1/locations', { headers })).status).toBe(401);
    const refused = await rig.call('GET', '/metrics');
    expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer /);
    expect(await refused.json()).toMatchObject({
      error: { code: 'UNAUTHORIZED', message: expect.stringContaining('HEADROOM_METRICS_TOKEN') },
    });
    expect((await rig.call('GET', '/health')).status).toBe(200);
  });

  it.each([
    'short',
    'with a blank in the middle',
    'ümlauts-are-no-header-text',
    'x'.repeat(300),
    'sixteen=inside=it',
  ])('stops the start with one line where it cannot be used, and is not shown in it: %s', (token) => {
    const start = () => loadConfig({}, { HEADROOM_METRICS_TOKEN: token });
    expect(start).toThrow(ConfigError);
    expect(start).toThrow(/^HEADROOM_METRICS_TOKEN: its value is not valid: must be 16 to 256 characters/);
    expect(start).not.toThrow(token);
  });

  it('is not asked for where it is left out or empty', () => {
    for (const environment of [{}, { HEADROOM_METRICS_TOKEN: '' }])
      expect(loadConfig({}, environment).metricsToken).toBeUndefined();
  });
});
