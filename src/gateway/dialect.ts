// What every version of OCPP has to offer a gateway: its requests put into messages, and messages understood.
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
  /** The answer to a call of the charger. @throws UnusableMessage, UnknownMethod */
  receive(method: string, params: unknown): Promise<object>;
}

/** What came of `work`, with what is thrown there as an answer. */
export async function answerOf(work: () => Promise<GatewayAnswer>): Promise<GatewayAnswer> {
  try {
    return await work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: error instanceof CallRefused ? 'refused' : 'failed', why };
  }
}
