// A form that sends one change: its fields, what the service says of them, what it warns of, and the button.
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
  readonly children: ComponentChildren;
}

export function SubmissionForm<T>({
  submission: { isBusy, error, written, send },
  write,
  isToldAtFields,
  focusOn,
  submitText,
  children,
}: Props<T>) {
  const form = useRef<HTMLFormElement>(null);
  // The form may replace the button that opened it: then it takes the focus.
  useEffect(() => {
    if (focusOn !== undefined) form.current?.querySelector<HTMLElement>(focusOn)?.focus();
  }, [focusOn]);
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
      {written !== undefined && <Warnings texts={written.warnings} />}
      <div class="row">
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {submitText}
        </Button>
      </div>
    </form>
  );
}

/** What the service warns of although it took the change. */
export function Warnings({ texts }: { readonly texts: readonly string[] }) {
  return (
    <>
      {texts.map((text) => (
        <Notice key={text} kind="warning">
          It was set, but: <Sentence text={text} />
        </Notice>
      ))}
    </>
  );
}
