// Asks before something is taken away, and shows where the service refuses it.
import type { ApiClient, Written } from '../api/client.js';
import { useSubmission } from '../location/use-submission.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/notice.js';

export function ConfirmDialog({
  title,
  text,
  actionText,
  doneText,
  write,
  onDone,
  onClose,
}: {
  readonly title: string;
  readonly text: string;
  readonly actionText: string;
  readonly doneText: string;
  readonly write: (client: ApiClient) => Promise<Written<object>>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { isBusy, error, send } = useSubmission<object>(() => {
    announce(doneText);
    onDone();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        <p class="confirm">{text}</p>
        {error !== undefined && <ErrorNotice error={error} />}
        <div class="row">
          <Button kind="danger" isBusy={isBusy} onClick={() => void send(write)}>
            {actionText}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </div>
    </Dialog>
  );
}
