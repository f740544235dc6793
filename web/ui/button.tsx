// A button: primary for what a form is for, plain beside it, danger for what takes something away.
import type { ComponentChildren } from 'preact';

export function Button({
  kind = 'normal',
  type = 'button',
  isBusy = false,
  disabled = false,
  label,
  onClick,
  children,
}: {
  readonly kind?: 'primary' | 'normal' | 'plain' | 'danger';
  readonly type?: 'button' | 'submit';
  /** Its work is under way: it can be focused, and does nothing. */
  readonly isBusy?: boolean;
  readonly disabled?: boolean;
  /** For screen readers, where the text alone does not say enough; it begins with the text. */
  readonly label?: string;
  readonly onClick?: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <button
      type={type}
      class={`button ${kind}`}
      disabled={disabled}
      aria-busy={isBusy}
      aria-label={label}
      onClick={isBusy ? undefined : onClick}
    >
      {children}
    </button>
  );
}
