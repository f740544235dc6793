// Entry point of a thread that runs seeds one after another.
import { parentPort, workerData } from 'node:worker_threads';
import { runSeed, type SeedTask } from './seed-pool.js';

const task: SeedTask = workerData;
parentPort?.on('message', async (seed: number) => {
  parentPort?.postMessage(await runSeed(task, seed));
});
