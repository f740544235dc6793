// Confirms a waiting reading of a location's meter by its chargers' reports, and derives the alarms of the meter.
import type { SiteMeterReport } from '../../machines/limits/site-meter.machine.js';
import type { Instant } from '../../machines/power/budget.js';
import { chargersNowOf } from '../../machines/power/chargers-draw.js';
import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Directory } from '../actors/directory.js';
import { buildingLoadOf, type LocationEntity, supervisorOf } from '../actors/directory.js';

/** A meter without any reading is missed after this. */
const MISSED_AFTER_MS = 60_000;

/** Passes the chargers' reports since the last reading to the location, if a reading still waits for them. */
export function confirmSiteReading(directory: Directory, location: LocationEntity, instant: Instant): void {
  if (buildingLoadOf(location)?.isUnconfirmed !== true) return;
  const chargers = chargersNowOf(supervisorOf(location), instant);
  directory.sendToLocation(location, {
    type: 'siteMeter.event',
    event: { type: 'chargers.reported', chargers, now: instant.now },
  });
}

/** Reason of each alarm of the meter; undefined without one. A meter that has sent no reading yet gets some time. */
export function siteMeterAlarmsOf(location: LocationEntity, now: EpochMs) {
  const { building } = location.actor.getSnapshot().context;
  const load = buildingLoadOf(location);
  const isMissed =
    load !== undefined && (load.receivedAtMs !== undefined || now - load.awaitedSinceMs >= MISSED_AFTER_MS);
  return {
    SITE_METER_STALE: building?.state === 'stale' && isMissed ? silentText(building) : undefined,
    SITE_METER_IMPLAUSIBLE: building && doubtText(building),
  };
}

function silentText({ buildingW }: SiteMeterReport): string {
  return `The site meter is silent: the building counts as ${kwText(buildingW / 1000)}, its maximum`;
}

function doubtText({ doubt, buildingW }: SiteMeterReport): string | undefined {
  const counted = `the building counts as ${kwText(buildingW / 1000)}, its maximum`;
  switch (doubt) {
    case 'signSwapped':
      return `The site meter shows an export while chargers draw, as if its sign were swapped: ${counted}. A site that feeds back needs pvRaisesHeadroom: true`;
    case 'tooLow':
      return `The site meter shows less than the chargers behind it draw: ${counted}. Check its scale and its sign; a site that feeds back needs pvRaisesHeadroom: true`;
    case 'stuck':
      return `The site meter shows a constant power while the chargers draw more or less: ${counted}`;
    case 'jumped':
      return `The site meter rose or fell by more than building and chargers together can: ${counted}`;
    case undefined:
      return undefined;
  }
}
