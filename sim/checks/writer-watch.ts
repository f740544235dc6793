// Of several nodes one is the writer at a time (P19): a term is of one node, none is used again, and who was replaced writes nothing.
import type { Report } from '../world/power-watch.js';

export class WriterWatch {
  readonly #report: Report;
  /** Nodes that claimed, by their terms. */
  readonly #claims = new Map<number, string>();
  readonly #termOf = new Map<string, number>();
  #newestTerm = 0;

  constructor(report: Report) {
    this.#report = report;
  }

  /** How often the database went over to another owner. */
  get terms(): number {
    return this.#claims.size;
  }

  /** The database gave the node a term. @param clockAheadMs by how much its clock is. */
  claimed(node: string, term: number, clockAheadMs: number): void {
    const before = this.#claims.get(term);
    if (before !== undefined) this.#violate(node, `it has term ${term}, which ${before} had`);
    if (term <= this.#newestTerm) this.#violate(node, `its term ${term} is not above ${this.#newestTerm}`);
    if (Math.abs(clockAheadMs) > 2_000)
      this.#violate(node, `it became the owner with a clock that is ${clockAheadMs} ms ahead`);
    this.#claims.set(term, node);
    this.#termOf.set(node, term);
    this.#newestTerm = Math.max(this.#newestTerm, term);
  }

  /** The database took what the node wrote. */
  wrote(node: string): void {
    const term = this.#termOf.get(node) ?? 0;
    if (term < this.#newestTerm)
      this.#violate(node, `a write of term ${term} was taken in term ${this.#newestTerm}`);
  }

  /** A limit left the node. */
  granted(node: string): void {
    const term = this.#termOf.get(node) ?? 0;
    if (term < this.#newestTerm)
      this.#violate(node, `a limit of term ${term} left in term ${this.#newestTerm}`);
  }

  #violate(target: string, detail: string): void {
    this.#report({ invariant: 'P19', target, detail });
  }
}
