// Whether a charger keeps leases: what it has shown of one connector since it started, and what it is remembered for.

/** Told what the charger has shown. `evidence`: that it keeps leases, or why it does not. `hint`: it could show neither. */
export type Judged = (whyNot: string | undefined, kind: 'evidence' | 'hint') => void;

/** With which firmware connectors were seen to keep leases, by connectorId; empty where that is not known. */
export type Proofs = Readonly<Record<string, string>>;

/**
 * The same, and what one connector has shown with `firmware`. It says nothing of another: each has limits of its own.
 * @returns undefined where none is left; the same object where nothing is another
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

const SHOWS_LATER =
  'it shows its limits only while a transaction runs: with the next one it can prove its lease';

export class LeaseTrust {
  readonly #judged: Judged;
  #hasShown = false;
  /** It was seen to keep leases before, with the firmware it has. */
  #isRemembered = false;
  /** It has not started since, as far as is known: what it showed to a gateway before this one still holds. */
  #isContinued = false;
  #showsIdle: boolean | undefined;
  /** What it holds may end at another time than it was told: its clock is another. */
  #isDoubted = false;

  constructor(judged: Judged) {
    this.#judged = judged;
  }

  /** To this gateway, since its start. */
  get hasShown(): boolean {
    return this.#hasShown;
  }

  /**
   * It has shown that it keeps leases: since its start, which may be before that of the gateway, or, where it shows nothing
   * while no transaction runs, before its start. And it was told a lease since its clock was another.
   */
  get isProven(): boolean {
    return this.isKnownToKeep && !this.#isDoubted;
  }

  /** The same, whatever its clock did: what it holds now may be from before that. */
  get isKnownToKeep(): boolean {
    return this.#hasShown || (this.#isRemembered && (this.#isContinued || this.#showsIdle === false));
  }

  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  /** Whether it shows its limits while no transaction runs; undefined where that is not known. */
  get showsIdle(): boolean | undefined {
    return this.#showsIdle;
  }

  noteIdle(showsIdle: boolean): void {
    this.#showsIdle = showsIdle;
  }

  /** Whether it was seen to keep leases before, with the firmware it has, and has not started since. */
  remember(isRemembered: boolean, isContinued: boolean): void {
    this.#isRemembered = isRemembered;
    this.#isContinued = isContinued;
  }

  /** It started anew: all of it has to be shown again. */
  forget(): void {
    this.#hasShown = false;
    this.#isContinued = false;
    this.#isDoubted = false;
  }

  /** Its clock is another. That it lowers itself when a lease ends does not change by that; when the one it holds ends does. */
  doubt(): void {
    this.#isDoubted = true;
  }

  /** It holds what it was told by the clock that it has now, and nothing above that. */
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
