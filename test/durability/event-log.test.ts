// The event log of real processes that are killed: each acknowledged change is one event, in the order of the answers.
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { serve, temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { apiKeyOf, HARBOUR, provision, site, tenantWith } from '../service/running-service.js';

const WRITERS = 4;
const KILLS = 3;
const HEADERS = { 'x-api-key': apiKeyOf(HARBOUR), 'content-type': 'application/json' };

describe('The event log', () => {
  it('has each acknowledged change once and in order, although the process is killed in the middle of writes', async () => {
    const dataDir = temporaryDirectory();
    const environment = { HEADROOM_DATA_DIR: dataDir };
    await provision(loadConfig({}, environment), tenantWith(HARBOUR, [site('quay-1')]));
    /** By writer, in the order of the answers. */
    const acknowledged: string[][] = Array.from({ length: WRITERS }, () => []);
    for (let kill = 0; kill < KILLS; kill++) {
      const running = await serve(dataDir, environment);
      const before = acknowledged.flat().length;
      const writing = acknowledged.map((names, writer) => write(running.httpUrl, `${kill}/${writer}`, names));
      await eventually(() => expect(acknowledged.flat().length).toBeGreaterThan(before + 20));
      await running.stop('SIGKILL');
      await Promise.all(writing);
    }
    const running = await serve(dataDir, environment);
    const logged = await namesLogged(running.httpUrl);
    expect(new Set(logged).size).toBe(logged.length);
    for (const names of acknowledged) expect(logged.filter((name) => names.includes(name))).toEqual(names);
    await running.stop();
  });
});

/** Creates clusters until the process no longer answers. */
async function write(httpUrl: string, prefix: string, acknowledged: string[]): Promise<void> {
  for (let nth = 0; ; nth++) {
    const name = `${prefix}/${nth}`;
    const body = JSON.stringify({ name, locationIds: ['quay-1'] });
    const answer = await fetch(`${httpUrl}/v1/clusters`, { method: 'POST', headers: HEADERS, body }).catch(
      () => undefined,
    );
    if (answer === undefined) return;
    if (answer.status === 201) acknowledged.push(name);
  }
}

/** Names of the created clusters, in the order of the log. */
async function namesLogged(httpUrl: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (let after = '0'; ; ) {
    const answer = await fetch(`${httpUrl}/v1/events?type=cluster.changed&after=${after}&limit=100`, {
      headers: HEADERS,
    });
    const page = eventPageSchema.parse(await answer.json());
    expect(page.isGapless).toBe(true);
    if (page.events.length === 0) return names;
    names.push(...page.events.map(({ data }) => String(data.name)));
    after = page.last;
  }
}
