// Form for one schedule for all members of a cluster. Each member accepts or refuses it on its own, and both are shown.
import { useState } from 'preact/hooks';
import type { ClusterSchedule } from '../../src/wire/cluster-schedule.js';
import { path } from '../api/client.js';
import { freshDraft, messagesByField, type ProfileDraft, requestOf } from '../location/profile-draft.js';
import { PROFILE_FIELDS, ProfileFields } from '../location/profile-fields.js';
import type { ServerClock } from '../location/server-clock.js';
import { SubmissionForm } from '../location/submission-form.js';
import { useSubmission } from '../location/use-submission.js';
import type { LocationNames } from '../locations/use-location-names.js';
import { announce } from '../ui/announce.js';
import { ScheduleOutcome } from './schedule-outcome.js';

export function ClusterScheduleForm({
  clusterId,
  clock,
  names,
  onWritten,
  onDone,
}: {
  readonly clusterId: string;
  readonly clock: ServerClock;
  readonly names: LocationNames;
  readonly onWritten: () => void;
  /** Called after the user has read the outcome. */
  readonly onDone: () => void;
}) {
  const [draft, setDraft] = useState<ProfileDraft>(() => freshDraft(clock.nowMs()));
  const submission = useSubmission<ClusterSchedule>(({ body, warnings }) => {
    const { applied, errors, totalLocations } = body;
    const isWhole = errors.length === 0 && warnings.length === 0;
    announce(`${applied.length} of ${totalLocations} members took it.`, isWhole ? 'good' : 'warning');
    onWritten();
  });
  const { error, written } = submission;
  const messages = messagesByField(error, PROFILE_FIELDS);
  if (written !== undefined) return <ScheduleOutcome written={written} names={names} onDone={onDone} />;
  return (
    <SubmissionForm
      submission={submission}
      write={(client) => client.post(path`/clusters/${clusterId}/schedules`, requestOf(draft))}
      isToldAtFields={messages.size > 0}
      focusOn="select"
      submitText="Set the schedule for all members"
      onDone={onDone}
    >
      <p class="quiet">
        Each member takes it as a profile of its own: the limit is for each, not for all together.
      </p>
      <ProfileFields
        draft={draft}
        messages={messages}
        onChange={(part) => setDraft((before) => ({ ...before, ...part }))}
      />
    </SubmissionForm>
  );
}
