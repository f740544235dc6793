// Checks the energy of ended sessions (P25) by the register readings that reached the service.

import type { Change } from '../../src/ports/store.js';
import type { MeterMessage } from '../../src/wire/mqtt.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook } from './connector-book.js';
import { hasCarIn } from './stays.js';

/** Registers are whole Wh. */
const TOLERANCE_WH = 1;
/** After a crash the service may count two cars as one: the present one, and the next one. */
const STAYS_IN_DOUBT = 2;

interface Standing {
  hasCar: boolean;
  session: string | undefined;
  /** At the begin of the stay. */
  beganWh: number;
  registerWh: number | undefined;
  /** The register went back or was missing: then power counts. */
  isRegisterWrong: boolean;
  staysInDoubt: number;
  /** Energy of stays that have ended, and are on no disk yet, by session id. */
  readonly ended: Map<string, number>;
}

type SessionWatchWorld = Pick<CheckedWorld, 'books' | 'report'>;

export class SessionWatch {
  readonly #world: SessionWatchWorld;
  readonly #standings = new Map<ConnectorBook, Standing>();

  constructor(world: SessionWatchWorld) {
    this.#world = world;
  }

  /** The service took this reading as the newest one. @param isOfOldBoot the charger has started again since */
  received(book: ConnectorBook, { status, session, energyWh }: MeterMessage, isOfOldBoot: boolean): void {
    const standing = this.#standingOf(book);
    const { registerWh = energyWh } = standing;
    if (isOfOldBoot || energyWh === undefined || registerWh === undefined || energyWh < registerWh) {
      standing.isRegisterWrong = true;
      return;
    }
    const hasCar = hasCarIn(status);
    const isOther = standing.session !== undefined && session !== standing.session;
    if (standing.hasCar && (!hasCar || isOther)) end(standing, energyWh);
    // A car that came since the reading before has drawn the increase.
    if (hasCar && (!standing.hasCar || isOther)) standing.beganWh = isOther ? energyWh : registerWh;
    standing.hasCar = hasCar;
    standing.session = hasCar ? session : undefined;
    standing.registerWh = energyWh;
  }

  written(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.kind !== 'session.put') continue;
      const { controllerUuid, connectorId, session, deliveredWh } = change.session;
      const book = this.#world.books.byId(controllerUuid, connectorId);
      if (book === undefined || session === undefined) continue;
      const { ended, isRegisterWrong } = this.#standingOf(book);
      const registerWh = ended.get(session);
      ended.delete(session);
      if (registerWh === undefined || isRegisterWrong) continue;
      if (Math.abs(deliveredWh - registerWh) <= TOLERANCE_WH) continue;
      const detail = `session ${session} has ${deliveredWh} Wh, and its register rose by ${registerWh} Wh`;
      this.#world.report({ invariant: 'P25', target: book.facts.key, detail });
    }
  }

  /** The service died: begin and end of the last stays may be on no disk. */
  ended(): void {
    for (const standing of this.#standings.values()) {
      standing.staysInDoubt = STAYS_IN_DOUBT;
      standing.ended.clear();
    }
  }

  #standingOf(book: ConnectorBook): Standing {
    const known = this.#standings.get(book);
    if (known !== undefined) return known;
    const standing: Standing = {
      hasCar: false,
      session: undefined,
      beganWh: 0,
      registerWh: undefined,
      isRegisterWrong: false,
      staysInDoubt: 0,
      ended: new Map(),
    };
    this.#standings.set(book, standing);
    return standing;
  }
}

function end(standing: Standing, energyWh: number): void {
  if (standing.staysInDoubt > 0) standing.staysInDoubt--;
  else if (standing.session !== undefined) standing.ended.set(standing.session, energyWh - standing.beganWh);
}
