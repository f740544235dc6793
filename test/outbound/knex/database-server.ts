// What the store's contract needs of a database engine: databases of its own, and a way to take one away for a while.

export interface DatabaseServer {
  readonly engine: 'SQLite' | 'PostgreSQL';
  /** The URL of an empty database that no other test uses. */
  createDatabase(): Promise<string>;
  /** The URL of a database like the one at `databaseUrl`, which nobody has open: cheaper than to fill one for each test. */
  copyDatabase(databaseUrl: string): Promise<string>;
  /** Makes the database refuse writes until the function it resolves to is called. */
  takeAway(databaseUrl: string): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}
