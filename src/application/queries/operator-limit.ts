// Extension: the present state of the grid operator's limit of a location.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { OperatorLimitView } from '../../wire/grid-operator.js';
import type { Core } from '../core.js';
import { requireOperator, viewOfOperatorLimit } from '../operator-limit-view.js';
import { findLocation } from '../targets.js';

export function operatorLimit(core: Core, tenantUuid: TenantUuid, locationText: string): OperatorLimitView {
  const location = findLocation(core.directory, tenantUuid, locationText);
  return viewOfOperatorLimit(location, requireOperator(location));
}
