// Preview of a change to a location's own limits: the resulting limit in force, with clusters and connection.

import { useEffect, useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationTimeline } from '../../src/features/locations/contract.js';
import type { ApiError } from '../api/api-error.js';
import { path } from '../api/client.js';
import { useResource } from '../api/resource.js';
import { ErrorNotice } from '../ui/notice.js';
import {
  type LimitChange,
  type LimitState,
  type Preview,
  previewOfTimelines,
  previewWindow,
} from './preview.js';
import { PreviewView } from './preview-view.js';

// Limit in force of a location with a change. The service computes it, because it has all members of the clusters.

/** Waits for a pause in the typing, because a number has more than one digit. */
const TYPED_WITHIN_MS = 250;
/** Longest span of a timeline, less a day's margin. */
const LONGEST_MS = 365 * 86_400_000;
/** The timelines are requested again after the current time has moved by this much. */
const NOW_STEP_MS = 10_000;

interface LocationPreviewState {
  /** Of the given change; undefined until it is read. */
  readonly preview: Preview | undefined;
  readonly error: ApiError | undefined;
}

function useLocationPreview(
  locationId: string,
  state: LimitState,
  change: LimitChange | undefined,
  nowMs: EpochMs,
): LocationPreviewState {
  const asked = change === undefined ? undefined : queryOf(change);
  const query = useDebounced(asked);
  const fromMs = Math.floor(nowMs / NOW_STEP_MS) * NOW_STEP_MS;
  const endsAtMs = change === undefined ? fromMs : previewWindow(state, change, fromMs).endsAtMs;
  const toMs = Math.min(endsAtMs, fromMs + LONGEST_MS);
  const { value, error } = useResource(
    async (client, signal) => {
      if (query === undefined || toMs <= fromMs) return undefined;
      const [from, to] = [fromMs, toMs].map((atMs) => new Date(atMs).toISOString());
      const address = path`/locations/${locationId}/timeline?from=${from ?? ''}&to=${to ?? ''}`;
      const [before, after] = await Promise.all([
        client.get<LocationTimeline>(address, signal),
        client.get<LocationTimeline>(`${address}&${query}`, signal),
      ]);
      return { query, preview: previewOfTimelines(before, after) };
    },
    [locationId, query, fromMs, toMs],
  );
  return { preview: value?.query === asked ? value?.preview : undefined, error };
}

function queryOf(change: LimitChange): string {
  if (change.kind === 'permanentLimit') return path`withPermanentLimitKw=${String(change.limitKw)}`;
  if (change.kind === 'cancellation') return path`withoutPriority=${String(change.priority)}`;
  const { priority, limitKw, startsAtMs, endsAtMs } = change.profile;
  const [start, end] = [startsAtMs, endsAtMs].map((atMs) => new Date(atMs).toISOString());
  const window = path`withStartTime=${start ?? ''}&withEndTime=${end ?? ''}`;
  return `${window}&${path`withLimitKw=${String(limitKw)}&withPriority=${String(priority)}`}`;
}

/** The newest value after it has not changed for a moment. */
function useDebounced(value: string | undefined): string | undefined {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setDebounced(value), TYPED_WITHIN_MS);
    return () => window.clearTimeout(timer);
  }, [value]);
  return debounced;
}

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
        Limits in force: cluster shares, the grid operator, peak shaving, the building and the connection
        count with their present values.
      </p>
    </div>
  );
}
