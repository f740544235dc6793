// What a charger was asked in vain again and again: nobody knows whether it does that, and it can keep no lease without.
import type { GatewayAnswer, GatewayRequest } from './gateway-request.js';

/** One answer may be lost; that the next is lost as well is no chance. */
const IN_VAIN = 2;
/** What it does not answer, in words of every version of OCPP. What is not here, leases do without. */
const WORDS: Partial<Record<GatewayRequest['kind'], string>> = {
  readAbilities: 'what it can do',
  sample: 'how often it is to report',
  setFailsafe: 'SetChargingProfile',
  setLease: 'SetChargingProfile',
  clear: 'ClearChargingProfile',
  readSchedule: 'GetCompositeSchedule',
};

export class UnansweredRequests {
  /** How often in a row, and what came of it last. */
  readonly #inVain = new Map<string, { readonly times: number; readonly why: string }>();

  /** What it does not answer, in words; undefined where it answers, or was not asked often enough. */
  get why(): string | undefined {
    for (const [words, { times, why }] of this.#inVain)
      if (times >= IN_VAIN) return `it does not answer ${words}: ${why}`;
    return undefined;
  }

  /** It was asked that, and that came of it. */
  note({ kind }: GatewayRequest, answer: GatewayAnswer): void {
    const words = WORDS[kind];
    if (words === undefined) return;
    if (answer.kind !== 'failed') this.#inVain.delete(words);
    else this.#inVain.set(words, { times: (this.#inVain.get(words)?.times ?? 0) + 1, why: answer.why });
  }
}
