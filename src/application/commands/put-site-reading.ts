// Extension: a back end sends a reading of a location's meter.

import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { receiveSiteMeter } from '../../enforcement/site-meter.js';
import type { SiteMeterMessage } from '../../ports/telemetry.js';
import { toInstant } from '../../wire/instants.js';
import type { SiteMeterView } from '../../wire/site-meter.js';
import type { Core } from '../core.js';
import { requireSiteMeter } from '../site-meter-view.js';
import { findLocation } from '../targets.js';

/** The reading counts before its answer leaves, and is not persisted: after a restart the next reading counts. */
export async function putSiteReading(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  message: SiteMeterMessage,
): Promise<SiteMeterView> {
  const location = findLocation(core.directory, tenantUuid, locationText);
  requireSiteMeter(location);
  core.expireReadings(location);
  const instant = { now: core.clock.nowMs(), nowMs: core.clock.monotonicMs() };
  const verdict = receiveSiteMeter(core.directory, location, message, instant);
  if (verdict === 'ahead')
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `at: must not be in the future; it is ${toInstant(instant.now)} here`,
    );
  if (verdict === 'outdated')
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `at: must be later than that of the last reading, and within a minute of ${toInstant(instant.now)}`,
    );
  return requireSiteMeter(location);
}
