// Lease verification of one connector: results since the charger's start, and results remembered from before.

/** Receives a result. `evidence`: the charger keeps leases, or a reason why not. `hint`: it could show neither. */
export type Judged = (whyNot: string | undefined, kind: 'evidence' | 'hint') => void;

/** Firmware with which connectors kept leases, by connectorId; empty text if the firmware is unknown. */
export type Proofs = Readonly<Record<string, string>>;

/**
 * Adds the result of one connector with `firmware`. A result applies to no other connector: each has limits of its own.
 * @returns undefined if none is left; the same object if nothing changes
 */
export function proofsWith(
  proofs: Proofs | undefined,
  { connectorId, keepsLeases }: { readonly connectorId: string; readonly keepsLeases: boolean },
  firmware: string | undefined,
): Proofs | undefined {
  const { [connectorId]: before, ...others } = proofs ?? {};
  const shown = firmware ?? before ?? Object.values(others)[0] ?? '';
  if (before === (keepsLeases ? shown : undefined)) return proofs;
  if (keepsLeases) return { ...others, [connectorId]: shown };
  return Object.keys(others).length === 0 ? undefined : others;
}

const SHOWS_LATER = 'it shows its limits only while a transaction runs: the next one can verify its lease';

export class LeaseVerification {
  readonly #judged: Judged;
  #hasShown = false;
  /** The connector kept leases before, with its present firmware. */
  #isRemembered = false;
  /** The charger has not started since, as far as known, so its results under an earlier gateway still hold. */
  #isContinued = false;
  #showsIdle: boolean | undefined;
  /** The charger's clock changed, so its lease may end at another time than planned. */
  #isDoubted = false;

  constructor(judged: Judged) {
    this.#judged = judged;
  }

  /** Shown to this gateway since the charger's start. */
  get hasShown(): boolean {
    return this.#hasShown;
  }

  /**
   * The charger has shown that it keeps leases since its start, which may be before that of the gateway. If it shows
   * nothing while no transaction runs, a result from before its start counts too. It must also have taken a lease since
   * its clock changed.
   */
  get isProven(): boolean {
    return this.isKnownToKeep && !this.#isDoubted;
  }

  /** As `isProven`, regardless of the clock: the held lease may be from before a change of the clock. */
  get isKnownToKeep(): boolean {
    return this.#hasShown || (this.#isRemembered && (this.#isContinued || this.#showsIdle === false));
  }

  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  /** The charger shows its limits while no transaction runs; undefined if unknown. */
  get showsIdle(): boolean | undefined {
    return this.#showsIdle;
  }

  noteIdle(showsIdle: boolean): void {
    this.#showsIdle = showsIdle;
  }

  /**
   * @param isRemembered it kept leases before, with its present firmware
   * @param isContinued it has not started since
   */
  remember(isRemembered: boolean, isContinued: boolean): void {
    this.#isRemembered = isRemembered;
    this.#isContinued = isContinued;
  }

  /** The charger started anew and must show everything again. */
  forget(): void {
    this.#hasShown = false;
    this.#isContinued = false;
    this.#isDoubted = false;
  }

  /** The charger's clock changed. It still lowers itself at the end of a lease, but that end may have moved. */
  doubt(): void {
    this.#isDoubted = true;
  }

  /** The charger holds its lease by its present clock, and nothing above that. */
  keep(): void {
    this.#isDoubted = false;
  }

  prove(): void {
    this.keep();
    if (this.#hasShown) return;
    this.#hasShown = true;
    this.#judged(undefined, 'evidence');
  }

  disprove(why: string): void {
    this.#hasShown = false;
    this.#isRemembered = false;
    this.#judged(why, 'evidence');
  }

  postpone(): void {
    this.#judged(SHOWS_LATER, 'hint');
  }
}
