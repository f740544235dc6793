// Extension: a location's meter, and the capacity that the building leaves for the chargers by its readings.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { SiteMeterView } from '../../wire/site-meter.js';
import type { Core } from '../core.js';
import { requireSiteMeter } from '../site-meter-view.js';
import { findLocation } from '../targets.js';

export function siteMeter(core: Core, tenantUuid: TenantUuid, locationText: string): SiteMeterView {
  return requireSiteMeter(findLocation(core.directory, tenantUuid, locationText));
}
