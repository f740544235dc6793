// Generates the types of `headroom/client` from the OpenAPI document of the service.
import { register } from 'node:module';
import { DESCRIBED } from '../../src/inbound/http/node-app.js';
import { createOpenApiDocument } from '../../src/wire/openapi.js';

export const TYPES_FILE = 'client/openapi.ts';

const HEAD = '// Generated from the OpenAPI document by `npm run client:types`. Changes by hand are lost.\n';

/** The generator needs the interface of the compiler, which TypeScript 7 no longer has. */
const WITH_TYPESCRIPT_5 = `export const resolve = (name, context, next) => {
  const isOfGenerator = context.parentURL?.includes('/openapi-typescript/');
  return next(isOfGenerator && name === 'typescript' ? 'typescript-5' : name, context);
};`;

register(`data:text/javascript,${encodeURIComponent(WITH_TYPESCRIPT_5)}`);
const { astToString, default: generate } = await import('openapi-typescript');

/**
 * Failures and headers are left out: the client has one error for all of them. So are alternatives of required fields, of
 * which the generator makes `unknown`. The version is no part of the types.
 */
export async function clientTypes(): Promise<string> {
  const document = createOpenApiDocument(DESCRIBED, '');
  const succeeding = JSON.parse(JSON.stringify(document), (key, value) =>
    isLeftOut(key, value) ? undefined : value,
  );
  return HEAD + astToString(await generate(succeeding));
}

function isLeftOut(key: string, value: unknown): boolean {
  if (key === 'headers') return typeof value === 'object' && value !== null && isOfAnswers(value);
  if (key === 'anyOf')
    return Array.isArray(value) && value.every((each) => Object.keys(each).join() === 'required');
  return /^[45]\d\d$|^operationId$/.test(key);
}

/** The headers of one answer, or of all. */
function isOfAnswers(headers: object): boolean {
  return 'x-request-id' in headers || 'RequestId' in headers;
}
