// What a charger calls in any version of OCPP alike, and what it is answered; what it says besides is its version's.
import type { ChargerSession } from '../../machines/session/charger-session.js';
import { TOLD_WITHIN_MS } from '../../machines/session/charger-time.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { ForwardedError } from './csms-link.js';
import { UnknownMethod } from './dialect.js';
import type { AskIdTag } from './id-tags.js';

/** Often enough that a charger's clock is never far off, and so seldom that it is hardly ever set. */
const HEARTBEAT_INTERVAL_S = 900;
/** A charger that asks what time it is waits for the service so long. */
export const TIME_WAITS_MS = 5_000;

export interface CallParts {
  readonly session: ChargerSession;
  readonly clock: Clock;
  readonly log: Log;
  readonly askIdTag: AskIdTag;
  /** Something that may lead to a request happened. */
  readonly changed: () => void;
}

export class ChargerCalls {
  readonly #parts: CallParts;
  readonly #onlyLogged: ReadonlySet<string>;
  #isRejected = false;

  /** @param onlyLogged what the charger only reports, and nobody here acts upon */
  constructor(parts: CallParts, onlyLogged: readonly string[]) {
    this.#parts = parts;
    this.#onlyLogged = new Set(onlyLogged);
  }

  /** A management system rejected its start: it need not answer before the next one, and should not be asked. */
  get isRejected(): boolean {
    return this.#isRejected;
  }

  /** It started. @param words who made it, and its firmware, as far as it says. @param answer what it is answered */
  booted(words: readonly (string | undefined)[], answer: object): void {
    this.#isRejected = 'status' in answer && answer.status === 'Rejected';
    const firmware = words.filter((word) => word !== undefined).join(' ');
    this.#parts.session.booted(firmware, this.#parts.clock.monotonicMs());
  }

  /**
   * Waits until it may be told what time it is, whoever said that.
   * @returns what it is told, which leaves at once: the time of then. @throws ForwardedError where it may not be told
   */
  async tellTime(answer: object): Promise<object> {
    const { clock } = this.#parts;
    const answeredAtMs = clock.monotonicMs();
    await this.#mayBeTold();
    return laterBy(clock.monotonicMs() - answeredAtMs, answer);
  }

  /** The answer leaves right after that, and where it is asked again meanwhile it may. @throws ForwardedError */
  async #mayBeTold(): Promise<void> {
    const { session, clock, changed } = this.#parts;
    const mayBeTold = await new Promise<boolean>((resolve) => {
      const cancel = clock.after(TIME_WAITS_MS, () => session.time.giveUp(clock.monotonicMs()));
      const reply = (isSafe: boolean) => {
        cancel();
        resolve(isSafe);
      };
      session.time.asked(reply, clock.monotonicMs());
      changed();
    });
    if (!mayBeTold)
      throw new ForwardedError('InternalError', 'the service does not hear of it: try again', {});
    this.wakeAfterAnswer();
  }

  /** Our own requests wait until the answer to the charger's call has left. */
  wakeAfterAnswer(): void {
    this.#parts.clock.after(TOLD_WITHIN_MS, this.#parts.changed);
  }

  /** The answer where no management system gives one. @throws UnknownMethod, ForwardedError */
  async answer(method: string, params: unknown): Promise<object> {
    const { clock, log } = this.#parts;
    if (method === 'Heartbeat') await this.#mayBeTold();
    const currentTime = new Date(clock.nowMs()).toISOString();
    switch (method) {
      case 'BootNotification':
        return { status: 'Accepted', currentTime, interval: HEARTBEAT_INTERVAL_S };
      case 'Heartbeat':
        return { currentTime };
      case 'StatusNotification':
      case 'MeterValues':
        return {};
      case 'DataTransfer':
        return { status: 'UnknownVendorId' };
      default:
        if (!this.#onlyLogged.has(method)) throw new UnknownMethod(method);
        log.info({ method, params }, 'told by a charger, and not managed by the gateway');
        return {};
    }
  }
}

/** An answer that was held back for so long. */
function laterBy(heldMs: number, answer: object): object {
  if (heldMs < 1 || !('currentTime' in answer)) return answer;
  const thenMs = Date.parse(String(answer.currentTime));
  return Number.isNaN(thenMs) ? answer : { ...answer, currentTime: new Date(thenMs + heldMs).toISOString() };
}
