// The interface of an OCPP version: it turns the gateway's requests into messages, and reads messages of a charger.
import type { z } from 'zod';
import type { GatewayAnswer, GatewayRequest } from '../../machines/session/gateway-request.js';

/** Calls a method of the charger. @throws CallRefused; any other error leaves the outcome unknown. */
export type Call = (method: string, params: object) => Promise<unknown>;

/** The charger answered that it does not support the call. */
export class CallRefused extends Error {}

/** A message of a charger violates OCPP; the text is for the log. */
export class UnusableMessage extends Error {}

/** The gateway does not support the method. */
export class UnknownMethod extends Error {}

export interface Dialect {
  /** Asks the charger; a failure is an answer too. */
  perform(request: GatewayRequest, call: Call): Promise<GatewayAnswer>;
  /** Applies a call of the charger to its session. @throws UnusableMessage */
  received(method: string, params: unknown): void;
  /** The gateway's own answer. @throws UnusableMessage, UnknownMethod */
  answer(method: string, params: unknown): Promise<object>;
  /**
   * Applies a call together with its answer.
   * @returns the answer, to be sent right after that. @throws UnusableMessage, ForwardedError
   */
  answered(method: string, params: unknown, answer: object): Promise<object>;
  /** Judges the calls of a CSMS. */
  readonly guard: Guard;
}

/** The answer to a call of a charger without a CSMS. @throws UnusableMessage, UnknownMethod */
export async function answerCall(
  dialect: Pick<Dialect, 'received' | 'answer' | 'answered'>,
  method: string,
  params: unknown,
): Promise<object> {
  dialect.received(method, params);
  const answer = await dialect.answer(method, params);
  return dialect.answered(method, params, answer);
}

/** The result for a call of a CSMS: the gateway answers it, or forwards it to the charger, changed or not. */
export type Guarded =
  | { readonly kind: 'answered'; readonly answer: object }
  | {
      readonly kind: 'forward';
      readonly params: unknown;
      /** Turns the charger's answer into the answer for the CSMS; without it they are the same. */
      readonly answerOf?: (answer: unknown) => unknown;
      /** The charger answered with an error, or not at all. */
      readonly failed?: () => void;
    };

/** Keeps CSMS profiles from raising limits above grants, and keeps the settings that leases need. */
export interface Guard {
  /** @throws UnusableMessage */
  judge(method: string, params: unknown): Guarded;
  /** True: the gateway must not answer the call in place of the CSMS; the charger repeats it later. */
  mustReachCsms(method: string, params: unknown): boolean;
  /**
   * Topic under which a missed call is kept for an absent CSMS, the newest of each; undefined: the call is not kept.
   */
  topicOf(method: string, params: unknown): string | undefined;
}

/** Parses a message by `schema`. @throws UnusableMessage */
export function read<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const { data, error } = schema.safeParse(params);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new UnusableMessage(`${issue?.path.join('.')}: ${issue?.message}`);
}
