// The chargers' connections in a world, with the delays until a broken one is noticed and restored.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Agenda } from './agenda.js';
import type { Carrier } from './carrier.js';
import type { ChargerRun } from './charger-run.js';
import { WAY_MS } from './wire.js';

/** Shortest time before a charger reconnects after it lost its connection; the longest is twice that. */
export const RECONNECT_MS = 2_000;
/** A broker notices a broken connection at once, or after one and a half keepalives without a message. */
const NOTICED_WITHIN_MS = 45_000;
/** A session that has not ended in order by then is cut. */
const LEAVES_WITHIN_MS = 5_000;

/** Access to the broker for a charger behind the gateway. */
export interface BrokerSide {
  readonly isUp: () => boolean;
  /** Sets the last will. For another one than before, the session ends in order and logs in anew. */
  readonly setWill: (will: ChargerMessage) => void;
  /** Connects as soon as the service and its broker are up. */
  readonly connect: () => void;
  /** Ends the session in order, without a last will. */
  readonly end: () => void;
  /** Another session replaces this one: the broker publishes the last will. */
  readonly cut: () => void;
  /** The charger has a message to send, or its state changed. */
  readonly wake: () => void;
}

interface ConnectionsOptions {
  readonly agenda: Agenda;
  readonly runs: readonly ChargerRun[];
  readonly carrier: Carrier;
  readonly isServiceUp: () => boolean;
  /** Runs `task` before virtual time goes on. */
  readonly soon: (task: () => Promise<void>) => void;
  readonly onChange: (run: ChargerRun) => void;
}

/** Times are in ms. */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** Broken connections that the broker has not noticed yet, each with its number. */
  readonly #unnoticed = new Map<ChargerRun, number>();
  /** Last will of each charger, from its newest login. */
  readonly #wills = new Map<ChargerRun, ChargerMessage | undefined>();
  /** Number of the connection that each charger is leaving in order: no further message uses that connection. */
  readonly #leaving = new Map<ChargerRun, number>();
  #isBrokerDown = false;
  #broken = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Connects the charger `afterMs` from now, or once the service and the broker are up. */
  connectLater(run: ChargerRun, afterMs: number): void {
    this.#options.agenda.after(afterMs, () => {
      if (run.isConnected || !run.isWanted) return;
      if (!this.#options.isServiceUp() || this.#isBrokerDown) this.connectLater(run, RECONNECT_MS);
      else this.#connect(run);
    });
  }

  brokerSideOf(run: ChargerRun): BrokerSide {
    return {
      isUp: () => this.#isUp(run),
      setWill: (will) => this.#renew(run, will),
      connect: () => this.connectLater(run, WAY_MS),
      end: () => this.#leave(run),
      cut: () => this.cut(run),
      wake: () => run.wake(),
    };
  }

  /**
   * Ends all sessions without last wills. A charger reconnects at a random time after `downMs`, `from` to `to` ms
   * later.
   */
  loseAll(downMs: number, [from, to]: readonly [number, number]): void {
    this.#unnoticed.clear();
    this.#options.carrier.loseAll();
    for (const run of this.#options.runs) this.#leave(run);
    for (const run of this.#options.runs) this.connectLater(run, downMs + uniformInt(run.luck, from, to));
  }

  /** Breaks the connection; the broker notices that sooner or later, and publishes the last will. */
  cut(run: ChargerRun): void {
    if (!run.isConnected) return;
    run.disconnect();
    this.#options.carrier.cut(run.wire);
    // The wait is the same with every carrier, needed or not; otherwise one seed would give different runs.
    this.#options.soon(async () => {});
    this.#options.onChange(run);
    const number = ++this.#broken;
    this.#unnoticed.set(run, number);
    this.#options.agenda.after(uniformInt(run.luck, 0, NOTICED_WITHIN_MS), () => {
      if (this.#unnoticed.get(run) !== number) return;
      this.#unnoticed.delete(run);
      this.#options.carrier.lose(run.wire);
    });
  }

  /** The broker is down for `downMs`. */
  restartBroker(downMs: number): void {
    this.#isBrokerDown = true;
    this.#options.agenda.after(downMs, () => {
      this.#isBrokerDown = false;
    });
    this.loseAll(downMs, [1, RECONNECT_MS]);
  }

  #leave(run: ChargerRun): void {
    run.disconnect();
    this.#options.onChange(run);
  }

  #isUp(run: ChargerRun): boolean {
    return run.isConnected && this.#leaving.get(run) !== run.wire.connection;
  }

  /**
   * MQTT takes a last will at a login only. For another one the session ends in order, after all its messages, and
   * logs in anew.
   */
  #renew(run: ChargerRun, will: ChargerMessage): void {
    if (!this.#isUp(run) || this.#wills.get(run)?.payload === will.payload) return;
    const { connection } = run.wire;
    const logInAnew = (end: () => void) => {
      if (!run.isConnected || run.wire.connection !== connection) return;
      end();
      this.connectLater(run, WAY_MS);
    };
    run.wire.travelUp({ arrive: () => logInAnew(() => this.#leave(run)) });
    this.#options.agenda.after(LEAVES_WITHIN_MS, () => logInAnew(() => this.cut(run)));
    this.#leaving.set(run, connection);
  }

  #connect(run: ChargerRun): void {
    // A charger that is back before the broker noticed the break replaces its old session, whose last will comes
    // first.
    if (this.#unnoticed.delete(run)) this.#options.carrier.lose(run.wire);
    const will = run.charger.lastWill();
    this.#wills.set(run, will);
    this.#options.carrier.connect(run.wire, will);
    run.connect();
  }
}
