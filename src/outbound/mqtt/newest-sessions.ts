// Which connection of a client is its newest, at this broker or at another one: the last wills of older ones are out of date.
import type { Siblings } from '../../ports/telemetry.js';
import type { Session } from './session.js';

/** Why a session ends that is not its client's newest, or may not be. */
type Ending = 'elsewhere' | 'bus';

export class NewestSessions {
  readonly #siblings: Siblings | undefined;
  /** Of each client, oldest first. One that ends before it was let in leaves those before it where they were. */
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
    /** Takes the wills where there are no other brokers. */
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
    // Who is here may be elsewhere, too, by now. Whoever is not comes again, and says how it is.
    siblings?.onLost(() => {
      for (const session of [...this.#sessions.values()].flat()) endVoid(session, 'bus');
    });
  }

  /** Whether a client may log in: the other brokers can be told. */
  get isOpen(): boolean {
    return this.#siblings?.isHealthy() ?? true;
  }

  /**
   * The session has logged in, and is its client's newest. Resolves once the other brokers are sure to hear of it before
   * any login that the client begins after it was let in; to false where they cannot be told.
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

  /** Its connection has ended. */
  leave(session: Session): void {
    session.entry?.leave();
    const username = session.login?.username;
    if (username === undefined) return;
    const forget = () => {
      const others = this.#sessions.get(username)?.filter((each) => each !== session) ?? [];
      if (others.length > 0) this.#sessions.set(username, others);
      else this.#sessions.delete(username);
    };
    // Until all logins elsewhere are heard of, its will may be void.
    if (this.#siblings === undefined) forget();
    else void this.#siblings.settled().then(forget);
  }

  /** Hands the will on, unless the client is back already, here or elsewhere: then what its lost connection had to say is out of date. */
  sayWill(session: Session, topic: string, payload: Buffer): void {
    const isNewest = () => {
      const newest = session.login && this.#sessions.get(session.login.username)?.at(-1);
      return !session.isWillVoid && (newest === undefined || newest === session);
    };
    if (this.#siblings === undefined) {
      if (isNewest()) this.#onWill(topic, payload);
      return;
    }
    // What is already known elsewhere spares the service a word; what it cannot know yet is judged there.
    void this.#siblings
      .settled()
      .then((isSure) => isSure && isNewest() && session.entry?.sayWill(topic, payload));
  }
}
