// Decides which id tags may charge. Headroom manages none: it accepts all, those of a list, or asks a web service.
import { readFileSync } from 'node:fs';
import type { Log } from '../../ports/log.js';

/** In the words of OCPP 1.6. */
export type IdTagStatus = 'Accepted' | 'Blocked' | 'Expired' | 'Invalid' | 'ConcurrentTx';
export type AskIdTag = (idTag: string) => Promise<IdTagStatus>;

const STATUSES: readonly string[] = ['Accepted', 'Blocked', 'Expired', 'Invalid', 'ConcurrentTx'];
const ANSWER_WITHIN_MS = 5_000;

/** Everybody, a list, or the address of a webhook. */
export type IdTagRule =
  | { readonly kind: 'all' }
  | { readonly kind: 'list'; readonly idTags: { has(idTag: string): boolean } }
  | { readonly kind: 'webhook'; readonly url: string };

/** Id tags of a file, one per line. OCPP ignores their case. */
export class IdTagFile {
  readonly #path: string;
  #idTags: ReadonlySet<string>;

  /** @throws Error if the file cannot be read */
  constructor(path: string) {
    this.#path = path;
    this.#idTags = this.#read();
  }

  has(idTag: string): boolean {
    return this.#idTags.has(idTag.toLowerCase());
  }

  /** Reads the file again. @throws Error if it cannot be read; the earlier tags stay in force */
  refresh(): void {
    this.#idTags = this.#read();
  }

  #read(): ReadonlySet<string> {
    const lines = readFileSync(this.#path, 'utf8').split('\n');
    return new Set(lines.map((line) => line.trim().toLowerCase()).filter((line) => line !== ''));
  }
}

/**
 * Checks id tags of `controllerUuid`. A webhook receives `{ tenantUuid, controllerUuid, idTag }` and answers `{ status
 * }`. Without such an answer the tag is `Invalid`, and a warning is logged.
 */
export function idTagsOf(
  rule: IdTagRule,
  charger: { readonly tenantUuid: string; readonly controllerUuid: string },
  log: Log,
): AskIdTag {
  if (rule.kind === 'all') return async () => 'Accepted';
  if (rule.kind === 'list') return async (idTag) => (rule.idTags.has(idTag) ? 'Accepted' : 'Invalid');
  const { tenantUuid, controllerUuid } = charger;
  return async (idTag) => {
    try {
      return await askWebhook(rule.url, { tenantUuid, controllerUuid, idTag });
    } catch (error) {
      log.warn(
        { controllerUuid, err: error },
        'the id tag webhook did not answer: the tag counts as invalid',
      );
      return 'Invalid';
    }
  };
}

async function askWebhook(url: string, body: object): Promise<IdTagStatus> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  const answer: unknown = await response.json();
  const status = typeof answer === 'object' && answer !== null && 'status' in answer ? answer.status : '';
  if (!response.ok || !isStatus(status)) throw new Error(`answered ${response.status} without a status`);
  return status;
}

function isStatus(value: unknown): value is IdTagStatus {
  return typeof value === 'string' && STATUSES.includes(value);
}
