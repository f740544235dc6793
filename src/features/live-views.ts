// The answer of `GET …/live`: the view of the location itself, and of each feature with a field in it.
import { viewOfAlarm } from './alarms/alarms.js';
import { viewOfDepartures } from './departures/plan.js';
import { liveEndpoint, viewOfDivision, viewOfLimit } from './live/live.js';
import { locationLiveSchema } from './live-contract.js';
import { viewOfOperatorLimit } from './operator-limit/operator-limit.js';
import { viewOfPeakShaving } from './peak-shaving/peak-shaving.js';
import { viewOfSiteMeter } from './site-meter/site-meter.js';

export const getLocationLive = liveEndpoint(locationLiveSchema, (location, instant) => ({
  ...viewOfLimit(location, instant),
  operatorLimit: viewOfOperatorLimit(location) ?? null,
  siteMeter: viewOfSiteMeter(location) ?? null,
  peakShaving: viewOfPeakShaving(location) ?? null,
  ...viewOfDivision(location, instant),
  departures: viewOfDepartures(location),
  alarms: [...location.alarms.values()].sort((a, b) => b.beganAtMs - a.beganAtMs).map(viewOfAlarm),
}));
