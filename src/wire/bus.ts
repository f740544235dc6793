// What nodes and fronts say to each other over NATS: a topic of MQTT is a subject there, behind its direction and its shard.
import { z } from 'zod';
import type { TenantUuid } from '../../machines/values/ids.js';
import { type Shard, shardOf } from '../../machines/values/shards.js';

const UP = 'headroom.up';
const DOWN = 'headroom.down';
/** In a topic: `ems/v1/{tenantUuid}/…`. */
const TENANT_LEVEL = 2;

const LOGIN = 'headroom.login';
const WILL = 'headroom.will';

/** That a client has logged in: to other fronts, which end its older connection, and to nodes, which drop the will of that. */
export const loginSchema = z.object({
  /** The front. */
  front: z.string().min(1).max(64),
  /** Which of its logins, in their order. */
  login: z.number().int().min(1),
  username: z.string().min(1).max(1_000),
});
export type LoginMessage = z.output<typeof loginSchema>;

/** The last will of a login whose connection broke. */
export const willSchema = loginSchema.extend({ topic: z.string().min(1).max(1_000), payload: z.string() });
export type WillMessage = z.output<typeof willSchema>;

/** Where a front says that a client of the tenant has logged in. */
export function loginSubjectOf(tenantUuid: TenantUuid): string {
  return loginFilterOf(shardOf(tenantUuid));
}

/** All logins; of one shard where that is given. */
export function loginFilterOf(shard?: Shard): string {
  return `${LOGIN}.${shard ?? '*'}`;
}

export function willSubjectOf(tenantUuid: TenantUuid): string {
  return willFilterOf(shardOf(tenantUuid));
}

/** All last wills; of one shard where that is given. */
export function willFilterOf(shard?: Shard): string {
  return `${WILL}.${shard ?? '*'}`;
}

/** The subject of what a charger sent. `topic` is one of the contract: its levels hold no dot. */
export function upSubjectOf(topic: string): string {
  const tenantUuid = topic.split('/', TENANT_LEVEL + 1)[TENANT_LEVEL] as TenantUuid;
  return `${UP}.${shardOf(tenantUuid)}.${topic.replaceAll('/', '.')}`;
}

/** All that chargers send; of one shard where that is given. */
export function upFilterOf(shard?: Shard): string {
  return `${UP}.${shard ?? '*'}.>`;
}

/** The subject of what is sent to a charger. */
export function downSubjectOf(topic: string): string {
  return `${DOWN}.${topic.replaceAll('/', '.')}`;
}

/** All that is sent to a charger; `prefix` is what its topics begin with. */
export function downFilterOf(prefix: string): string {
  return `${downSubjectOf(prefix)}.>`;
}

/** What a subject of JSON said. @throws what says why it cannot be read */
export function parseBusMessage<T>(schema: z.ZodType<T>, payload: Buffer): T {
  return schema.parse(JSON.parse(payload.toString()));
}

/** The topic of either, without its direction and shard. */
export function topicOfSubject(subject: string): string {
  const levels = subject.split('.');
  return levels.slice(subject.startsWith(`${UP}.`) ? 3 : 2).join('/');
}
