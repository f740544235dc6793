// One data directory, the real process on it, clients that write until it ends, and the checks after any kind of end.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { expect } from 'vitest';
import { databaseUrlOf, loadConfig } from '../../src/config.js';
import { createLedger } from '../../tools/bench/write-ledger.js';
import { type Finished, type serve, temporaryDirectory } from '../cli/headroom.js';
import { provision } from '../service/running-service.js';
import { createClients } from './clients.js';
import {
  checkClusters,
  checkHistory,
  observeHistory,
  observeRest,
  observeRows,
  withRows,
} from './observed.js';
import { PERMANENT_LIMIT_KW, PROVISIONED, TENANTS } from './site.js';

type RunningProcess = Awaited<ReturnType<typeof serve>>;

export interface Trial {
  readonly dataDir: string;
  /** A number from `from` to `to`, drawn from the seed. */
  draw(from: number, to: number): number;
  /** Sends the signal at a random moment while every client writes. Resolves after the process has ended. */
  endUnderLoad(service: RunningProcess, signal: NodeJS.Signals): Promise<Finished>;
  /** Checks a process started after such an end against all writes acknowledged before it. */
  check(service: RunningProcess): Promise<void>;
  /** Writes answered with success, writes never answered, and refusals by status and code. */
  counts(): {
    readonly acknowledged: number;
    readonly unanswered: number;
    readonly refused: Readonly<Record<string, number>>;
  };
}

export async function createTrial(options: {
  readonly seed: number;
  readonly clients: number;
}): Promise<Trial> {
  const dataDir = temporaryDirectory();
  const config = loadConfig({}, { HEADROOM_DATA_DIR: dataDir });
  const databaseUrl = databaseUrlOf(config);
  await provision(config, ...PROVISIONED);
  const rng = mersenne(options.seed);
  const ledger = createLedger();
  let onEvent = () => {};
  const clients = createClients({
    ledger,
    seed: options.seed,
    count: options.clients,
    onEvent: () => onEvent(),
  });
  let rounds = 0;
  ledger.begin(await withRows(databaseUrl, observeRows));

  const draw = (from: number, to: number) => uniformInt(rng, from, to);

  /** Resolves after `count` requests and answers. */
  function events(count: number): Promise<void> {
    let left = count;
    return new Promise((resolve) => {
      onEvent = () => {
        left -= 1;
        if (left === 0) resolve();
      };
    });
  }

  return {
    dataDir,
    draw,
    async endUnderLoad(service, signal) {
      rounds += 1;
      await clients.prepare(service.httpUrl, rounds);
      const turns = draw(0, 12);
      const ended = events(draw(1, 250)).then(async () => {
        for (let turn = 0; turn < turns; turn++) await nextTurn();
        return service.stop(signal);
      });
      await clients.write(service.httpUrl);
      return ended;
    },
    async check({ httpUrl }) {
      const rest = await observeRest(httpUrl);
      const { rows, history } = await withRows(databaseUrl, async (store) => ({
        rows: await observeRows(store),
        history: await observeHistory(store),
      }));
      const shownOverRest = [...rows].filter(([name]) => !name.includes('/connector/'));
      expect(new Map([...rest.held].sort())).toEqual(new Map(shownOverRest.sort()));
      expect([
        ...ledger.settle(rows),
        ...checkClusters(rest),
        ...history.wrong,
        ...checkHistory(history.limits, ledger.attempts, String(PERMANENT_LIMIT_KW)),
      ]).toEqual([]);
      for (const tenant of TENANTS) clients.learn(tenant, rest.clusters.get(tenant) ?? []);
    },
    counts() {
      const count = (outcome: string) =>
        ledger.attempts.filter((attempt) => attempt.outcome === outcome).length;
      return {
        acknowledged: count('acknowledged'),
        unanswered: count('unknown'),
        refused: Object.fromEntries(clients.refusals),
      };
    },
  };
}
