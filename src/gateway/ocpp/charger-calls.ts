// Calls of a charger that are the same in all versions of OCPP, and their answers.
import type { ChargerSession } from '../../../machines/session/charger-session.js';
import { TOLD_WITHIN_MS } from '../../../machines/session/charger-time.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { AskIdTag } from './id-tags.js';
import { ForwardedError, UnknownMethod } from './ocpp-dialect.js';

/** Often enough to keep a charger's clock close, and so seldom that the clock is hardly ever set. */
const HEARTBEAT_INTERVAL_S = 900;
/** A `Heartbeat` call waits this long for the service. */
export const TIME_WAITS_MS = 5_000;

export interface CallParts {
  readonly session: ChargerSession;
  readonly clock: Clock;
  readonly log: Log;
  readonly askIdTag: AskIdTag;
  /** Called after an event that may lead to a request. */
  readonly changed: () => void;
}

export class ChargerCalls {
  readonly #parts: CallParts;
  readonly #onlyLogged: ReadonlySet<string>;

  /** @param onlyLogged methods that are logged and have no effect */
  constructor(parts: CallParts, onlyLogged: readonly string[]) {
    this.#parts = parts;
    this.#onlyLogged = new Set(onlyLogged);
  }

  /**
   * The charger started. @param words its maker, model and firmware, as far as
   * reported. @param answer the answer to its call
   */
  booted(words: readonly (string | undefined)[], answer: object): void {
    const firmware = words.filter((word) => word !== undefined).join(' ');
    this.#parts.session.booted(firmware, this.#parts.clock.monotonicMs());
    if ('status' in answer && answer.status === 'Rejected') this.#parts.session.rejected();
  }

  /**
   * Holds back the answer to `Heartbeat`, the CSMS's too, until the charger may receive the time.
   * @returns the answer with its time corrected by the delay; it must
   * leave at once. @throws ForwardedError if it may not
   */
  async tellTime(answer: object): Promise<object> {
    const { clock } = this.#parts;
    const answeredAtMs = clock.monotonicMs();
    await this.#mayBeTold();
    return laterBy(clock.monotonicMs() - answeredAtMs, answer);
  }

  /**
   * The answer leaves right after this resolves. A second `Heartbeat` call
   * ends the wait of the first. @throws ForwardedError
   */
  async #mayBeTold(): Promise<void> {
    const { session, clock, changed } = this.#parts;
    const mayReceiveTime = await new Promise<boolean>((resolve) => {
      const cancel = clock.after(TIME_WAITS_MS, () => session.time.giveUp(clock.monotonicMs()));
      const reply = (isSafe: boolean) => {
        cancel();
        resolve(isSafe);
      };
      session.time.asked(reply, clock.monotonicMs());
      changed();
    });
    if (!mayReceiveTime)
      throw new ForwardedError('InternalError', 'the call did not reach the service: try again', {});
    this.wakeAfterAnswer();
  }

  /** The gateway's own requests wait until the answer to the charger's call has left. */
  wakeAfterAnswer(): void {
    this.#parts.clock.after(TOLD_WITHIN_MS, this.#parts.changed);
  }

  /** The answer without a CSMS. @throws UnknownMethod, ForwardedError */
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
        log.info({ method, params }, 'call of a charger that the gateway does not handle');
        return {};
    }
  }
}

/** Corrects the time of an answer that was held back for `heldMs`. */
function laterBy(heldMs: number, answer: object): object {
  if (heldMs < 1 || !('currentTime' in answer)) return answer;
  const thenMs = Date.parse(String(answer.currentTime));
  return Number.isNaN(thenMs) ? answer : { ...answer, currentTime: new Date(thenMs + heldMs).toISOString() };
}
