// A limit profile in a form: each field is text until the service accepts or refuses it.
import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { ApiError } from '../api/api-error.js';
import { fromLocalInput, toLocalInput } from './local-input.js';

export interface ProfileDraft {
  readonly priority: string;
  readonly limitKw: string;
  /** In the format of a datetime-local input. */
  readonly startTime: string;
  readonly endTime: string;
}

const MINUTE_MS = 60_000;

/** An hour from the next whole minute on. */
export function freshDraft(nowMs: EpochMs): ProfileDraft {
  const startsAtMs = Math.ceil(nowMs / MINUTE_MS) * MINUTE_MS;
  return {
    priority: '5',
    limitKw: '',
    startTime: toLocalInput(startsAtMs),
    endTime: toLocalInput(startsAtMs + 60 * MINUTE_MS),
  };
}

/**
 * The request body. An empty field is omitted. Text that is not a number is sent unchanged, so that the service
 * explains the error.
 */
export function requestOf({ priority, limitKw, startTime, endTime }: ProfileDraft): object {
  return {
    priority: Number(priority),
    ...limitOf(limitKw),
    ...timeOf('startTime', startTime),
    ...timeOf('endTime', endTime),
  };
}

/** The field of a request body that holds a limit. */
export function limitOf(text: string): { readonly limitKw?: number | string } {
  return text.trim() === '' ? {} : { limitKw: kwOf(text) ?? text };
}

function timeOf(field: string, text: string): object {
  const atMs = fromLocalInput(text);
  return atMs === undefined ? {} : { [field]: new Date(atMs).toISOString() };
}

/** The profile for a preview; undefined if it is incomplete or could never apply. */
export function profileOfDraft(draft: ProfileDraft, nowMs: EpochMs): LimitProfile | undefined {
  const limitKw = kwOf(draft.limitKw);
  const startsAtMs = fromLocalInput(draft.startTime);
  const endsAtMs = fromLocalInput(draft.endTime);
  if (limitKw === undefined || startsAtMs === undefined || endsAtMs === undefined) return undefined;
  if (limitKw <= 0 || endsAtMs <= startsAtMs || endsAtMs <= nowMs) return undefined;
  return { priority: Number(draft.priority), limitKw, startsAtMs, endsAtMs };
}

/**
 * With a decimal point or comma, because some phones offer only one of them. A comma that may separate thousands is
 * refused.
 */
const KW = /^-?(\d+\.?|\d*\.\d+|\d*,\d{1,2})$/;

/** kW; undefined if the text is not a number. */
export function kwOf(text: string): number | undefined {
  const typed = text.trim();
  return KW.test(typed) ? Number(typed.replace(',', '.')) : undefined;
}

/** Splits the service's messages by field: `limitKw: …; endTime: …`. Messages about other fields are omitted. */
export function messagesByField(
  error: ApiError | undefined,
  fields: readonly string[],
): ReadonlyMap<string, string> {
  if (error?.code !== 'INVALID_REQUEST_BODY') return new Map();
  return new Map(
    error.message.split('; ').flatMap((part) => {
      const field = fields.find((name) => part.startsWith(`${name}: `));
      return field === undefined ? [] : [[field, part.slice(field.length + 2)] as const];
    }),
  );
}
