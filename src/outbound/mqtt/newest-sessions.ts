// Tracks the newest connection of each client, at this broker or at
// another one: last wills of older ones are out of date.
import type { Siblings } from '../../ports/telemetry.js';
import type { Session } from './session.js';

/** Reason to end a session that is not its client's newest, or may not be. */
type Ending = 'elsewhere' | 'bus';

export class NewestSessions {
  readonly #siblings: Siblings | undefined;
  /** Sessions of each client, oldest first. A session that ends before its login leaves the earlier ones in place. */
  readonly #sessions = new Map<string, Session[]>();
  readonly #onWill: (topic: string, payload: Buffer) => void;

  constructor({
    siblings,
    end,
    onWill,
  }: {
    readonly siblings: Siblings | undefined;
    /** Ends a session whose will is void from now on. */
    readonly end: (session: Session, why: Ending) => void;
    /** Receives the wills if there are no other brokers. */
    readonly onWill: (topic: string, payload: Buffer) => void;
  }) {
    this.#siblings = siblings;
    this.#onWill = onWill;
    const endVoid = (session: Session, why: Ending) => {
      session.isWillVoid = true;
      end(session, why);
    };
    siblings?.onElsewhere((username) => {
      for (const session of [...(this.#sessions.get(username) ?? [])]) endVoid(session, 'elsewhere');
    });
    // Clients of this broker may have logged in elsewhere meanwhile. The others connect again and report their state.
    siblings?.onLost(() => {
      for (const session of [...this.#sessions.values()].flat()) endVoid(session, 'bus');
    });
  }

  /** Clients may log in: the other brokers can be informed. */
  get isOpen(): boolean {
    return this.#siblings?.isHealthy() ?? true;
  }

  /**
   * The session has logged in, and is its client's newest.
   * @returns true once the other brokers will receive this before any later login
   * of the client; false if they cannot be informed
   */
  async enter(session: Session): Promise<boolean> {
    const { login } = session;
    if (login === undefined) throw new Error('a session that has not logged in');
    if (this.#siblings !== undefined) {
      session.entry = this.#siblings.enter(login);
      if (session.entry === undefined) return false;
    }
    this.#sessions.set(login.username, [...(this.#sessions.get(login.username) ?? []), session]);
    return this.#siblings === undefined || this.#siblings.settled();
  }

  /** The connection of the session has ended. */
  leave(session: Session): void {
    session.entry?.leave();
    const username = session.login?.username;
    if (username === undefined) return;
    const forget = () => {
      const others = this.#sessions.get(username)?.filter((each) => each !== session) ?? [];
      if (others.length > 0) this.#sessions.set(username, others);
      else this.#sessions.delete(username);
    };
    // The will may be void until all logins elsewhere have arrived here.
    if (this.#siblings === undefined) forget();
    else void this.#siblings.settled().then(forget);
  }

  /** Passes the will on, unless the client is connected again, here or elsewhere: then the will is out of date. */
  sayWill(session: Session, topic: string, payload: Buffer): void {
    const isNewest = () => {
      const newest = session.login && this.#sessions.get(session.login.username)?.at(-1);
      return !session.isWillVoid && (newest === undefined || newest === session);
    };
    if (this.#siblings === undefined) {
      if (isNewest()) this.#onWill(topic, payload);
      return;
    }
    // A will that is known to be void here is not sent. The service judges the others.
    void this.#siblings
      .settled()
      .then((isSure) => isSure && isNewest() && session.entry?.sayWill(topic, payload));
  }
}
