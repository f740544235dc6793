// Checks the name and password of a client, and slows down guesses. Every failure is logged and counted.
import { GuessLimit } from '../../guess-limit.js';
import type { Metrics } from '../../metrics.js';
import { PasswordCheck } from '../../password-check.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MqttLogin, MqttLogins } from '../../ports/telemetry.js';
import { SignInLog } from '../../sign-in-log.js';

/** `attempts`: not checked now; the client may try again. The login is undefined if it was removed meanwhile. */
export type SignInVerdict =
  | { readonly refusal: 'credentials' | 'attempts' }
  | { readonly login: MqttLogin | undefined };

// This many threads check the passwords of a site that reconnects as a whole.
const PASSWORD_CHECKS_AT_ONCE = 2;

export class MqttSignIn {
  readonly #logins: MqttLogins;
  readonly #metrics: Metrics;
  readonly #signInLog: SignInLog;
  readonly #passwordCheck: PasswordCheck;

  constructor(options: {
    readonly clock: Clock;
    readonly log: Log;
    readonly metrics: Metrics;
    readonly logins: MqttLogins;
    readonly authFailuresPerMin: number;
  }) {
    this.#logins = options.logins;
    this.#metrics = options.metrics;
    this.#signInLog = new SignInLog(options.clock, options.log);
    const guessLimit = new GuessLimit(options.clock, options.authFailuresPerMin);
    this.#passwordCheck = new PasswordCheck(guessLimit, PASSWORD_CHECKS_AT_ONCE);
  }

  async check(
    address: string,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<SignInVerdict> {
    if (username === undefined || password === undefined) {
      this.#signInLog.add({ via: 'mqtt', address, username, reason: 'no name or password' });
      return { refusal: 'credentials' };
    }
    const stored = this.#logins.find(username)?.secretHash;
    const verdict = await this.#passwordCheck.check({
      address,
      name: username,
      password: password.toString(),
      stored,
    });
    if (verdict.is !== 'right') {
      const reason = stored === undefined ? 'no such name' : 'wrong password';
      this.#signInLog.add({ via: 'mqtt', address, username, reason });
      if (verdict.is === 'later') return { refusal: 'attempts' };
      this.#metrics.authFailures.inc({ via: 'mqtt' });
      return { refusal: 'credentials' };
    }
    const found = this.#logins.find(username);
    // It changed during the check: the next attempt is checked against the new value.
    return found?.secretHash === stored ? { login: found?.login } : { refusal: 'attempts' };
  }
}
