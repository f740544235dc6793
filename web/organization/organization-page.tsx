// The organization's profiles: recorded, and not enforced, which the page says before anything else.
import '../location/location.css';
import { useState } from 'preact/hooks';
import type { OrganizationLimits } from '../../src/wire/rest.js';
import { useResource } from '../api/resource.js';
import { CancellableProfiles } from '../location/cancellable-profiles.js';
import { FormerProfiles } from '../location/former-profiles.js';
import { stackOf } from '../location/preview.js';
import { OwnPreview } from '../location/preview-view.js';
import { ScheduleForm } from '../location/schedule-form.js';
import { useEvery, useEverySecond } from '../location/server-clock.js';
import { stackedAt } from '../location/stacked-profiles.js';
import { useStreamClock } from '../location/stream-clock.js';
import { useTitle } from '../shell/title.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice, Notice } from '../ui/notice.js';

/** No event tells what others write. */
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
  // The highest decides nothing here: no charging follows it.
  const profiles =
    value && stackedAt(value.profiles, clock.nowMs()).map((profile) => ({ ...profile, isDeciding: false }));
  return (
    <>
      <h1>Organization</h1>
      <div class="stack">
        {error !== undefined && <ErrorNotice error={error} />}
        {value === undefined && error === undefined && <p class="quiet">Loading…</p>}
        {value !== undefined && profiles !== undefined && (
          <>
            <Note text={value.note} />
            <CancellableProfiles
              label="Profiles"
              profiles={profiles}
              empty="No profile of the organization is recorded."
              address="/organizations/schedules"
              preview={(change) => (
                <OwnPreview
                  state={{ stack: stackOf(value.profiles), fallbackKw: undefined }}
                  change={change}
                  unlimited="no limit"
                  nowMs={clock.nowMs()}
                />
              )}
              onCancelled={reread}
            />
            <FormerProfiles address="/organizations/history" held={value.profiles} clock={clock} />
            <div>
              <Button kind="primary" onClick={() => setOpen(true)}>
                Record a profile…
              </Button>
            </div>
          </>
        )}
      </div>
      {isOpen && value !== undefined && (
        <Dialog title="Record a profile" onClose={() => setOpen(false)}>
          <div class="stack">
            <Note text={value.note} />
            <ScheduleForm
              address="/organizations/schedules"
              state={{ stack: stackOf(value.profiles), fallbackKw: undefined }}
              preview={(change) => (
                <OwnPreview
                  state={{ stack: stackOf(value.profiles), fallbackKw: undefined }}
                  change={change}
                  unlimited="no limit"
                  nowMs={clock.nowMs()}
                />
              )}
              submitText="Record the profile"
              doneText="The profile was recorded. It is not enforced."
              clock={clock}
              onWritten={(hasWarnings) => {
                reread();
                if (!hasWarnings) setOpen(false);
              }}
            />
          </div>
        </Dialog>
      )}
    </>
  );
}

function Note({ text }: { readonly text: string }) {
  return (
    <Notice kind="warning">
      <strong>Recorded, not enforced.</strong> {text}
    </Notice>
  );
}
