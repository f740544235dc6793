// Of several nodes one is the writer at a time (P19), of the whole database or of each shard: a term is of one node, none is used
// again, and who was replaced writes nothing.
import type { Report } from '../world/power-watch.js';

const THE_DATABASE = 'the database';

export class WriterWatch {
  readonly #report: Report;
  /** Nodes that claimed, by their terms. */
  readonly #claims = new Map<number, string>();
  /** By node and what it owned. */
  readonly #termOf = new Map<string, number>();
  /** By what is owned. */
  readonly #newestTerms = new Map<string, number>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** How often the database, or a shard, went over to another owner. */
  get terms(): number {
    return this.#claims.size;
  }

  /** The database gave the node a term. @param clockAheadMs by how much its clock is. @param owned what it owns from now on. */
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

  /** The database took what the node wrote. */
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
