// A signal may arrive while the service starts: later parts of that start are closed, too.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { Service } from '../../src/service.js';
import { silentLog } from './running-service.js';

it('a stop that is asked for while the service starts leaves nothing running', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'headroom-start-'));
  const service = new Service(loadConfig({ httpPort: '0', mqttPort: '0', dataDir }, {}), {
    log: silentLog,
  });
  const starting = service.start();
  await service.stop();
  const { httpUrl } = await starting;
  await expect(fetch(`${httpUrl}/health`)).rejects.toThrow();
  await service.stop();
  rmSync(dataDir, { recursive: true });
});
