// A word with its definition, shown where the pointer rests on it or the keyboard reaches it.
import { useId } from 'preact/hooks';

export function Term({ word, definition }: { readonly word: string; readonly definition: string }) {
  const id = useId();
  return (
    <span class="term">
      {/* A button, so that a tap shows it on a phone, too. */}
      <button type="button" aria-describedby={id}>
        {word}
      </button>
      <span role="tooltip" id={id}>
        {definition}
      </span>
    </span>
  );
}
