// What every version of OCPP has to offer a gateway: its requests put into messages, and messages understood.
import type { z } from 'zod';
import type { GatewayAnswer, GatewayRequest } from '../../machines/session/gateway-request.js';

/** Calls a method of the charger. @throws CallRefused; any other error says that nothing is known. */
export type Call = (method: string, params: object) => Promise<unknown>;

/** The charger answered that it does not know or do what it was asked. */
export class CallRefused extends Error {}

/** What a charger says is not as it should be; its message is for the log. */
export class UnusableMessage extends Error {}

/** A method that the gateway does not know. */
export class UnknownMethod extends Error {}

/** One charger's side of a version of OCPP. */
export interface Dialect {
  /** Asks the charger; what goes wrong is an answer too. */
  perform(request: GatewayRequest, call: Call): Promise<GatewayAnswer>;
  /** Takes in what a call of the charger says by itself. @throws UnusableMessage */
  heard(method: string, params: unknown): void;
  /** The answer where nobody else gives one. @throws UnusableMessage, UnknownMethod */
  answer(method: string, params: unknown): Promise<object>;
  /**
   * Takes in what a call says together with its answer.
   * @returns the answer as it leaves, right after that. @throws UnusableMessage, ForwardedError
   */
  answered(method: string, params: unknown, answer: object): Promise<object>;
  /** What a management system may do to the charger. */
  readonly guard: Guard;
}

/** What a charger's call is answered where no management system answers it. @throws UnusableMessage, UnknownMethod */
export async function answerCall(
  dialect: Pick<Dialect, 'heard' | 'answer' | 'answered'>,
  method: string,
  params: unknown,
): Promise<object> {
  dialect.heard(method, params);
  const answer = await dialect.answer(method, params);
  return dialect.answered(method, params, answer);
}

/** What becomes of a call of a management system: it is answered here, or goes to the charger, changed or not. */
export type Guarded =
  | { readonly kind: 'answered'; readonly answer: object }
  | {
      readonly kind: 'forward';
      readonly params: unknown;
      /** What the management system is told where the charger answers that; the same where it is not given. */
      readonly answerOf?: (answer: unknown) => unknown;
      /** It answered with an error, or not at all. */
      readonly failed?: () => void;
    };

/** Keeps the charging profiles of a management system below what is granted, and what leases need as it is. */
export interface Guard {
  /** @throws UnusableMessage */
  judge(method: string, params: unknown): Guarded;
  /** The call must not wait until the management system is back: the charger says it again. */
  mustReachCsms(method: string, params: unknown): boolean;
  /** What a management system that was away should be told once it is back, by what it is about; undefined: nothing. */
  topicOf(method: string, params: unknown): string | undefined;
}

/** `data` of a message that is as `schema` says. @throws UnusableMessage */
export function read<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const { data, error } = schema.safeParse(params);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new UnusableMessage(`${issue?.path.join('.')}: ${issue?.message}`);
}
