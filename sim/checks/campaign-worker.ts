// One process of a campaign: runs the seeds of its parent one after another, and sends each outcome. No module
// imports it, because each message from a parent process would start a seed there.
import { removeWorldFolders } from '../world/world-folder.js';
import { failedSeed, runSeed, type SeedOrder } from './campaign.js';

process.on('message', (order: SeedOrder) => {
  runSeed(order).then(
    (outcome) => process.send?.(outcome),
    (error: unknown) => {
      // A world that throws counts as a failed one.
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.send?.(failedSeed(order.seed, detail));
    },
  );
});

// The campaign no longer waits for the seed.
process.on('disconnect', () => process.exit(1));
// A campaign that has its answer ends processes in the middle of a seed.
process.once('exit', removeWorldFolders);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
