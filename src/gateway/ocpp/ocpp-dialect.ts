// The interface of an OCPP version: a charger's dialect for its session, and the calls of the charger and of its CSMS.
import type { z } from 'zod';
import type { ChargerDialect } from '../charger-dialect.js';

/** The newest first: a charger that supports several gets the first of these. */
export const PROTOCOLS = ['ocpp2.1', 'ocpp2.0.1', 'ocpp1.6'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Calls a method of the charger. @throws ChargerRefusal; any other error leaves the outcome unknown. */
export type Call = (method: string, params: object) => Promise<unknown>;

/** A message of a charger violates OCPP; the text is for the log. */
export class UnusableMessage extends Error {}

/** The gateway does not support the method. */
export class UnknownMethod extends Error {}

/** An OCPP error of one side, forwarded to the other. */
export class ForwardedError extends Error {
  readonly code: string;
  readonly details: unknown;

  constructor(code: string, message: string, details: unknown) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Calls of a charger. */
export interface OcppEvents {
  /** Applies a call of the charger to its session. @throws UnusableMessage */
  received(method: string, params: unknown): void;
  /** The gateway's own answer. @throws UnusableMessage, UnknownMethod */
  answer(method: string, params: unknown): Promise<object>;
  /**
   * Applies a call together with its answer.
   * @returns the answer, to be sent right after that. @throws UnusableMessage, ForwardedError
   */
  answered(method: string, params: unknown, answer: object): Promise<object>;
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

/** A charger with OCPP on one connection. */
export interface OcppDialect {
  readonly requests: ChargerDialect;
  readonly events: OcppEvents;
  /** Judges the calls of a CSMS. */
  readonly guard: Guard;
}

/** The answer to a call of a charger without a CSMS. @throws UnusableMessage, UnknownMethod */
export async function answerCall(events: OcppEvents, method: string, params: unknown): Promise<object> {
  events.received(method, params);
  const answer = await events.answer(method, params);
  return events.answered(method, params, answer);
}

/** Parses a message by `schema`. @throws UnusableMessage */
export function read<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const { data, error } = schema.safeParse(params);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new UnusableMessage(`${issue?.path.join('.')}: ${issue?.message}`);
}
