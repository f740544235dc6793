// The two messages about a whole location, from its meter and from the grid operator: transport of each, with examples.
import type { z } from 'zod';
import { operatorMessageSchema } from './grid-operator.js';
import { siteReadingSchema } from './site-meter.js';
import type { SiteKind } from './topics.js';

/** One kind of message, sent to the service, which sends no answer. */
export interface SiteTraffic<S extends z.ZodType = z.ZodType> {
  readonly kind: SiteKind;
  readonly title: string;
  readonly summary: string;
  /** The permitted sender and its login. */
  readonly sender: string;
  readonly schema: S;
  readonly qos: 0 | 1;
  readonly retain: false;
  readonly examples: readonly {
    readonly name: string;
    readonly summary: string;
    readonly payload: z.input<S>;
  }[];
}

const siteMeter: SiteTraffic<typeof siteReadingSchema> = {
  kind: 'siteMeter',
  title: 'Reading of the meter of a location',
  summary:
    'Sent at least once in each cadenceS that is provisioned. A reading that is not newer than the last one, or off by more than a minute, is ignored.',
  sender:
    'User name {tenantUuid}/{meterUuid} with the password of the meter; the client id is the meterUuid.',
  schema: siteReadingSchema,
  qos: 0,
  retain: false,
  examples: [
    {
      name: 'phases',
      summary: 'The building and the chargers import 23.4 kW, unevenly.',
      payload: {
        v: 1,
        hb: 17,
        at: '2026-06-01T12:00:00Z',
        powerW: 23_400,
        currentA: [31.2, 28.4, 40.1],
        energyWh: 18_204_500,
      },
    },
    {
      name: 'fedBack',
      summary: '4.1 kW are fed back; all that a simple meter sends.',
      payload: { at: '2026-06-01T12:00:01Z', powerW: -4100 },
    },
  ],
};

const operator: SiteTraffic<typeof operatorMessageSchema> = {
  kind: 'operator',
  title: 'Order or heartbeat of the grid operator',
  summary:
    'Limits a location, frees it, or shows that the operator is there. An order that is not newer than the last one is ignored.',
  sender:
    'User name {tenantUuid}/{operatorUuid} with the password of the operator; the client id is the operatorUuid.',
  schema: operatorMessageSchema,
  qos: 1,
  retain: false,
  examples: [
    {
      name: 'limit',
      summary: '8.4 kW for an hour from sentAt on.',
      payload: {
        source: 'DSO control box 17',
        isActive: true,
        limitKw: 8.4,
        durationS: 3600,
        sentAt: '2026-06-01T12:00:00Z',
      },
    },
    {
      name: 'free',
      summary: 'The limit is taken back.',
      payload: { source: 'DSO control box 17', isActive: false, sentAt: '2026-06-01T12:30:00Z' },
    },
    {
      name: 'heartbeat',
      summary: 'The operator is there; no limit changes.',
      payload: { source: 'DSO control box 17', sentAt: '2026-06-01T12:31:00Z' },
    },
  ],
};

export const SITE_TRAFFIC: readonly SiteTraffic[] = [siteMeter, operator];
