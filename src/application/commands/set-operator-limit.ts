// Extension: the grid operator limits a location, frees it, or sends a heartbeat.

import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { receiveOperator } from '../../enforcement/grid-operator.js';
import type { OperatorMessage } from '../../ports/telemetry.js';
import type { OperatorLimitView } from '../../wire/grid-operator.js';
import { toInstant } from '../../wire/instants.js';
import type { Core } from '../core.js';
import { requireOperator, viewOfOperatorLimit } from '../operator-limit-view.js';
import { findLocation } from '../targets.js';

/**
 * The limit holds before its answer leaves, even if it cannot be written: a limit must not wait for a disk. An inactive
 * location takes it too: no charger may draw there, and the operator is not to be refused.
 * @throws StoreUnavailableError if the limit holds but could not be written yet; the write follows
 */
export async function setOperatorLimit(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  message: OperatorMessage,
): Promise<OperatorLimitView> {
  const location = findLocation(core.directory, tenantUuid, locationText);
  const operator = requireOperator(location);
  const verdict = receiveOperator(core.directory, location, message, core.clock.nowMs());
  if (verdict === 'ahead')
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `sentAt: must not be in the future; it is ${toInstant(core.clock.nowMs())} here`,
    );
  if (verdict === 'outdated')
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      'sentAt: must be later than that of the last order, and a heartbeat must be recent',
    );
  await core.written(tenantUuid);
  return viewOfOperatorLimit(location, operator);
}
