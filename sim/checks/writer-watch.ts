// Checks that the whole database, or each shard, has one writer at a time among several nodes (P19). A term belongs
// to one node, no term is used again, and a replaced node writes nothing.
import type { Report } from '../world/world-record.js';

const THE_DATABASE = 'the database';

export class WriterWatch {
  readonly #report: Report;
  /** Nodes by the terms that they claimed. */
  readonly #claims = new Map<number, string>();
  /** By node, and the database or shard that it owned. */
  readonly #termOf = new Map<string, number>();
  /** By the database or shard. */
  readonly #newestTerms = new Map<string, number>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** Number of times that the database, or a shard, went over to another owner. */
  get terms(): number {
    return this.#claims.size;
  }

  /**
   * The database gave the node a term.
   * @param clockAheadMs lead of the node's clock
   * @param owned the database or shard that the node owns from now on
   */
  claimed(node: string, term: number, clockAheadMs: number, owned = THE_DATABASE): void {
    const newestTerm = this.#newestTerms.get(owned) ?? 0;
    const before = this.#claims.get(term);
    if (before !== undefined) this.#violate(node, `it has term ${term}, which ${before} had`);
    if (term <= newestTerm) this.#violate(node, `its term ${term} is not above ${newestTerm}`);
    if (Math.abs(clockAheadMs) > 2_000)
      this.#violate(node, `it became the owner with a clock that is ${clockAheadMs} ms ahead`);
    this.#claims.set(term, node);
    this.#termOf.set(`${node}, ${owned}`, term);
    this.#newestTerms.set(owned, Math.max(newestTerm, term));
  }

  /** The database accepted a write of the node. */
  wrote(node: string, owned = THE_DATABASE): void {
    const { term, newestTerm } = this.#termsOf(node, owned);
    if (term < newestTerm) this.#violate(node, `a write of term ${term} was taken in term ${newestTerm}`);
  }

  /** A limit left the node. */
  granted(node: string, owned = THE_DATABASE): void {
    const { term, newestTerm } = this.#termsOf(node, owned);
    if (term < newestTerm) this.#violate(node, `a limit of term ${term} left in term ${newestTerm}`);
  }

  #termsOf(node: string, owned: string) {
    return {
      term: this.#termOf.get(`${node}, ${owned}`) ?? 0,
      newestTerm: this.#newestTerms.get(owned) ?? 0,
    };
  }

  #violate(target: string, detail: string): void {
    this.#report({ invariant: 'P19', target, detail });
  }
}
