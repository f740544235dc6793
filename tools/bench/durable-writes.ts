// Durable schedule writes by 50 concurrent clients, against a bare Express route without a store, the same route without
// the write, and one commit per request.
import type { AddressInfo } from 'node:net';
import express from 'express';
import { type Seams, Service } from '../../src/service.js';
import { machine, median, percent, remark, report } from './bench.js';
import { applyLoad, type LoadResult } from './load.js';
import { API_KEY, createSite, locationIdOf, provision } from './site.js';

const ROUNDS = 5;
const SECONDS = 4;
const CONNECTIONS = 50;
const LOCATIONS = 500;

interface Contestant {
  readonly name: string;
  readonly url: string;
  stop(): Promise<void>;
  readonly results: LoadResult[];
}

async function contestant(name: string, seams: Seams): Promise<Contestant> {
  const site = createSite();
  await provision(site.config, LOCATIONS, 2);
  const service = new Service(site.config, seams);
  const { httpUrl } = await service.start();
  const stop = async () => {
    await service.stop();
    site.remove();
  };
  return { name, url: httpUrl, stop, results: [] };
}

/** A route that parses the body as JSON and answers a schedule of that size, without credentials, checks and rows. */
async function bareExpress(): Promise<Contestant> {
  const bare = express();
  bare.post('/v1/locations/:locationId/schedules', express.json(), (request, response) => {
    const { locationId } = request.params;
    response.status(201).json({ locationId, ...(request.body as object), status: 'ACTIVE' });
  });
  const server = bare.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const stop = async () => {
    server.close();
  };
  const { port } = server.address() as AddressInfo;
  return { name: 'bare Express', url: `http://127.0.0.1:${port}`, stop, results: [] };
}

const contestants = [
  await contestant('durable', {}),
  await contestant('write left out', { wrapStore: (store) => ({ ...store, append: async () => {} }) }),
  await contestant('one commit a request', { journal: { maxBatch: 1 } }),
  await bareExpress(),
];
const load = {
  connections: CONNECTIONS,
  seconds: SECONDS,
  method: 'POST',
  headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
  body: JSON.stringify({
    startTime: '2026-01-01T00:00:00Z',
    endTime: '2046-01-01T00:00:00Z',
    limitKw: 22,
    priority: 3,
  }),
  paths: Array.from({ length: LOCATIONS }, (_, i) => `/v1/locations/${locationIdOf(i)}/schedules`),
} as const;

for (const { url } of contestants) await applyLoad({ ...load, url });
for (let round = 0; round < ROUNDS; round++) {
  for (const { url, results } of contestants) results.push(await applyLoad({ ...load, url }));
}
for (const each of contestants) await each.stop();

remark(
  `${machine()}; ${ROUNDS} × ${SECONDS} s alternating, ${CONNECTIONS} connections, ${LOCATIONS} locations, SQLite synchronous=FULL, medians`,
);
const rates = contestants.map(({ name, results }) => {
  const rate = median(results.map(({ requestsPerS }) => requestsPerS));
  const p99Ms = median(results.map((result) => result.p99Ms));
  const failed = results.reduce((sum, { non2xx, errors }) => sum + non2xx + errors, 0);
  remark(`${name}: ${rate.toFixed(0)}/s, p99 ${p99Ms} ms, failed ${failed}`);
  return { rate, p99Ms, failed };
});
const [durable, without, single, bare] = rates;
if (durable === undefined || without === undefined || single === undefined || bare === undefined)
  throw new Error('a contestant is missing');
report([
  {
    name: 'Durable schedule writes, 50 clients, against a bare Express route without a store',
    measured: percent(durable.rate / bare.rate),
    goal: '≥ 75 %',
    met: durable.rate / bare.rate >= 0.75 && durable.failed === 0,
  },
  {
    name: '… against the same route with the write left out',
    measured: percent(durable.rate / without.rate),
    goal: '≥ 55 %',
    met: durable.rate / without.rate >= 0.55 && durable.failed === 0,
  },
  {
    name: 'The same, against one commit per request',
    measured: `${(durable.rate / single.rate).toFixed(2)} ×`,
    goal: '≥ 2 ×',
    met: durable.rate / single.rate >= 2,
  },
  {
    name: 'The same, p99 latency',
    measured: `${durable.p99Ms} ms`,
    goal: '≤ 50 ms',
    met: durable.p99Ms <= 50,
  },
]);
