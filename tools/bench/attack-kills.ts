// Clients that write while the service is killed, and checks of the state that REST shows afterwards.
import { systemClock } from '../../src/clock.js';
import type { Dice } from './attack-dice.js';
import { createLedger, type Outcome } from './write-ledger.js';

const WRITERS = 8;
const PRIORITIES = 10;
const UNANSWERED_AFTER_MS = 30_000;
/** Each limit is a number that no other write has. */
const STEP_KW = 0.001;
const WINDOW = { startTime: '2090-01-01T00:00:00.000Z', endTime: '2090-01-02T00:00:00.000Z' };

interface Page {
  readonly submissions: readonly { readonly priority: number; readonly limitKw: number }[];
  readonly permanentLimits: readonly { readonly limitKw: number }[];
  readonly nextCursor: string | null;
}

interface Limits {
  readonly permanentLimitKw: number;
  readonly profiles: readonly { readonly priority: number; readonly limitKw: number }[];
}

/** The locations of one tenant, and all writes to them. */
export class Books {
  readonly #ledger = createLedger();
  readonly #url: () => string;
  readonly #apiKey: string;
  readonly #locationIds: readonly string[];
  #last = 0;
  acknowledged = 0;
  unanswered = 0;
  refused = 0;

  constructor(url: () => string, apiKey: string, locationIds: readonly string[]) {
    this.#url = url;
    this.#apiKey = apiKey;
    this.#locationIds = locationIds;
  }

  async open(): Promise<void> {
    this.#ledger.begin(await this.#held());
  }

  /** Writes until an answer fails to come; calls `onAnswer` after each answer. */
  async write(dice: Dice, onAnswer: () => void): Promise<void> {
    const writer = async () => {
      while ((await this.#writeOnce(dice)) !== 'unknown') onAnswer();
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
  }

  /** @returns messages about each value that the service shows and must not show, or must show and does not */
  async check(): Promise<readonly string[]> {
    return this.#ledger.settle(await this.#held());
  }

  /** @returns messages about acknowledged writes that the history lacks, and about refused or unsent writes in it */
  async checkHistory(): Promise<readonly string[]> {
    const shown = new Set<string>();
    for (const id of this.#locationIds) {
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: Page = await this.#get(
          `/locations/${id}/history?limit=100${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        );
        for (const { priority, limitKw } of page.submissions) shown.add(`${id}/${priority} ${limitKw}`);
        for (const { limitKw } of page.permanentLimits) shown.add(`${id}/permanent ${limitKw}`);
        cursor = page.nextCursor;
      }
    }
    return this.#ledger.attempts.flatMap(({ values, outcome }) =>
      Object.entries(values)
        .map(([slot, value]) => `${slot} ${value}`)
        .filter((entry) => outcome !== 'unknown' && shown.has(entry) !== (outcome === 'acknowledged'))
        .map((entry) => `${entry} was ${outcome}, and ${shown.has(entry) ? 'is' : 'is not'} in history`),
    );
  }

  async #writeOnce(dice: Dice): Promise<Outcome> {
    const id = dice.pick(this.#locationIds);
    const value = Number((++this.#last * STEP_KW).toFixed(3));
    const isPermanent = dice.isOneIn(4);
    const priority = dice.below(PRIORITIES);
    const end = this.#ledger.send({ [`${id}/${isPermanent ? 'permanent' : priority}`]: String(value) });
    const leaving = new AbortController();
    const cancel = systemClock.after(UNANSWERED_AFTER_MS, () => leaving.abort());
    const answer = await fetch(`${this.#url()}/v1/locations/${id}/${isPermanent ? 'limit' : 'schedules'}`, {
      method: isPermanent ? 'PUT' : 'POST',
      headers: { 'x-api-key': this.#apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(isPermanent ? { limitKw: value } : { ...WINDOW, limitKw: value, priority }),
      signal: leaving.signal,
    }).catch(() => undefined);
    cancel();
    const outcome = answer === undefined ? 'unknown' : answer.ok ? 'acknowledged' : 'refused';
    if (outcome === 'acknowledged') this.acknowledged++;
    else if (outcome === 'refused') this.refused++;
    else this.unanswered++;
    await answer?.arrayBuffer().catch(() => undefined);
    // An answered write has ended, even if the connection broke after the head of the answer.
    if (outcome !== 'unknown') end(outcome);
    return outcome;
  }

  async #held(): Promise<Map<string, string>> {
    const held = new Map<string, string>();
    for (const id of this.#locationIds) {
      const { permanentLimitKw, profiles } = await this.#get<Limits>(`/locations/${id}/limits`);
      held.set(`${id}/permanent`, String(permanentLimitKw));
      for (const { priority, limitKw } of profiles) held.set(`${id}/${priority}`, String(limitKw));
    }
    return held;
  }

  async #get<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.#url()}/v1${path}`, { headers: { 'x-api-key': this.#apiKey } });
    if (!answer.ok) throw new Error(`${path} answers ${answer.status} to the client that wrote`);
    return (await answer.json()) as T;
  }
}
