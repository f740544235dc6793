// The secrets a provisioning file presets, as they are stored: what is stored already stays, unless its hash is out of date.
import { hashPassword, isHashOutdated, isPassword, secretIdOf } from '../secrets.js';

/** Hashes of one run: each takes long, and a run plans twice. */
export class PresetSecrets {
  readonly #hashes = new Map<string, Promise<string>>();

  /** What to store for `password`, where `stored` is there now. `owner` is whose it is, such as `charger/q1-a`. */
  hashOf(owner: string, password: string, stored: string | undefined): Promise<string> {
    const key = JSON.stringify([owner, password, stored]);
    const hash = this.#hashes.get(key) ?? hashOf(password, stored);
    this.#hashes.set(key, hash);
    return hash;
  }
}

async function hashOf(password: string, stored: string | undefined): Promise<string> {
  if (stored === undefined || !(await isPassword(password, stored))) return hashPassword(password);
  // The same secret keeps its id, so that neither tokens nor connections end.
  return isHashOutdated(password, stored) ? hashPassword(password, secretIdOf(stored)) : stored;
}
