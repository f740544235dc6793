// A word with its definition. The definition appears on hover or keyboard focus, until Escape is pressed.
import { useEffect, useId, useState } from 'preact/hooks';

export function Term({ word, definition }: { readonly word: string; readonly definition: string }) {
  const id = useId();
  const [isReached, setReached] = useState(false);
  const [isDismissed, setDismissed] = useState(false);
  const leave = () => {
    setReached(false);
    setDismissed(false);
  };
  useEffect(() => {
    if (!isReached || isDismissed) return;
    const dismiss = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      // The surrounding dialog stays open; it closes at the next Escape.
      event.preventDefault();
      setDismissed(true);
    };
    document.addEventListener('keydown', dismiss);
    return () => document.removeEventListener('keydown', dismiss);
  }, [isReached, isDismissed]);
  return (
    <span
      class={isDismissed ? 'term dismissed' : 'term'}
      onPointerEnter={() => setReached(true)}
      onFocusIn={() => setReached(true)}
      onPointerLeave={leave}
      onFocusOut={leave}
    >
      {/* A button, so that a tap shows the definition on a phone as well. */}
      <button type="button" aria-describedby={id}>
        {word}
      </button>
      <span role="tooltip" id={id}>
        {definition}
      </span>
    </span>
  );
}
