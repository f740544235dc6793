// The profile stack as bars on the time axis of the chart above: a lane for each priority, the highest on top.

import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { StackedProfile } from './stacked-profiles.js';
import type { Span } from './time-view.js';

/** Hidden from screen readers, because the table next to it carries the same information. */
export function ProfileLanes({
  profiles,
  span,
  markMs,
}: {
  readonly profiles: readonly StackedProfile[];
  readonly span: Span;
  readonly markMs: EpochMs;
}) {
  const { fromMs, toMs } = span;
  const percent = (atMs: EpochMs) => (100 * (atMs - fromMs)) / (toMs - fromMs);
  const mark = percent(markMs);
  return (
    <div class="profile-lanes" aria-hidden="true">
      {profiles.map(({ priority, limitKw, status, isDeciding, startsAtMs, endsAtMs }) => {
        const left = Math.max(0, percent(startsAtMs));
        const right = Math.min(100, percent(endsAtMs));
        return (
          <div key={priority} class="lane">
            <span class="priority">P{priority}</span>
            <span class="track">
              {right > left && (
                <span
                  class={`profile-bar ${status.toLowerCase()}${isDeciding ? ' deciding' : ''}`}
                  style={{ left: `${left}%`, width: `${right - left}%` }}
                  title={`Priority ${priority}: ${kwText(limitKw)}, ${status}`}
                >
                  <span>
                    {kwText(limitKw)} {isDeciding ? 'decides' : status.toLowerCase()}
                  </span>
                </span>
              )}
            </span>
          </div>
        );
      })}
      {mark >= 0 && mark <= 100 && (
        <div class="mark-track">
          <span class="mark" style={{ left: `${mark}%` }} />
        </div>
      )}
    </div>
  );
}
