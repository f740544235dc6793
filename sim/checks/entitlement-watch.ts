// Checks an OCPP charger's own profiles: they never allow more than the service must reserve for it by its messages
// (P2).

import type { ChargerAddress } from '../../machines/values/ids.js';
import type { OutletState } from '../charger/virtual-charger.js';
import type { WorldCharger } from '../world/charger-run.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook } from './connector-book.js';

/** Tenths of an ampere are rounded down, whole watts are not. */
const TOLERANCE_A = 0.06;

type EntitlementWatchWorld = Pick<CheckedWorld, 'books' | 'monotonicMs' | 'report'>;

export class EntitlementWatch {
  readonly #world: EntitlementWatchWorld;
  readonly #over = new Set<ConnectorBook>();
  readonly #forgotten = new Set<ConnectorBook>();

  constructor(world: EntitlementWatchWorld) {
    this.#world = world;
  }

  /** The charger restarted and lost everything. The service cannot act on that before the gateway reports it. */
  forgot({ address, outlets }: WorldCharger): void {
    for (const { spec } of outlets) {
      const book = this.#world.books.byId(address.controllerUuid, spec.connectorId);
      if (book !== undefined) this.unheard(book);
    }
  }

  /** The charger keeps no lease, and the service cannot act on that before a report. */
  unheard(book: ConnectorBook): void {
    this.#forgotten.add(book);
  }

  /** The service receives the charger's state. */
  receivedState({ controllerUuid }: ChargerAddress): void {
    for (const book of this.#world.books.ofCharger(controllerUuid))
      if (book.lease === 'none') this.#forgotten.delete(book);
  }

  /** Reports each period in which the profiles allow more once. */
  changed({ address, outlets, unforeseenA = 0 }: WorldCharger): void {
    for (const outlet of outlets) {
      const book = this.#world.books.byId(address.controllerUuid, outlet.spec.connectorId);
      if (book !== undefined) this.#judge(book, outlet, TOLERANCE_A + unforeseenA);
    }
  }

  #judge(book: ConnectorBook, { holder }: OutletState, toleranceA: number): void {
    const mayA = holder.applied.limitA;
    const boundA = book.boundA(this.#world.monotonicMs());
    const isOver = mayA > boundA + toleranceA && !this.#forgotten.has(book);
    if (isOver && !this.#over.has(book)) {
      const detail = `its profiles let it draw ${mayA.toFixed(1)} A, and ${boundA.toFixed(1)} A are reserved for it`;
      this.#world.report({ invariant: 'P2', target: book.facts.key, detail });
    }
    if (isOver) this.#over.add(book);
    else this.#over.delete(book);
  }
}
