// The messages over MQTT about a whole location: schema and receiver of each kind.
import type { z } from 'zod';
import type { Core } from '../actors/core.js';
import type { LocationEntity } from '../actors/directory.js';
import type { SiteKind } from '../wire/topics.js';
import { operatorMessageSchema } from './operator-limit/contract.js';
import { receiveOperator } from './operator-limit/operator-limit.js';
import { siteReadingSchema } from './site-meter/contract.js';
import { receiveSiteMeter } from './site-meter/site-meter.js';

interface SiteMessage<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  /** Undefined if the location takes no such message. */
  receive(
    core: Core,
    location: LocationEntity,
    message: z.output<Schema>,
  ): 'accepted' | 'outdated' | 'ahead' | undefined;
}

const operator: SiteMessage<typeof operatorMessageSchema> = {
  schema: operatorMessageSchema,
  receive: receiveOperator,
};
const siteMeter: SiteMessage<typeof siteReadingSchema> = {
  schema: siteReadingSchema,
  receive: receiveSiteMeter,
};

export const SITE_MESSAGES: Readonly<Record<SiteKind, SiteMessage>> = { operator, siteMeter };
