// Reads an AsyncAPI document as the tools of a charger maker do: the channel of a topic and the schema of its payloads.
import { z } from 'zod';

const refSchema = z.object({ $ref: z.string() });
const jsonSchemaSchema = z.looseObject({
  properties: z.record(z.string(), z.looseObject({ description: z.string().optional() })),
  additionalProperties: z.unknown().optional(),
});

export const asyncApiSchema = z.object({
  channels: z.record(
    z.string(),
    z.object({ address: z.string(), parameters: z.record(z.string(), refSchema) }),
  ),
  operations: z.record(
    z.string(),
    z.object({
      action: z.enum(['send', 'receive']),
      channel: refSchema,
      bindings: z.object({ mqtt: z.object({ qos: z.number(), retain: z.boolean() }) }),
      reply: z.object({ channel: refSchema }).optional(),
    }),
  ),
  components: z.object({
    messages: z.record(z.string(), z.object({ examples: z.array(z.unknown()) })),
    schemas: z.record(z.string(), jsonSchemaSchema),
    parameters: z.record(z.string(), z.unknown()),
  }),
});
export type AsyncApi = z.output<typeof asyncApiSchema>;

/** The channel whose address, with its parameters filled in, is `topic`. */
export function channelAt({ channels, components }: AsyncApi, topic: string): string | undefined {
  const found = Object.entries(channels).filter(([, { address, parameters }]) => {
    const pattern = address.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, (_, name: string) => {
      if (!(name in parameters) || !(name in components.parameters)) throw new Error(`no parameter ${name}`);
      return '[A-Za-z0-9_%-]+';
    });
    return new RegExp(`^${pattern}$`).test(topic);
  });
  if (found.length > 1) throw new Error(`${topic} is several channels`);
  return found[0]?.[0];
}

/** A check of the payloads of each channel, built from the schemas in the document. */
export function validatorsOf({ components }: AsyncApi): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(
    Object.entries(components.schemas).map(([name, schema]) => {
      const dialect = { $schema: 'http://json-schema.org/draft-07/schema#' };
      return [name, z.fromJSONSchema(JSON.parse(JSON.stringify({ ...dialect, ...schema })))];
    }),
  );
}

export function unnamedFields(
  { components }: AsyncApi,
  channel: string,
  payload: unknown,
): readonly string[] {
  const named = components.schemas[channel]?.properties ?? {};
  return Object.keys(z.record(z.string(), z.unknown()).parse(payload)).filter((field) => !(field in named));
}

export function deliveryOf({ operations }: AsyncApi, channel: string): { qos: number; retain: boolean } {
  const found = Object.values(operations).find(({ channel: { $ref } }) => $ref === `#/channels/${channel}`);
  if (found === undefined) throw new Error(`no operation on ${channel}`);
  return found.bindings.mqtt;
}
