// A form that sends one change once: its fields, a refusal, and in place of the form the warnings of a change that was taken.
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
  /** A refusal is told beside the fields that it is about; else it is told below them. */
  readonly isToldAtFields: boolean;
  /** The kind of field that is focused first; none where left out. */
  readonly focusOn?: 'input' | 'select';
  readonly submitText: string;
  /** The warnings were read: nothing is left to do here. */
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
  // The form may replace the button that opened it: then it takes the focus.
  useEffect(() => {
    if (focusOn !== undefined) form.current?.querySelector<HTMLElement>(focusOn)?.focus();
  }, [focusOn]);
  // The change is in force: a form that stayed would send it a second time.
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

/** The end of a change that was taken: its warnings, and a button once they are read. It takes the focus of the button before it. */
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

/** What the service warns of although it took the change. */
export function Warnings({
  texts,
  intro = 'It was set, but:',
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
