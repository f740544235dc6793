// One schedule for all members of a cluster: each takes it or fails by itself, and both are shown.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ClusterSchedule } from '../../src/wire/cluster-schedule.js';
import { path } from '../api/client.js';
import { freshDraft, messagesByField, type ProfileDraft, requestOf } from '../location/profile-draft.js';
import { PROFILE_FIELDS, ProfileFields } from '../location/profile-fields.js';
import type { ServerClock } from '../location/server-clock.js';
import { useSubmission } from '../location/use-submission.js';
import type { LocationNames } from '../locations/use-location-names.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/notice.js';
import { ScheduleOutcome } from './schedule-outcome.js';

export function ClusterScheduleForm({
  clusterId,
  clock,
  names,
  onWritten,
}: {
  readonly clusterId: string;
  readonly clock: ServerClock;
  readonly names: LocationNames;
  readonly onWritten: () => void;
}) {
  const [draft, setDraft] = useState<ProfileDraft>(() => freshDraft(clock.nowMs()));
  const { isBusy, error, written, send } = useSubmission<ClusterSchedule>(({ body, warnings }) => {
    const { applied, errors, totalLocations } = body;
    const isWhole = errors.length === 0 && warnings.length === 0;
    announce(`${applied.length} of ${totalLocations} members took it.`, isWhole ? 'good' : 'warning');
    onWritten();
  });
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector('select')?.focus(), []);
  const messages = messagesByField(error, PROFILE_FIELDS);
  if (written !== undefined) return <ScheduleOutcome written={written} names={names} />;
  return (
    <form
      ref={form}
      class="stack schedule-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send((client) => client.post(path`/clusters/${clusterId}/schedules`, requestOf(draft)));
      }}
    >
      <p class="quiet">
        Each member takes it as a profile of its own: the limit is for each, not for all together.
      </p>
      <ProfileFields
        draft={draft}
        messages={messages}
        onChange={(part) => setDraft((before) => ({ ...before, ...part }))}
      />
      {error !== undefined && messages.size === 0 && <ErrorNotice error={error} />}
      <div class="row">
        <Button kind="primary" type="submit" isBusy={isBusy}>
          Set the schedule for all members
        </Button>
      </div>
    </form>
  );
}
