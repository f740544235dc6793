// The small tenant, provisioned by the command and served by one process for all tests of a file.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, serveForFile, writeFile } from './headroom.js';
import { siteYaml } from './site.js';

/** For `beforeAll`; `close` belongs in `afterAll`. */
export async function serveSite() {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-site-'));
  const environment = { HEADROOM_DATA_DIR: join(directory, 'data') };
  const file = writeFile(directory, 'site.yaml', siteYaml());
  const provisioned = await run(['provision', file], environment);
  if (provisioned.code !== 0) throw new Error(`the site was not provisioned: ${provisioned.stderr}`);
  const service = await serveForFile(environment.HEADROOM_DATA_DIR);
  return {
    directory,
    environment,
    file,
    httpUrl: service.httpUrl,
    mqttUrl: service.mqttUrl,
    async close() {
      await service.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export type ServedSite = Awaited<ReturnType<typeof serveSite>>;
