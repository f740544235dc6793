// The fields of the provisioning file that belong to a feature, and the logins among them.
import type { z } from 'zod';
import type { LimitRules } from '../../machines/limits/limit-rules.js';
import type { DepartureRule, Departures } from '../../machines/policy/default-needs.js';
import { provisionedCredentials } from './credentials/provisioned.js';
import {
  provisionedDeparturesSchema,
  provisionedPolicySchema,
  provisionedTimeZoneSchema,
} from './departures/contract.js';
import { provisionedHomeAssistant } from './home-assistant/contract.js';
import { provisionedOperatorSchema } from './operator-limit/contract.js';
import { provisionedPeakShavingSchema } from './peak-shaving/contract.js';
import { provisionedSiteMeterSchema } from './site-meter/contract.js';

export const TENANT_FIELDS = provisionedCredentials;

/** Fields of a location with the rules of its further limits. */
const LIMIT_RULE_FIELDS = {
  peakShaving: provisionedPeakShavingSchema.optional(),
} satisfies Readonly<Record<keyof LimitRules, z.ZodType>>;

export const LOCATION_FIELDS = {
  operator: provisionedOperatorSchema.optional(),
  siteMeter: provisionedSiteMeterSchema.optional(),
  ...provisionedHomeAssistant,
  policy: provisionedPolicySchema,
  timeZone: provisionedTimeZoneSchema.optional(),
  departures: provisionedDeparturesSchema.optional(),
  ...LIMIT_RULE_FIELDS,
};

export const CONNECTOR_FIELDS = {
  departures: provisionedDeparturesSchema.optional(),
};

/** `departures` of a location or connector, which count in the zone of the location; null if left out. */
export function departuresIn(
  timeZone: string | undefined,
  rules: readonly DepartureRule[] | undefined,
): Departures | null {
  // Without a zone the file is refused by a check across fields.
  return timeZone === undefined || rules === undefined ? null : { timeZone, rules };
}

/** Joins the rules of a location's further limits. */
export function withLimitRules<L extends LimitRules>({ peakShaving, ...location }: L) {
  const limitRules: Required<LimitRules> = { peakShaving };
  return { ...location, limitRules };
}

/** Fields of a location that have an MQTT login, each with the field of its id. */
export const SITE_LOGIN_IDS = {
  operator: 'operatorUuid',
  siteMeter: 'meterUuid',
  reader: 'readerUuid',
} as const;
export type SiteLoginField = keyof typeof SITE_LOGIN_IDS;

interface SiteLogin {
  readonly field: SiteLoginField;
  readonly id: string;
  readonly mqttPassword: string | undefined;
}

type WithLogins = { readonly [Field in SiteLoginField]?: z.output<(typeof LOCATION_FIELDS)[Field]> };

/** The logins of a location, but for those of its chargers. */
export function siteLoginsOf({ operator, siteMeter, reader }: WithLogins): readonly SiteLogin[] {
  const logins: SiteLogin[] = [];
  if (operator !== undefined)
    logins.push({ field: 'operator', id: operator.operatorUuid, mqttPassword: operator.mqttPassword });
  if (siteMeter !== undefined)
    logins.push({ field: 'siteMeter', id: siteMeter.meterUuid, mqttPassword: siteMeter.mqttPassword });
  if (reader !== undefined)
    logins.push({ field: 'reader', id: reader.readerUuid, mqttPassword: reader.mqttPassword });
  return logins;
}
