// Extension: what a location's meter says, and what the building leaves for the chargers by it.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { SiteMeterView } from '../../wire/site-meter.js';
import type { Core } from '../core.js';
import { requireSiteMeter } from '../site-meter-view.js';
import { findLocation } from '../targets.js';

export function siteMeter(core: Core, tenantUuid: TenantUuid, locationText: string): SiteMeterView {
  return requireSiteMeter(findLocation(core.directory, tenantUuid, locationText));
}
