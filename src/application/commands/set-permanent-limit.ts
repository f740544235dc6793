// Endpoint 3: sets the limit that a location falls back to without an active profile.
import { spansOfPermanentLimit } from '../../../machines/limits/attainability.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { effectiveLimitKwOf } from '../../actors/entities.js';
import type { PermanentLimit } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { type Advise, adviseOn } from '../look-ahead.js';
import { findLocation, requireActiveLocation } from '../targets.js';

export async function setPermanentLimit(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  limitKw: number,
  advise: Advise,
): Promise<PermanentLimit> {
  const location = findLocation(core.directory, tenantUuid, locationText);
  requireActiveLocation(location);
  const { locationId } = location.record;
  const atMs = core.clock.nowMs();
  await core.store.append(tenantUuid, [{ kind: 'permanentLimit.set', locationId, limitKw, atMs }]);
  const now = core.clock.nowMs();
  location.record = { ...location.record, permanentLimitKw: limitKw };
  core.directory.sendToLocation(location, { type: 'permanentLimit.set', limitKw, now });
  const spans = spansOfPermanentLimit(location.actor.getSnapshot().context.stack, now);
  adviseOn(core, [{ location, spans }], advise);
  return { locationId, permanentLimitKw: limitKw, effectiveLimitKw: effectiveLimitKwOf(location) };
}
