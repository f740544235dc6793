// Functions of a database engine for the store's contract: new databases, and the temporary loss of one.

export interface DatabaseServer {
  readonly engine: 'SQLite' | 'PostgreSQL';
  /** The URL of an empty database that no other test uses. */
  createDatabase(): Promise<string>;
  /** The URL of a copy of the unused database at `databaseUrl`. A copy is cheaper than new data for each test. */
  copyDatabase(databaseUrl: string): Promise<string>;
  /** Makes the database refuse writes until the function it resolves to is called. */
  takeAway(databaseUrl: string): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}
