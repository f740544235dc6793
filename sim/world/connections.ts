// Which chargers are connected in a world, when a broken connection is noticed, and when it is made again.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { Agenda } from './agenda.js';
import type { BrokerSide } from './bridged-charger.js';
import type { Carrier } from './carrier.js';
import type { ChargerRun } from './charger-run.js';
import { WAY_MS } from './wire.js';

/** A charger tries to connect again this long after it lost its connection, and up to as much later. */
export const RECONNECT_MS = 2_000;
/** A broker notices a broken connection at once, or when nothing came for one and a half keepalives. */
const NOTICED_WITHIN_MS = 45_000;

/** Times in ms. */
export class Connections {
  readonly #agenda: Agenda;
  readonly #monotonicMs: () => number;
  readonly #runs: readonly ChargerRun[];
  readonly #carrier: Carrier;
  readonly #isServiceUp: () => boolean;
  readonly #soon: (task: () => Promise<void>) => void;
  readonly #onChange: (run: ChargerRun) => void;
  /** Connections that broke and that nobody misses yet, each with its number. */
  readonly #unnoticed = new Map<ChargerRun, number>();
  #isBrokerDown = false;
  #broken = 0;

  constructor(options: {
    readonly agenda: Agenda;
    readonly monotonicMs: () => number;
    readonly runs: readonly ChargerRun[];
    readonly carrier: Carrier;
    readonly isServiceUp: () => boolean;
    /** Before virtual time goes on. */
    readonly soon: (task: () => Promise<void>) => void;
    readonly onChange: (run: ChargerRun) => void;
  }) {
    this.#agenda = options.agenda;
    this.#monotonicMs = options.monotonicMs;
    this.#runs = options.runs;
    this.#carrier = options.carrier;
    this.#isServiceUp = options.isServiceUp;
    this.#soon = options.soon;
    this.#onChange = options.onChange;
  }

  /** Connects it `afterMs` from now, or once there is something to connect to. */
  connectLater(run: ChargerRun, afterMs: number): void {
    this.#agenda.at(this.#monotonicMs() + afterMs, () => {
      if (run.isConnected || !run.isWanted) return;
      if (!this.#isServiceUp() || this.#isBrokerDown) this.connectLater(run, RECONNECT_MS);
      else this.#connect(run);
    });
  }

  /** How the session of a charger behind the gateway reaches the broker. */
  brokerSideOf(run: ChargerRun): BrokerSide {
    return {
      isUp: () => run.isConnected,
      connect: () => this.connectLater(run, WAY_MS),
      end: () => {
        run.disconnect();
        this.#onChange(run);
      },
      cut: () => this.cut(run),
      wake: () => run.wake(),
    };
  }

  /** Nobody is left who could speak a last will. Who tries again does so some time within `spreadMs` after `downMs`. */
  loseAll(downMs: number, [from, to]: readonly [number, number]): void {
    this.#unnoticed.clear();
    this.#carrier.loseAll();
    for (const run of this.#runs) {
      run.disconnect();
      this.#onChange(run);
    }
    for (const run of this.#runs) this.connectLater(run, downMs + uniformInt(run.luck, from, to));
  }

  /** Its connection breaks; the broker notices that sooner or later, and speaks its last will. */
  cut(run: ChargerRun): void {
    if (!run.isConnected) return;
    run.disconnect();
    this.#carrier.cut(run.wire);
    // The same waiting with every carrier, whether it needs it or not: else the same seed would go different ways.
    this.#soon(async () => {});
    this.#onChange(run);
    const number = ++this.#broken;
    this.#unnoticed.set(run, number);
    this.#agenda.at(this.#monotonicMs() + uniformInt(run.luck, 0, NOTICED_WITHIN_MS), () => {
      if (this.#unnoticed.get(run) !== number) return;
      this.#unnoticed.delete(run);
      this.#carrier.lose(run.wire);
    });
  }

  /** The broker is gone for `downMs`. */
  restartBroker(downMs: number): void {
    this.#isBrokerDown = true;
    this.#agenda.at(this.#monotonicMs() + downMs, () => {
      this.#isBrokerDown = false;
    });
    this.loseAll(downMs, [1, RECONNECT_MS]);
  }

  #connect(run: ChargerRun): void {
    // Who comes back before anybody noticed that it was gone takes its old session's place, whose last will is spoken first.
    if (this.#unnoticed.delete(run)) this.#carrier.lose(run.wire);
    this.#carrier.connect(run.wire, run.charger.lastWill());
    run.connect();
  }
}
