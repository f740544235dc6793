// A button: `primary` for the main action of a form, `plain` for secondary ones, `danger` for a removal.
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
  /** An action is in progress: the button keeps its focus but ignores clicks. */
  readonly isBusy?: boolean;
  readonly disabled?: boolean;
  /** For screen readers, if the visible text is not enough; must begin with that text. */
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
