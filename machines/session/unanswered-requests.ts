// Requests that a charger repeatedly left unanswered: its support is unknown, and leases depend on it.
import type { GatewayAnswer, GatewayRequest } from './gateway-request.js';

/** One answer may be lost; two lost in a row are no accident. */
const IN_VAIN = 2;
/** Names of requests, independent of the OCPP version. Leases do not depend on the other requests. */
const WORDS: Partial<Record<GatewayRequest['kind'], string>> = {
  readAbilities: 'what it can do',
  sample: 'how often it is to report',
  setFailsafe: 'SetChargingProfile',
  setLease: 'SetChargingProfile',
  clear: 'ClearChargingProfile',
  readSchedule: 'GetCompositeSchedule',
};

export class UnansweredRequests {
  /** Failures in a row, and the reason of the last. */
  readonly #inVain = new Map<string, { readonly times: number; readonly why: string }>();

  /** Unanswered request, in words; undefined if the charger answers, or failed too few times. */
  get why(): string | undefined {
    for (const [words, { times, why }] of this.#inVain)
      if (times >= IN_VAIN) return `it does not answer ${words}: ${why}`;
    return undefined;
  }

  note({ kind }: GatewayRequest, answer: GatewayAnswer): void {
    const words = WORDS[kind];
    if (words === undefined) return;
    if (answer.kind !== 'failed') this.#inVain.delete(words);
    else this.#inVain.set(words, { times: (this.#inVain.get(words)?.times ?? 0) + 1, why: answer.why });
  }
}
