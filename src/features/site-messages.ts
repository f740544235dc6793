// The messages over MQTT about a whole location: description, schema and receiver of each kind.
import type { z } from 'zod';
import type { Core } from '../actors/core.js';
import type { LocationEntity } from '../actors/directory.js';
import type { ReaderTraffic, SiteTraffic } from '../wire/asyncapi.js';
import type { SiteKind } from '../wire/topics.js';
import { READER_TRAFFIC } from './home-assistant/contract.js';
import { operatorTraffic } from './operator-limit/contract.js';
import { receiveOperator } from './operator-limit/operator-limit.js';
import { siteReadingTraffic } from './site-meter/contract.js';
import { receiveSiteMeter } from './site-meter/site-meter.js';

interface SiteMessage<Schema extends z.ZodType = z.ZodType> extends SiteTraffic<Schema> {
  /** Undefined if the location takes no such message. */
  receive(
    core: Core,
    location: LocationEntity,
    message: z.output<Schema>,
  ): 'accepted' | 'outdated' | 'ahead' | undefined;
}

const siteMeter: SiteMessage<(typeof siteReadingTraffic)['schema']> = {
  ...siteReadingTraffic,
  receive: receiveSiteMeter,
};
const operator: SiteMessage<(typeof operatorTraffic)['schema']> = {
  ...operatorTraffic,
  receive: receiveOperator,
};

export const SITE_MESSAGES: Readonly<Record<SiteKind, SiteMessage>> = { siteMeter, operator };

/** For the AsyncAPI document: those, and the messages to readers. */
export const LOCATION_TRAFFIC: readonly (SiteTraffic | ReaderTraffic)[] = [
  ...Object.values(SITE_MESSAGES),
  ...READER_TRAFFIC,
];
