// Hashes the preset secrets of a provisioning file. A stored hash of the same secret stays, unless it is out of date.
import type { PasswordSeal } from '../ports/administration.js';
import { hashPassword, isGenerated, isHashOutdated, isPassword, secretIdOf } from '../secrets.js';

/** A password or client secret in the file, and the stored hash of its owner. */
export interface PresetSecret {
  /** The owner inside its tenant, such as `charger/q1-a`. */
  readonly owner: string;
  readonly password: string;
  readonly stored: string | undefined;
}

/**
 * Few enough that one changed password causes few hashes of others; enough that an unchanged file takes little time.
 */
const SEALED_TOGETHER = 50;

/** The secrets of one tenant in one run. Each slow hash takes long, and a run plans twice. */
export class PresetSecrets {
  readonly #seals: readonly PasswordSeal[];
  readonly #onSlow: (count: number) => void;
  readonly #together: number;
  /** Hash of each preset so far. */
  readonly #hashes = new Map<string, string>();
  readonly #proved = new Set<PasswordSeal>();

  /**
   * @param seals of earlier runs.
   * @param onSlow called with the number of secrets that are about to be hashed one by one.
   * @param together most secrets of one seal.
   */
  constructor(
    seals: readonly PasswordSeal[],
    onSlow: (count: number) => void,
    together: number = SEALED_TOGETHER,
  ) {
    this.#seals = seals;
    this.#onSlow = onSlow;
    this.#together = together;
  }

  /** The hash to store for each owner. */
  async hashesOf(presets: readonly PresetSecret[]): Promise<ReadonlyMap<string, string>> {
    const isNew = (preset: PresetSecret) => !this.#hashes.has(keyOf(preset));
    const chosen = presets.filter(isNew).filter(({ password }) => !isGenerated(password));
    await this.#prove(chosen);
    const slow = chosen.filter(isNew);
    if (slow.length > 0) this.#onSlow(slow.length);
    await Promise.all(
      presets.filter(isNew).map(async (preset) => {
        this.#hashes.set(keyOf(preset), await hashOf(preset));
      }),
    );
    return new Map(presets.map((preset) => [preset.owner, this.#hashes.get(keyOf(preset)) ?? '']));
  }

  /** Seals for the stored hashes; undefined if the earlier seals cover them. */
  async sealsOf(presets: readonly PresetSecret[]): Promise<readonly PasswordSeal[] | undefined> {
    const hashes = await this.hashesOf(presets);
    // Another file may name the owners that this file does not name.
    const isOfOthers = ({ owners }: PasswordSeal) => !owners.some((owner) => hashes.has(owner));
    const kept = this.#seals.filter((seal) => this.#proved.has(seal) || isOfOthers(seal));
    const sealed = new Set(kept.flatMap(({ owners }) => owners));
    const open = presets
      .filter(({ owner, password }) => !sealed.has(owner) && !isGenerated(password))
      .map((preset) => ({ ...preset, stored: hashes.get(preset.owner) }));
    const groups: PresetSecret[][] = [];
    for (let i = 0; i < open.length; i += this.#together) groups.push(open.slice(i, i + this.#together));
    // A seal of one secret proves no more than its own hash.
    const made = groups.filter(({ length }) => length > 1).map(sealOf);
    if (made.length === 0 && kept.length === this.#seals.length) return undefined;
    return [...kept, ...(await Promise.all(made))];
  }

  /** Reuses the stored hashes of all owners in a seal that proves no change. */
  async #prove(presets: readonly PresetSecret[]): Promise<void> {
    const byOwner = new Map(presets.map((preset) => [preset.owner, preset]));
    const prove = async (seal: PasswordSeal) => {
      const sealed = seal.owners.flatMap((owner) => byOwner.get(owner) ?? []);
      if (sealed.length < seal.owners.length || sealed.some(isOutdated)) return;
      if (!(await isPassword(textOf(sealed), seal.hash))) return;
      this.#proved.add(seal);
      for (const preset of sealed) this.#hashes.set(keyOf(preset), preset.stored ?? '');
    };
    await Promise.all(this.#seals.map(prove));
  }
}

function keyOf({ owner, password, stored }: PresetSecret): string {
  return JSON.stringify([owner, password, stored]);
}

function isOutdated({ password, stored }: PresetSecret): boolean {
  return stored === undefined || isHashOutdated(password, stored);
}

async function hashOf({ password, stored }: PresetSecret): Promise<string> {
  if (stored === undefined || !(await isPassword(password, stored))) return hashPassword(password);
  // The same secret keeps its id, so that neither tokens nor connections end.
  return isHashOutdated(password, stored) ? hashPassword(password, secretIdOf(stored)) : stored;
}

async function sealOf(presets: readonly PresetSecret[]): Promise<PasswordSeal> {
  return { owners: presets.map(({ owner }) => owner), hash: await hashPassword(textOf(presets)) };
}

/** A guess by the seal needs all other passwords, and as much work as a guess by the own hash. */
function textOf(presets: readonly PresetSecret[]): string {
  return JSON.stringify(presets.map(({ owner, password, stored }) => [owner, password, stored]));
}
