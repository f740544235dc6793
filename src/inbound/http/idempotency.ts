// `Idempotency-Key` of a POST, and of some PUTs (draft-ietf-httpapi-idempotency-key-header-07): a request that is repeated with its key
// gets the answer of the first one, and changes nothing.
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { Keep } from '../../actors/core.js';
import { readAnswer } from '../../features/answers/rows.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { AnsweredAlreadyError, type Change, type Store } from '../../ports/store.js';
import { errorEnvelope, HTTP_STATUS } from '../../wire/error-envelope.js';
import { type Exchange, sendJson, toJson } from './exchange.js';
import { type Headers, NO_HEADERS, Refusal, retryAfter } from './refusal.js';

const HEADER = 'idempotency-key';
const LONGEST_KEY = 255;
/** A String of RFC 9651 section 3.3.3, without parameters. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;
/** Other services take the key without quotes, and so does this one. */
const BARE = /^[!#-+\--:<-[\]-~]+$/;

const KEY_RULE = `must be sent once, as a quoted text of 1 to ${LONGEST_KEY} printable ASCII characters, such as "8e03978e-40d5-43e8-bc93-6894a57f9324"`;

/**
 * The key of a request; undefined without one. A PUT is repeatable without a key, so there a malformed one is ignored.
 * @throws DomainError INVALID_REQUEST_BODY naming the header
 */
export function idempotencyKeyOf({ request }: Pick<Exchange, 'request'>): string | undefined {
  if (request.headers[HEADER] === undefined) return undefined;
  const [value = '', ...others] = request.headersDistinct[HEADER] ?? [];
  const quoted = QUOTED.exec(value)?.[1]?.replace(/\\(.)/g, '$1');
  const key = quoted ?? (BARE.test(value) ? value : '');
  if (others.length === 0 && key !== '' && key.length <= LONGEST_KEY) return key;
  if (request.method === 'PUT') return undefined;
  throw new DomainError('INVALID_REQUEST_BODY', `Idempotency-Key: ${KEY_RULE}`);
}

/** An answer as it is sent and recorded. */
export interface RepeatableAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Headers;
}

/** A request that has a key. */
export interface KeyedRequest {
  readonly exchange: Exchange;
  readonly tenantUuid: TenantUuid;
  readonly key: string;
  /** All that a repeated request has in common with the first one. */
  readonly sameness: readonly unknown[];
  /** Turns the expected result of the operation into its answer. */
  readonly answerOf: (view: object) => RepeatableAnswer;
  readonly execute: (keep: Keep) => Promise<RepeatableAnswer>;
}

interface IdempotencyParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly storeOf: (tenantUuid: TenantUuid) => Pick<Store, 'append' | 'read'>;
}

const IN_PROGRESS_WAIT_MS = 1_000;
const REPLAYED: Headers = { 'idempotent-replayed': 'true' };
/** They depend on the credential, and the next request may have another. */
const NEVER_RECORDED: readonly number[] = [401, 403];
const SERVER_FAULT = 500;

export class Idempotency {
  readonly #parts: IdempotencyParts;
  /** Hashes of the requests that are being executed here, by key. Each has a connection of its own. */
  readonly #executed = new Map<string, string>();

  constructor(parts: IdempotencyParts) {
    this.#parts = parts;
  }

