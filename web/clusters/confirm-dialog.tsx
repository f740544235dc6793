// Asks for confirmation before a removal, and shows the service's refusal or warnings.
import type { ComponentChildren } from 'preact';
import type { ApiClient, Written } from '../api/client.js';
import { Taken } from '../location/submission-form.js';
import { useSubmission } from '../location/use-submission.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/notice.js';

export function ConfirmDialog({
  title,
  text,
  actionText,
  keepText = 'Keep it',
  doneText,
  write,
  onDone,
  onClose,
  children,
}: {
  readonly title: string;
  readonly text: string;
  readonly actionText: string;
  /** Text of the button that cancels. */
  readonly keepText?: string;
  readonly doneText: string;
  readonly write: (client: ApiClient) => Promise<Written<object>>;
  /** Called after the action, if it has no warnings, or after the user has read them. */
  readonly onDone: () => void;
  readonly onClose: () => void;
  /** Information for the decision. */
  readonly children?: ComponentChildren;
}) {
  const { isBusy, error, written, send } = useSubmission<object>(({ warnings }) => {
    announce(doneText, warnings.length > 0 ? 'warning' : 'good');
    if (warnings.length === 0) onDone();
  });
  if (written !== undefined && written.warnings.length > 0)
    return (
      <Dialog title={title} onClose={onDone}>
        <Taken warnings={written.warnings} intro="The change succeeded, but:" onDone={onDone} />
      </Dialog>
    );
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        <p class="confirm">{text}</p>
        {children}
        {error !== undefined && <ErrorNotice error={error} />}
        <div class="row">
          <Button kind="danger" isBusy={isBusy} onClick={() => void send(write)}>
            {actionText}
          </Button>
          <Button onClick={onClose}>{keepText}</Button>
        </div>
      </div>
    </Dialog>
  );
}
