// One process of a campaign: runs the seeds it is given, one after another, and says what came of each. Nobody imports it: whose
// parent sends messages would run a seed for each.
import { failedSeed, runSeed, type SeedOrder } from './campaign-seed.js';

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

// Nobody waits for the seed any more.
process.on('disconnect', () => process.exit(1));
