// The profiles of a target with a button to cancel each. A dialog first shows the limit that would apply instead.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import { ConfirmDialog } from '../clusters/confirm-dialog.js';
import { localText } from '../ui/time.js';
import type { LimitChange } from './preview.js';
import { ProfileTable } from './profile-table.js';
import type { StackedProfile } from './stacked-profiles.js';

interface Props {
  readonly label: string;
  readonly profiles: readonly StackedProfile[];
  readonly empty: string;
  /** Address of the profiles, below `/v1`. */
  readonly address: string;
  /** Shows the effect of a change. */
  readonly preview: (change: LimitChange) => ComponentChildren;
  readonly onCancelled: () => void;
}

export function CancellableProfiles({ label, profiles, empty, address, preview, onCancelled }: Props) {
  const [asked, setAsked] = useState<StackedProfile>();
  const [cancelled, setCancelled] = useState(0);
  const frame = useRef<HTMLDivElement>(null);
  // The focused button disappears with its row.
  useEffect(() => {
    if (cancelled > 0) frame.current?.focus();
  }, [cancelled]);
  return (
    <div ref={frame} tabIndex={-1}>
      <ProfileTable label={label} profiles={profiles} empty={empty} onCancel={setAsked} />
      {asked !== undefined && (
        <CancelDialog
          profile={asked}
          address={address}
          preview={preview}
          onDone={() => {
            setAsked(undefined);
            setCancelled((count) => count + 1);
            onCancelled();
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </div>
  );
}

function CancelDialog({
  profile,
  address,
  preview,
  onDone,
  onClose,
}: {
  readonly profile: StackedProfile;
  readonly address: string;
  readonly preview: Props['preview'];
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { priority, limitKw, startTime, endTime } = profile;
  // The state at the opening of the dialog, so that its text does not change while the user reads it.
  const [isActive] = useState(profile.status === 'ACTIVE');
  const what = `The profile of priority ${priority} (${kwText(limitKw)})`;
  const text = isActive
    ? `${what} ends now instead of ${localText(endTime, true)}. It stays in the history.`
    : `${what} will not begin at ${localText(startTime, true)}. It stays in the history.`;
  return (
    <ConfirmDialog
      title={isActive ? 'End the profile now' : 'Cancel the profile'}
      text={text}
      actionText={isActive ? 'End it now' : 'Cancel the profile'}
      keepText="Keep it"
      doneText={isActive ? 'The profile was ended.' : 'The profile was cancelled.'}
      write={(client) => client.delete(`${address}/${priority}`)}
      onDone={onDone}
      onClose={onClose}
    >
      {preview({ kind: 'cancellation', priority })}
    </ConfirmDialog>
  );
}
