// Counts the source files and functions that one write passes, from the socket to the row and back.
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../src/clock.js';
import { Service } from '../src/service.js';
import { toInstant } from '../src/wire/instants.js';
import { remark } from './bench.js';
import { API_KEY, createSite, locationIdOf, provision, silentLog } from './site.js';

const ROUNDS = 40;
const WARM_UP_ROUNDS = 2;
const DIST = fileURLToPath(new URL('..', import.meta.url));

/** A profile of a location that is ACTIVE at once: check, commit, actor, answer. */
async function submit(url: string): Promise<void> {
  const now = systemClock.nowMs();
  const response = await fetch(`${url}/v1/locations/${locationIdOf(0)}/schedules`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({
      priority: 5,
      limitKw: 22,
      startTime: toInstant(now),
      endTime: toInstant(now + 600_000),
    }),
  });
  if (!response.ok) throw new Error(`the profile was answered with ${response.status}`);
  await response.text();
}

/** Functions of `src` and `machines` that ran since the last call, by file. */
async function ranSince(session: Session): Promise<ReadonlyMap<string, number>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = new Map<string, number>();
  for (const { url, functions } of result) {
    if (!url.startsWith('file:')) continue;
    const path = relative(DIST, fileURLToPath(url));
    if (!/^(src|machines)\//.test(path)) continue;
    const ran = functions.filter(({ ranges: [whole] }) => (whole?.count ?? 0) > 0).length;
    if (ran > 0) files.set(path, ran);
  }
  return files;
}

const site = createSite();
await provision(site.config, 2, 1);
const service = new Service(site.config, { log: silentLog });
const { httpUrl } = await service.start();
for (let round = 0; round < WARM_UP_ROUNDS; round++) await submit(httpUrl);
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
let fewest: ReadonlyMap<string, number> | undefined;
const sumOf = (files: ReadonlyMap<string, number>) => [...files.values()].reduce((sum, ran) => sum + ran, 0);
// The work of timers is counted as well, so the round with the least of it counts.
for (let round = 0; round < ROUNDS; round++) {
  await ranSince(session);
  await submit(httpUrl);
  const files = await ranSince(session);
  if (fewest === undefined || sumOf(files) < sumOf(fewest)) fewest = files;
}
session.disconnect();
await service.stop();
site.remove();
if (fewest === undefined) throw new Error('nothing was counted');
for (const [path, ran] of [...fewest].sort()) remark(`${String(ran).padStart(3)} ${path}`);
remark(`${fewest.size} files and ${sumOf(fewest)} functions, those without a name included`);
