// Authenticated GET …/limits with 11 profiles against a bare Express route that answers a constant body of the same
// size.
import type { AddressInfo } from 'node:net';
import express from 'express';
import { Service } from '../../src/service.js';
import { machine, median, percent, remark, report } from './bench.js';
import { applyLoad, type LoadResult } from './load.js';
import { API_KEY, createSite, locationIdOf, provision, writeProfiles } from './site.js';

const ROUNDS = 5;
const SECONDS = 4;
const CONNECTIONS = 50;
const HOUR_MS = 3_600_000;

const site = createSite();
await provision(site.config, 10, 2);
const nowMs = Date.parse('2026-01-01T00:00:00Z');
await writeProfiles(site.config, 10, 11, (priority) => ({
  startsAtMs: nowMs + priority * HOUR_MS,
  endsAtMs: nowMs + 20 * 365 * 24 * HOUR_MS,
}));
const service = new Service(site.config);
const { httpUrl } = await service.start();
const url = `${httpUrl}/v1/locations/${locationIdOf(0)}/limits`;
const headers = { 'x-api-key': API_KEY };
const answer = await fetch(url, { headers });
const body = (await answer.json()) as object;

const bare = express();
bare.get('/limits', (_request, response) => {
  response.json(body);
});
const server = bare.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const bareUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/limits`;

const common = { connections: CONNECTIONS, seconds: SECONDS, method: 'GET', headers } as const;
const ours: LoadResult[] = [];
const reference: LoadResult[] = [];
await applyLoad({ ...common, url });
await applyLoad({ ...common, url: bareUrl });
for (let round = 0; round < ROUNDS; round++) {
  reference.push(await applyLoad({ ...common, url: bareUrl }));
  ours.push(await applyLoad({ ...common, url }));
}
server.close();
await service.stop();
site.remove();

const rate = (results: readonly LoadResult[]) => median(results.map(({ requestsPerS }) => requestsPerS));
const failed = ours.reduce((sum, { non2xx, errors }) => sum + non2xx + errors, 0);
const ratio = rate(ours) / rate(reference);
remark(
  `${machine()}; ${ROUNDS} × ${SECONDS} s alternating, ${CONNECTIONS} connections, medians; body ${JSON.stringify(body).length} bytes`,
);
remark(
  `GET limits ${rate(ours).toFixed(0)}/s, bare Express 5 ${rate(reference).toFixed(0)}/s, failed ${failed}`,
);
report([
  {
    name: 'Authenticated GET …/limits, 11 profiles, against a bare Express 5 route',
    measured: percent(ratio),
    goal: '≥ 130 %',
    met: ratio >= 1.3 && failed === 0,
  },
]);
