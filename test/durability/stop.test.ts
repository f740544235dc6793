// The real process, stopped under concurrent writes. It ends with code 0 in time, with all acknowledged writes on disk.
import { expect, it } from 'vitest';
import { serve } from '../cli/headroom.js';
import { casesOf } from '../seeds.js';
import { createTrial } from './trial.js';

const REFUSALS = ['400 CLUSTER_EMPTY', '404 LOCATION_NOT_FOUND', '503 SERVICE_UNAVAILABLE, come back'];

it('SIGTERM under load ends the service with code 0 and loses no acknowledged write', async () => {
  const most = casesOf(4, 2);
  const trial = await createTrial({ seed: 4, clients: 32 });
  let service = await serve(trial.dataDir);
  for (let stops = 1; stops <= most; stops++) {
    // The process itself cuts an overlong stop short and ends with 1.
    const { code, stderr } = await trial.endUnderLoad(service, 'SIGTERM');
    expect(code).toBe(0);
    // The tiny limits are below the needs of chargers that never connect, and the service warns of this.
    expect(stderr.split('\n').filter((line) => !line.startsWith('{"level":"warn"'))).toEqual(['']);
    service = await serve(trial.dataDir);
    await trial.check(service);
  }
  const { acknowledged, refused } = trial.counts();
  expect(acknowledged).toBeGreaterThan(most * 10);
  expect(REFUSALS).toEqual(expect.arrayContaining(Object.keys(refused)));
});
