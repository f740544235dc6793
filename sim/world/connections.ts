// Which chargers are connected in a world, when a broken connection is noticed, and when it is made again.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { Agenda } from './agenda.js';
import type { Carrier } from './carrier.js';
import type { ChargerRun } from './charger-run.js';

/** Times in ms. */
export interface Connections {
  /** Connects it `afterMs` from now, or once there is something to connect to. */
  connectLater(run: ChargerRun, afterMs: number): void;
  /** Its connection breaks; the broker notices that sooner or later, and speaks its last will. */
  cut(run: ChargerRun): void;
  /** Nobody is left who could speak a last will. Who tries again does so some time within `spreadMs` after `downMs`. */
  loseAll(downMs: number, spreadMs: readonly [number, number]): void;
  /** The broker is gone for `downMs`. */
  restartBroker(downMs: number): void;
}

/** A charger tries to connect again this long after it lost its connection, and up to as much later. */
export const RECONNECT_MS = 2_000;
/** A broker notices a broken connection at once, or when nothing came for one and a half keepalives. */
const NOTICED_WITHIN_MS = 45_000;

export function createConnections(options: {
  readonly agenda: Agenda;
  readonly monotonicMs: () => number;
  readonly random: RandomGenerator;
  readonly runs: readonly ChargerRun[];
  readonly carrier: Carrier;
  readonly isServiceUp: () => boolean;
  /** Before virtual time goes on. */
  readonly soon: (task: () => Promise<void>) => void;
  readonly onChange: (run: ChargerRun) => void;
}): Connections {
  const { agenda, monotonicMs, random, runs, carrier, isServiceUp, soon, onChange } = options;
  /** Connections that broke and that nobody misses yet, each with its number. */
  const unnoticed = new Map<ChargerRun, number>();
  let isBrokerDown = false;
  let broken = 0;

  function connect(run: ChargerRun): void {
    // Who comes back before anybody noticed that it was gone takes its old session's place, whose last will is spoken first.
    if (unnoticed.delete(run)) carrier.lose(run.wire);
    carrier.connect(run.wire, run.charger.lastWill());
    run.connect();
  }

  function connectLater(run: ChargerRun, afterMs: number): void {
    agenda.at(monotonicMs() + afterMs, () => {
      if (run.isConnected) return;
      if (!isServiceUp() || isBrokerDown) connectLater(run, RECONNECT_MS);
      else connect(run);
    });
  }

  function loseAll(downMs: number, [from, to]: readonly [number, number]): void {
    unnoticed.clear();
    carrier.loseAll();
    for (const run of runs) {
      run.disconnect();
      onChange(run);
    }
    for (const run of runs) connectLater(run, downMs + uniformInt(random, from, to));
  }

  return {
    connectLater,
    loseAll,
    cut(run) {
      if (!run.isConnected) return;
      run.disconnect();
      carrier.cut(run.wire);
      // The same waiting with every carrier, whether it needs it or not: else the same seed would go different ways.
      soon(async () => {});
      onChange(run);
      const number = ++broken;
      unnoticed.set(run, number);
      agenda.at(monotonicMs() + uniformInt(random, 0, NOTICED_WITHIN_MS), () => {
        if (unnoticed.get(run) !== number) return;
        unnoticed.delete(run);
        carrier.lose(run.wire);
      });
    },
    restartBroker(downMs) {
      isBrokerDown = true;
      agenda.at(monotonicMs() + downMs, () => {
        isBrokerDown = false;
      });
      loseAll(downMs, [1, RECONNECT_MS]);
    },
  };
}
