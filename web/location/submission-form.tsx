// Form that sends one change once: its fields and a refusal. After success, the warnings replace the form.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ApiClient, Written } from '../api/client.js';
import { Button } from '../ui/button.js';
import { ErrorNotice, Notice } from '../ui/notice.js';
import { Sentence } from './sentence.js';
import type { Submission } from './use-submission.js';

interface Props<T> {
  readonly submission: Submission<T>;
  readonly write: (client: ApiClient) => Promise<Written<T>>;
  /** True if the fields show the refusal; otherwise it appears below them. */
  readonly isToldAtFields: boolean;
  /** Kind of the field that gets the focus first; absent for none. */
  readonly focusOn?: 'input' | 'select';
  readonly submitText: string;
  /** Called after the user has read the warnings. */
  readonly onDone: () => void;
  readonly children: ComponentChildren;
}

export function SubmissionForm<T>({
  submission: { isBusy, error, written, send },
  write,
  isToldAtFields,
  focusOn,
  submitText,
  onDone,
  children,
}: Props<T>) {
  const form = useRef<HTMLFormElement>(null);
  // The form may replace the button that opened it, so it takes the focus.
  useEffect(() => {
    if (focusOn !== undefined) form.current?.querySelector<HTMLElement>(focusOn)?.focus();
  }, [focusOn]);
  // The change is in force: a visible form could send it again.
  if (written !== undefined) return <Taken warnings={written.warnings} onDone={onDone} />;
  return (
    <form
      ref={form}
      class="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send(write);
      }}
    >
      {children}
      {error !== undefined && !isToldAtFields && <ErrorNotice error={error} />}
      <div class="row">
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {submitText}
        </Button>
      </div>
    </form>
  );
}

/** Shown after success: the warnings, and a button to close. It takes the focus from the button of the form. */
export function Taken({
  warnings,
  intro,
  onDone,
}: {
  readonly warnings: readonly string[];
  readonly intro?: string | undefined;
  readonly onDone: () => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), []);
  return (
    <div ref={place} class="stack" tabIndex={-1}>
      <Warnings texts={warnings} intro={intro} />
      {warnings.length > 0 && (
        <div class="row">
          <Button kind="primary" onClick={onDone}>
            OK
          </Button>
        </div>
      )}
    </div>
  );
}

/** Warnings about a change that the service accepted. */
export function Warnings({
  texts,
  intro = 'The change succeeded, but:',
}: {
  readonly texts: readonly string[];
  readonly intro?: string | undefined;
}) {
  return (
    <>
      {texts.map((text) => (
        <Notice key={text} kind="warning">
          {intro} <Sentence text={text} />
        </Notice>
      ))}
    </>
  );
}
