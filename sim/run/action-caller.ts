// Makes the REST calls of a scenario, fills in values of earlier answers, and records unexpected answers.

import { parseKept } from '../scenario/action-schema.js';
import type { Action } from '../scenario/scenario.js';
import type { World } from '../world/world.js';
import type { Failure } from './expectation-judge.js';

export interface ActionCaller {
  /**
   * Resolves to false if the service could not take the call: the outcome is unknown, and the caller must repeat the
   * call.
   */
  make(action: Action): Promise<boolean>;
  /** Calls with another answer than the scenario expects. */
  readonly failures: readonly Failure[];
}

const API_ROOT = '/v1';
/** 0: no answer; 503: the service cannot write. */
const UNAVAILABLE: readonly number[] = [0, 503];
const GIVEN_UP_MS = 600_000;

export function createActionCaller(world: World): ActionCaller {
  const kept = new Map<string, unknown>();
  const failures: Failure[] = [];

  /** The field to which `$name.field` refers, or `value` itself. */
  function filledIn(value: string): string {
    const reference = parseKept(value);
    if (reference === undefined) return value;
    const answer = kept.get(reference.name);
    const field: unknown =
      typeof answer === 'object' && answer !== null ? Reflect.get(answer, reference.field) : '';
    return String(field);
  }

  function pathOf({ path, params, query }: Action): string {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(filledIn(params[name] ?? '')),
    );
    const search = new URLSearchParams(query).toString();
    const below = filled.startsWith(API_ROOT) ? filled.slice(API_ROOT.length) : filled;
    return search === '' ? below : `${below}?${search}`;
  }

  return {
    failures,
    async make(action) {
      const { method, operationId, body, tenantUuid, status, keepAs, where, nth } = action;
      const answer = await world.call(method, pathOf(action), body, tenantUuid, `call${nth}`);
      const isLate = world.nowMs() - action.atMs >= GIVEN_UP_MS;
      if (UNAVAILABLE.includes(answer.status) && answer.status !== status && !isLate) return false;
      world.noteAction(operationId, answer);
      if (keepAs !== undefined) kept.set(keepAs, answer.body);
      if (answer.status !== status) {
        const said =
          answer.status === 0 ? 'nothing: the service was down' : `${answer.status} ${errorOf(answer.body)}`;
        const message = `${operationId} was answered ${said}, expected ${status}`;
        failures.push({ where, atMs: world.nowMs(), message });
      }
      return true;
    },
  };
}

function errorOf(body: unknown): string {
  const error: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
  const message: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : undefined;
  return message === undefined ? '' : `(${String(message)})`;
}
