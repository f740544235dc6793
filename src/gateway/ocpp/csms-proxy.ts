// Forwards calls between a charger and its CSMS. Only calls that could raise a limit above a grant do not pass.
import type { Log } from '../../ports/log.js';
import type { RareLog } from '../../rare-log.js';
import type { GatewayMetrics } from '../gateway-metrics.js';
import { CsmsAway, type CsmsLink, type CsmsReceiver } from './csms-link.js';
import { type Call, ForwardedError, type OcppDialect, UnusableMessage } from './ocpp-dialect.js';

interface ProxyParts {
  readonly controllerUuid: string;
  readonly link: CsmsLink;
  readonly dialect: Pick<OcppDialect, 'events' | 'guard'>;
  /** Calls the charger. @throws ForwardedError for an error of the charger */
  readonly call: Call;
  /** True: without the CSMS the gateway checks id tags. False: the charger receives an error and tries again. */
  readonly asksIdTags: boolean;
  readonly log: Log;
  readonly rareLog: RareLog;
  readonly metrics: GatewayMetrics;
}

/** A call of the charger that the gateway answered in place of the CSMS. */
interface Missed {
  readonly method: string;
  readonly params: unknown;
}

/** A charger with fifty connectors has fewer topics. */
const MOST_MISSED = 60;

export class CsmsProxy implements CsmsReceiver {
  readonly #parts: ProxyParts;
  /** The newest call of each topic that an absent CSMS missed. */
  readonly #missed = new Map<string, Missed>();
  #isTelling = false;

  constructor(parts: ProxyParts) {
    this.#parts = parts;
  }

  /** The answer to a call of the charger. @throws ForwardedError, UnusableMessage, UnknownMethod */
  async receive(method: string, params: unknown): Promise<object> {
    const { events } = this.#parts.dialect;
    await this.#take(method, async () => events.received(method, params));
    let answer = await this.#answer(method, params);
    await this.#take(method, async () => {
      answer = await events.answered(method, params, answer);
    });
    return answer;
  }

  async called(method: string, params: unknown): Promise<unknown> {
    const { call, metrics } = this.#parts;
    const guarded = this.#judge(method, params);
    metrics.guarded.inc({ result: guarded.kind === 'answered' ? 'answered' : 'forwarded' });
    if (guarded.kind === 'answered') return guarded.answer;
    const { params: passed, answerOf = (answer: unknown) => answer, failed } = guarded;
    try {
      return answerOf(await call(method, typeof passed === 'object' && passed !== null ? passed : {}));
    } catch (error) {
      failed?.();
      throw error;
    }
  }

  opened(): void {
    void this.#tell();
  }

  #judge(method: string, params: unknown) {
    try {
      return this.#parts.dialect.guard.judge(method, params);
    } catch (error) {
      if (!(error instanceof UnusableMessage)) throw error;
      throw new ForwardedError('PropertyConstraintViolation', error.message, {});
    }
  }

  async #answer(method: string, params: unknown): Promise<object> {
    const { link, dialect, asksIdTags } = this.#parts;
    const { guard, events } = dialect;
    const topic = guard.topicOf(method, params);
    // This call replaces the missed one of its topic.
    if (topic !== undefined) this.#missed.delete(topic);
    try {
      const answer = await link.call(method, params);
      // A CSMS that was only slow does not reconnect, so `opened` is not called for it.
      void this.#tell();
      return answer;
    } catch (error) {
      if (!(error instanceof CsmsAway)) throw error;
      if (guard.mustReachCsms(method, params) && !(method === 'Authorize' && asksIdTags))
        throw new ForwardedError('InternalError', `${error.message}: try again`, {});
      if (topic !== undefined && this.#missed.size < MOST_MISSED) this.#missed.set(topic, { method, params });
      return events.answer(method, params);
    }
  }

  /** A call that the gateway cannot use may still be of use to the CSMS. */
  async #take(method: string, work: () => Promise<void>): Promise<void> {
    const { controllerUuid, log, rareLog, metrics } = this.#parts;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof UnusableMessage)) throw error;
      metrics.messages.inc({ result: 'malformed' });
      rareLog(`${controllerUuid} ${method}`, () =>
        log.warn({ controllerUuid, method, why: error.message }, 'a call of a charger cannot be used'),
      );
    }
  }

  /**
   * Sends the missed calls one after another, the charger's start first.
   * Unsent ones wait for the next answer of the CSMS.
   */
  async #tell(): Promise<void> {
    if (this.#isTelling) return;
    this.#isTelling = true;
    let next = this.#nextMissed;
    while (next !== undefined && (await this.#isTold(next[1]))) {
      const [topic, told] = next;
      // A newer call of this topic may have been missed meanwhile.
      if (this.#missed.get(topic) === told) this.#missed.delete(topic);
      next = this.#nextMissed;
    }
    this.#isTelling = false;
  }

  get #nextMissed(): readonly [string, Missed] | undefined {
    const missed = [...this.#missed];
    return missed.find(([, { method }]) => method === 'BootNotification') ?? missed[0];
  }

  /** The CSMS received it, even if it refused it. */
  async #isTold({ method, params }: Missed): Promise<boolean> {
    try {
      await this.#parts.link.call(method, params);
      return true;
    } catch (error) {
      return !(error instanceof CsmsAway);
    }
  }
}
