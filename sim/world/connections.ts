// Which chargers are connected in a world, when a broken connection is noticed, and when it is made again.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Agenda } from './agenda.js';
import type { Carrier } from './carrier.js';
import type { ChargerRun } from './charger-run.js';
import { WAY_MS } from './wire.js';

/** A charger tries to connect again this long after it lost its connection, and up to as much later. */
export const RECONNECT_MS = 2_000;
/** A broker notices a broken connection at once, or when nothing came for one and a half keepalives. */
const NOTICED_WITHIN_MS = 45_000;
/** A session that does not end in order by then is broken off. */
const LEAVES_WITHIN_MS = 5_000;

/** How a charger behind the gateway reaches the broker. */
export interface BrokerSide {
  readonly isUp: () => boolean;
  /** It leaves in order, and logs in anew where its last will is another. */
  readonly setWill: (will: ChargerMessage) => void;
  /** As soon as the service and its broker are there. */
  readonly connect: () => void;
  /** In order: nobody speaks a last will. */
  readonly end: () => void;
  /** Another takes its place: its last will is spoken. */
  readonly cut: () => void;
  /** It has something to say, or something of it changed. */
  readonly wake: () => void;
}

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
  /** The last will of each, as it was said at its newest login. */
  readonly #wills = new Map<ChargerRun, ChargerMessage | undefined>();
  /** The connection, by its number, that each is leaving in order: nothing more is said by it. */
  readonly #leaving = new Map<ChargerRun, number>();
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
      isUp: () => this.#isUp(run),
      setWill: (will) => this.#renew(run, will),
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

  #isUp(run: ChargerRun): boolean {
    return run.isConnected && this.#leaving.get(run) !== run.wire.connection;
  }

  /** A last will is said at a login: with another it leaves in order, behind all that it has said, and logs in anew. */
  #renew(run: ChargerRun, will: ChargerMessage): void {
    if (!this.#isUp(run) || this.#wills.get(run)?.payload === will.payload) return;
    const { connection } = run.wire;
    const logInAnew = (end: () => void) => {
      if (!run.isConnected || run.wire.connection !== connection) return;
      end();
      this.connectLater(run, WAY_MS);
    };
    const leave = () => {
      run.disconnect();
      this.#onChange(run);
    };
    run.wire.travelUp({ arrive: () => logInAnew(leave) });
    this.#agenda.at(this.#monotonicMs() + LEAVES_WITHIN_MS, () => logInAnew(() => this.cut(run)));
    this.#leaving.set(run, connection);
  }

  #connect(run: ChargerRun): void {
    // Who comes back before anybody noticed that it was gone takes its old session's place, whose last will is spoken first.
    if (this.#unnoticed.delete(run)) this.#carrier.lose(run.wire);
    const will = run.charger.lastWill();
    this.#wills.set(run, will);
    this.#carrier.connect(run.wire, will);
    run.connect();
  }
}
