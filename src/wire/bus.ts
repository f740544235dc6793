// Messages between nodes and fronts over NATS. An MQTT topic becomes a subject, behind its direction and its shard.
import { z } from 'zod';
import type { TenantUuid } from '../../machines/values/ids.js';
import { type Shard, shardOf } from '../../machines/values/shards.js';

const UP = 'headroom.up';
const DOWN = 'headroom.down';
/** In a topic: `ems/v1/{tenantUuid}/…`. */
const TENANT_LEVEL = 2;

const LOGIN = 'headroom.login';
const WILL = 'headroom.will';

/**
 * Announces a login: other fronts end the client's older connection, and nodes drop the last will of that connection.
 */
export const loginSchema = z.object({
  /** Id of the front. */
  front: z.string().min(1).max(64),
  /** Number of the login at this front, in order. */
  login: z.number().int().min(1),
  username: z.string().min(1).max(1_000),
  /** Of a reader: the begin of the states that it has not received yet. */
  reads: z.string().min(1).max(1_000).optional(),
});
export type LoginMessage = z.output<typeof loginSchema>;

/** The last will of a login whose connection broke. */
export const willSchema = loginSchema.extend({ topic: z.string().min(1).max(1_000), payload: z.string() });
export type WillMessage = z.output<typeof willSchema>;

/** Subject of a login announcement for a client of the tenant. */
export function loginSubjectOf(tenantUuid: TenantUuid): string {
  return loginFilterOf(shardOf(tenantUuid));
}

/** All logins, or those of one shard. */
export function loginFilterOf(shard?: Shard): string {
  return `${LOGIN}.${shard ?? '*'}`;
}

export function willSubjectOf(tenantUuid: TenantUuid): string {
  return willFilterOf(shardOf(tenantUuid));
}

/** All last wills, or those of one shard. */
export function willFilterOf(shard?: Shard): string {
  return `${WILL}.${shard ?? '*'}`;
}

/** Subject of a charger's message. `topic` is one of the contract: its levels hold no dot. */
export function upSubjectOf(topic: string): string {
  const tenantUuid = topic.split('/', TENANT_LEVEL + 1)[TENANT_LEVEL] as TenantUuid;
  return `${UP}.${shardOf(tenantUuid)}.${topic.replaceAll('/', '.')}`;
}

/** All messages of chargers, or those of one shard. */
export function upFilterOf(shard?: Shard): string {
  return `${UP}.${shard ?? '*'}.>`;
}

/** Subject of a message to a charger. */
export function downSubjectOf(topic: string): string {
  return `${DOWN}.${topic.replaceAll('/', '.')}`;
}

/** All messages to a charger; `prefix` is the begin of its topics. */
export function downFilterOf(prefix: string): string {
  return `${downSubjectOf(prefix)}.>`;
}

/** The content of a JSON message. @throws an error with the reason if it cannot be read */
export function parseBusMessage<T>(schema: z.ZodType<T>, payload: Buffer): T {
  return schema.parse(JSON.parse(payload.toString()));
}

/** The topic of a subject, without its direction and shard. */
export function topicOfSubject(subject: string): string {
  const levels = subject.split('.');
  return levels.slice(subject.startsWith(`${UP}.`) ? 3 : 2).join('/');
}
