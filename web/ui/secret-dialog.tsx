// Dialog that shows a new secret once. No part of the page keeps it.
import { useRef } from 'preact/hooks';
import { announce } from './announce.js';
import { Button } from './button.js';
import { Dialog } from './dialog.js';
import { Field } from './field.js';
import { Notice } from './notice.js';

export function SecretDialog({
  title,
  note,
  texts,
  onClose,
}: {
  readonly title: string;
  readonly note: string;
  /** Label and text of each part to copy. */
  readonly texts: readonly (readonly [label: string, text: string])[];
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        <Notice kind="warning">Copy it now: the secret is shown only once. {note}</Notice>
        {texts.map(([label, text]) => (
          <Copyable key={label} label={label} text={text} />
        ))}
        <div class="row">
          <Button kind="primary" onClick={onClose}>
            I have stored the secret
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function Copyable({ label, text }: { readonly label: string; readonly text: string }) {
  const shown = useRef<HTMLDivElement>(null);

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      announce(`${label} copied.`);
    } catch {
      // Browsers allow copying only on pages that came over HTTPS.
      shown.current?.querySelector('input')?.select();
      announce(`${label} selected: copy it with the keyboard.`, 'warning');
    }
  }

  return (
    <div ref={shown} class="copyable">
      <Field label={label} readOnly value={text} autoComplete="off" spellcheck={false} />
      <Button label={`Copy the ${label}`} onClick={() => void copy()}>
        Copy
      </Button>
    </div>
  );
}
