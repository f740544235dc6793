// Page of the organization's profiles. It first states that they are recorded and not enforced.
import '../location/location.css';
import { useState } from 'preact/hooks';
import type { OrganizationLimits } from '../../src/features/profiles/contract.js';
import { useResource } from '../api/resource.js';
import { CancellableProfiles } from '../location/cancellable-profiles.js';
import { FormerProfiles } from '../location/former-profiles.js';
import { type LimitChange, type LimitState, stackOf } from '../location/preview.js';
import { OwnPreview } from '../location/preview-view.js';
import { ScheduleForm } from '../location/schedule-form.js';
import { type ServerClock, useEvery, useEverySecond, useStreamClock } from '../location/server-clock.js';
import { stackedAt } from '../location/stacked-profiles.js';
import { useTitle } from '../shell/title.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice, Notice } from '../ui/notice.js';

/** The stream has no events about changes by others. */
const EVERY_MS = 30_000;

export function OrganizationPage() {
  useTitle('Organization');
  useEverySecond();
  const [isOpen, setOpen] = useState(false);
  const clock = useStreamClock();
  const { value, error, reread } = useResource(
    (client, signal) => client.get<OrganizationLimits>('/organizations/limits', signal),
    [],
  );
  useEvery(EVERY_MS, () => reread());
  return (
    <>
      <h1>Organization</h1>
      <div class="stack">
        {error !== undefined && <ErrorNotice error={error} />}
        {value === undefined && error === undefined && <p class="quiet">Loading…</p>}
        {value !== undefined && (
          <>
            <Note text={value.note} />
            <Profiles limits={value} clock={clock} onCancelled={reread} />
            <div>
              <Button kind="primary" onClick={() => setOpen(true)}>
                Record a profile…
              </Button>
            </div>
          </>
        )}
      </div>
      {isOpen && value !== undefined && (
        <RecordDialog limits={value} clock={clock} onWritten={reread} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

interface LimitsProps {
  readonly limits: OrganizationLimits;
  readonly clock: ServerClock;
}

function Profiles({ limits, clock, onCancelled }: LimitsProps & { readonly onCancelled: () => void }) {
  // No charging follows these profiles, so the highest one is not marked as deciding.
  const profiles = stackedAt(limits.profiles, clock.nowMs()).map((profile) => ({
    ...profile,
    isDeciding: false,
  }));
  return (
    <>
      <CancellableProfiles
        label="Profiles"
        profiles={profiles}
        empty="No profile of the organization is recorded."
        address="/organizations/schedules"
        preview={(change) => <ChangePreview limits={limits} clock={clock} change={change} />}
        onCancelled={onCancelled}
      />
      <FormerProfiles address="/organizations/history" held={limits.profiles} clock={clock} />
    </>
  );
}

function RecordDialog({
  limits,
  clock,
  onWritten,
  onClose,
}: LimitsProps & { readonly onWritten: () => void; readonly onClose: () => void }) {
  return (
    <Dialog title="Record a profile" onClose={onClose}>
      <div class="stack">
        <Note text={limits.note} />
        <ScheduleForm
          address="/organizations/schedules"
          state={stateOf(limits)}
          preview={(change) => <ChangePreview limits={limits} clock={clock} change={change} />}
          submitText="Record the profile"
          doneText="The profile was recorded. It is not enforced."
          clock={clock}
          onWritten={onWritten}
          onDone={onClose}
        />
      </div>
    </Dialog>
  );
}

function ChangePreview({
  limits,
  clock,
  change,
}: LimitsProps & { readonly change: LimitChange | undefined }) {
  return <OwnPreview state={stateOf(limits)} change={change} unlimited="no limit" nowMs={clock.nowMs()} />;
}

function stateOf({ profiles }: OrganizationLimits): LimitState {
  return { stack: stackOf(profiles), fallbackKw: undefined };
}

function Note({ text }: { readonly text: string }) {
  return (
    <Notice kind="warning">
      <strong>Recorded, not enforced.</strong> {text}
    </Notice>
  );
}
