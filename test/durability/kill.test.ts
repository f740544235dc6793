// The real process, killed at random moments under concurrent writes of every kind. Every acknowledged write survives.
import { setTimeout as pass } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { serve, start } from '../cli/headroom.js';
import { casesOf } from '../seeds.js';
import { createTrial, type Trial } from './trial.js';

const CLIENTS = 16;
const REFUSALS = ['400 CLUSTER_EMPTY', '404 LOCATION_NOT_FOUND'];

/** Starts the process and kills it at a random moment, most often before it is ready. */
async function killWhileStarting({ dataDir, draw }: Trial): Promise<void> {
  const starting = start(['serve'], {
    HEADROOM_DATA_DIR: dataDir,
    HEADROOM_HTTP_PORT: '0',
    HEADROOM_MQTT_PORT: '0',
  });
  await pass(draw(100, 700));
  expect((await starting.stop('SIGKILL')).code).toBeNull();
}

it('kill -9 at any moment loses no acknowledged write and leaves no partial one', async () => {
  const kills = casesOf(10, 3);
  const trial = await createTrial({ seed: 20_261_121, clients: CLIENTS });
  let service = await serve(trial.dataDir);
  for (let kill = 1; kill <= kills; kill++) {
    expect((await trial.endUnderLoad(service, 'SIGKILL')).code).toBeNull();
    if (kill % 3 === 0) await killWhileStarting(trial);
    service = await serve(trial.dataDir);
    await trial.check(service);
  }
  const { acknowledged, unanswered, refused } = trial.counts();
  console.info(`${kills} × kill -9:`, { acknowledged, unanswered, refused });
  expect(acknowledged).toBeGreaterThan(kills * CLIENTS);
  expect(unanswered).toBeGreaterThan(kills);
  expect(REFUSALS).toEqual(expect.arrayContaining(Object.keys(refused)));
});
