// Preview of a change to a location's own limits: the resulting limit in force, with clusters and connection.
import type { EpochMs } from '../../machines/values/time.js';
import { ErrorNotice } from '../ui/notice.js';
import type { LimitChange, LimitState } from './preview.js';
import { PreviewView } from './preview-view.js';
import { useLocationPreview } from './use-location-preview.js';

export function LocationPreview({
  locationId,
  state,
  change,
  nowMs,
}: {
  readonly locationId: string;
  readonly state: LimitState;
  /** Undefined as long as the fields are not a valid change. */
  readonly change: LimitChange | undefined;
  readonly nowMs: EpochMs;
}) {
  const { preview, error } = useLocationPreview(locationId, state, change, nowMs);
  if (change !== undefined && error !== undefined) return <ErrorNotice error={error} />;
  return (
    <div>
      <PreviewView
        preview={preview}
        unlimited="no limit"
        isLoading={change !== undefined && preview === undefined}
      />
      <p class="quiet small">
        Limits in force: cluster shares, the grid operator, peak shaving, the building and the connection are
        counted as they are known now.
      </p>
    </div>
  );
}