  /** @throws DomainError IDEMPOTENCY_KEY_REUSED for another request with this key, or REQUEST_IN_PROGRESS */
  async answer(keyed: KeyedRequest): Promise<void> {
    const seal = new Seal(keyed.tenantUuid, keyed.key);
    const { keyHash } = seal;
    const requestHash = createHash('sha256').update(toJson(keyed.sameness)).digest('base64url');
    const executed = this.#executed.get(keyHash);
    if (executed !== undefined) throw executed === requestHash ? inProgress() : reused();
    this.#executed.set(keyHash, requestHash);
    try {
      if (await this.#replay(keyed, seal, requestHash)) return;
      const { status, body, headers } = await this.#execute(keyed, seal, requestHash);
      sendJson(keyed.exchange, status, body, headers);
    } catch (error) {
      // A commit with an unknown outcome has landed meanwhile.
      if (!(error instanceof AnsweredAlreadyError)) throw error;
      if (!(await this.#replay(keyed, seal, requestHash))) throw error;
    } finally {
      this.#executed.delete(keyHash);
    }
  }

  async #replay({ exchange, tenantUuid }: KeyedRequest, seal: Seal, requestHash: string): Promise<boolean> {
    const { clock, storeOf } = this.#parts;
    const now = clock.nowMs();
    const held = await storeOf(tenantUuid).read((trx) => readAnswer(trx, tenantUuid, seal.keyHash, now));
    if (held === undefined) return false;
    if (held.requestHash !== requestHash) throw reused();
    const { status, body, headers } = JSON.parse(seal.open(held.sealed)) as RepeatableAnswer;
    sendJson(exchange, status, body, { ...headers, ...REPLAYED });
    return true;
  }

  async #execute(keyed: KeyedRequest, seal: Seal, requestHash: string): Promise<RepeatableAnswer> {
    const { keyHash } = seal;
    const record = (text: string) =>
      ({
        kind: 'answer.put',
        answer: { keyHash, requestHash, sealed: seal.close(text), atMs: this.#parts.clock.nowMs() },
      }) as const;
    let recorded: string | undefined;
    const keep: Keep = (expected) => {
      recorded = toJson(keyed.answerOf(expected()));
      return [record(recorded)];
    };
    try {
      const answer = await keyed.execute(keep);
      const text = toJson(answer);
      if (recorded === undefined) await this.#write(keyed, record(text));
      else if (text !== recorded)
        await this.#write(keyed, { kind: 'answer.change', keyHash, sealed: seal.close(text) });
      return answer;
    } catch (error) {
      const refused = error instanceof DomainError ? answerOf(error, keyed.exchange) : undefined;
      if (refused !== undefined) await this.#write(keyed, record(toJson(refused)));
      throw error;
    }
  }

  /** The answer is sent even if this fails: its change is on disk, with the expected answer, or there is none. */
  async #write({ tenantUuid }: KeyedRequest, change: Change): Promise<void> {
    const { log, storeOf } = this.#parts;
    await storeOf(tenantUuid)
      .append(tenantUuid, [change])
      .catch((error: unknown) => log.warn({ tenantUuid, err: error }, 'an answer could not be recorded'));
  }
}

/** A refusal that a repeated request gets, too; undefined for another one. */
function answerOf(refusal: DomainError, { requestId }: Exchange): RepeatableAnswer | undefined {
  const { code, message } = refusal;
  const status = HTTP_STATUS[code];
  if (status >= SERVER_FAULT || NEVER_RECORDED.includes(status)) return undefined;
  return { status, body: toJson(errorEnvelope(code, message, requestId)), headers: NO_HEADERS };
}

function reused(): DomainError {
  return new DomainError(
    'IDEMPOTENCY_KEY_REUSED',
    'Idempotency-Key: another request had this key; send a new key with each new request.',
  );
}

function inProgress(): Refusal {
  return new Refusal(
    'REQUEST_IN_PROGRESS',
    'Idempotency-Key: the first request with this key is not answered yet; send it again shortly.',
    retryAfter(IN_PROGRESS_WAIT_MS),
  );
}

const HASH_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/**
 * Encrypts answers with a key that follows from the `Idempotency-Key`. An answer may have a new secret, and the database
 * has neither that nor the key.
 */
class Seal {
  readonly keyHash: string;
  readonly #secret: Buffer;

  constructor(tenantUuid: TenantUuid, key: string) {
    const derived = Buffer.from(hkdfSync('sha256', key, tenantUuid, HEADER, 2 * HASH_BYTES));
    this.keyHash = derived.subarray(0, HASH_BYTES).toString('base64url');
    this.#secret = derived.subarray(HASH_BYTES);
  }

  close(text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#secret, nonce);
    const closed = [cipher.update(text, 'utf8'), cipher.final()];
    return Buffer.concat([nonce, cipher.getAuthTag(), ...closed]).toString('base64');
  }

  open(sealed: string): string {
    const bytes = Buffer.from(sealed, 'base64');
    const decipher = createDecipheriv(CIPHER, this.#secret, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const opened = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
    return Buffer.concat(opened).toString('utf8');
  }
}
