// Bad luck by seed: when which wire fails, which charger starts again, when the service dies and the database is busy.
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { FaultKind } from '../trace/trace-event.js';
import type { ChargerRun } from './charger-run.js';
import { CALM, type Weather } from './wire.js';
import type { World } from './world.js';

/** How often each happens, in ms between two of its kind, per charger or for the service. */
export interface Strengths {
  readonly weatherEveryMs: number;
  readonly partitionEveryMs: number;
  readonly rebootEveryMs: number;
  readonly crashEveryMs: number;
  readonly databaseBusyEveryMs: number;
  readonly brokerRestartEveryMs: number;
}

/** Everything at once and often, or one thing often and the others now and then: drawn anew for every seed. */
export function drawStrengths(random: RandomGenerator): Strengths {
  const minutes = (least: number, most: number) => 60_000 * least * (most / least) ** uniformFloat64(random);
  return {
    weatherEveryMs: minutes(8, 60),
    partitionEveryMs: minutes(10, 90),
    rebootEveryMs: minutes(12, 120),
    crashEveryMs: minutes(20, 240),
    databaseBusyEveryMs: minutes(20, 120),
    brokerRestartEveryMs: minutes(40, 240),
  };
}

export interface Misfortune {
  /** How often each kind has struck. */
  readonly struck: ReadonlyMap<FaultKind, number>;
  /** From now on nothing more goes wrong, and what is wrong is mended. */
  end(): void;
}

const LONGEST_PARTITION_MS = 180_000;
const LONGEST_STORM_MS = 300_000;
const LONGEST_OUTAGE_MS = 20_000;
const LONGEST_BUSY_MS = 60_000;
const LONGEST_BROKER_RESTART_MS = 15_000;

export function strikeWorld(world: World, seed: number, strengths: Strengths): Misfortune {
  const random = mersenne(seed);
  const struck = new Map<FaultKind, number>();
  let isOver = false;

  const share = () => uniformFloat64(random);
  const upTo = (ms: number) => uniformInt(random, 1, ms);
  const count = (kind: FaultKind) => void struck.set(kind, (struck.get(kind) ?? 0) + 1);
  const later = (ms: number, work: () => void) =>
    world.agenda.at(world.monotonicMs() + ms, () => {
      if (!isOver) work();
    });

  /** Again and again, at times that nobody can foresee. */
  function every(meanMs: number, strike: () => void): void {
    const waitMs = Math.ceil(-Math.log(1 - share()) * meanMs);
    later(waitMs, () => {
      strike();
      every(meanMs, strike);
    });
  }

  function weather(): Weather {
    count('loss');
    count('duplication');
    count('delay');
    count('hold');
    return {
      lossShare: 0.5 * share(),
      duplicateShare: 0.5 * share(),
      delayMs: upTo(20_000),
      holdShare: 0.5 * share(),
      holdMs: upTo(120_000),
    };
  }

  function partition({ wire }: ChargerRun): void {
    count('partition');
    const way = share();
    wire.isCutUp = way < 0.7;
    wire.isCutDown = way > 0.3;
    later(upTo(LONGEST_PARTITION_MS), () => {
      wire.isCutUp = false;
      wire.isCutDown = false;
    });
  }

  for (const run of world.runs) {
    every(strengths.weatherEveryMs, () => {
      run.wire.weather = weather();
      later(upTo(LONGEST_STORM_MS), () => {
        run.wire.weather = CALM;
      });
    });
    every(strengths.partitionEveryMs, () => {
      if (share() < 0.5) partition(run);
      else world.disconnect(run, upTo(LONGEST_PARTITION_MS));
    });
    every(strengths.rebootEveryMs, () => {
      count('reboot');
      world.reboot(run);
    });
  }
  every(strengths.crashEveryMs, () => {
    count('serviceCrash');
    world.crash(upTo(LONGEST_OUTAGE_MS));
  });
  every(strengths.brokerRestartEveryMs, () => {
    count('brokerRestart');
    world.restartBroker(upTo(LONGEST_BROKER_RESTART_MS));
  });
  every(strengths.databaseBusyEveryMs, () => {
    count('databaseBusy');
    world.setDatabaseBusy(true);
    later(upTo(LONGEST_BUSY_MS), () => world.setDatabaseBusy(false));
  });

  return {
    struck,
    end() {
      isOver = true;
      world.setDatabaseBusy(false);
      for (const run of world.runs) {
        Object.assign(run.wire, { weather: CALM, isCutUp: false, isCutDown: false });
        if (!run.isConnected) world.disconnect(run, 0);
      }
    },
  };
}
