// Adapts the schemas of OCPP 2.1 to `ocpp-rpc`. The library ships them under other names
// than it looks up, and would refuse every message.
import { createRequire } from 'node:module';
import { createValidator } from 'ocpp-rpc';

interface Definition {
  readonly type?: string;
}
interface Schema {
  readonly $id: string;
  readonly definitions?: Readonly<Record<string, Definition>>;
}

const schemas = createRequire(import.meta.url)('ocpp-rpc/lib/schemas/ocpp2_1.json') as readonly Schema[];

/** `additionalProperties` has no meaning on other types than objects, and the validator complains about each. */
function meant(definition: Definition): Definition {
  if (definition.type === 'object') return definition;
  return Object.fromEntries(Object.entries(definition).filter(([name]) => name !== 'additionalProperties'));
}

function usable({ $id, definitions = {}, ...schema }: Schema): Schema {
  return {
    ...schema,
    $id: $id.replace(/Request$/, '.req').replace(/Response$/, '.conf'),
    definitions: Object.fromEntries(Object.entries(definitions).map(([name, each]) => [name, meant(each)])),
  };
}

export const STRICT_VALIDATORS = [createValidator('ocpp2.1', schemas.map(usable))];
