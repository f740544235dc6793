// A modal dialog of the browser, which itself handles focus, Escape and the backdrop.
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from './button.js';

/** Shown as long as it is rendered. Escape and the button call `onClose`, which should stop rendering it. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect: it runs before the effects of the dialog's content, which may focus a field.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      // While the dialog is modal, no element outside it can take the focus.
      shown?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <Button kind="plain" label="Close the dialog" onClick={onClose}>
          Close
        </Button>
      </header>
      {children}
    </dialog>
  );
}
