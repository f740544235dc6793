// Keeps places for chargers: a logged-in connection stays, and only a limited number of others may wait.
import { addressBlock } from '../../guess-limit.js';

/** Settings of the same names. */
export interface ConnectionLimitSettings {
  readonly mqttConnections: number;
  readonly mqttPendingConnections: number;
}

export interface Connection {
  readonly address: string;
  /** Ends the connection, because another needs its place. */
  giveWay(): void;
}

/**
 * A connection is silent until its whole CONNECT has arrived, then pending until its login. If no
 * place is free, a silent one is closed: the oldest of the address that has most of them. So an
 * address that opens many displaces only its own.
 */
export class ConnectionLimits {
  readonly #settings: ConnectionLimitSettings;
  readonly #open = new Set<Connection>();
  readonly #pending = new Set<Connection>();
  /** By address, oldest first; no entry is empty. */
  readonly #silent = new Map<string, Set<Connection>>();

  constructor(settings: ConnectionLimitSettings) {
    this.#settings = settings;
  }

  /** @returns false if there is no place and no other connection can be closed */
  open(connection: Connection): boolean {
    const { mqttConnections, mqttPendingConnections } = this.#settings;
    if (this.#open.size >= mqttConnections || this.#pending.size >= mqttPendingConnections) {
      const displaced = this.#oldestOfMost();
      if (displaced === undefined) return false;
      this.close(displaced);
      displaced.giveWay();
    }
    this.#open.add(connection);
    this.#pending.add(connection);
    const block = addressBlock(connection.address);
    const silent = this.#silent.get(block) ?? new Set();
    this.#silent.set(block, silent.add(connection));
    return true;
  }

  /** Its CONNECT has arrived: it keeps its place during the check. */
  spoke(connection: Connection): void {
    const block = addressBlock(connection.address);
    const silent = this.#silent.get(block);
    silent?.delete(connection);
    if (silent?.size === 0) this.#silent.delete(block);
  }

  loggedIn(connection: Connection): void {
    this.#pending.delete(connection);
  }

  close(connection: Connection): void {
    this.spoke(connection);
    this.#pending.delete(connection);
    this.#open.delete(connection);
  }

  #oldestOfMost(): Connection | undefined {
    let most: ReadonlySet<Connection> = new Set();
    for (const silent of this.#silent.values()) {
      if (silent.size > most.size) most = silent;
    }
    return most.values().next().value;
  }
}
