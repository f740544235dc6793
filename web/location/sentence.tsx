// A sentence of the service, with its instants in the viewer's zone.
import { INSTANT, Time } from '../ui/time.js';

export function Sentence({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split(INSTANT)
        .map((part, i) => (i % 2 === 0 ? part : <Time key={`${i} ${part}`} at={part} isShort />))}
    </>
  );
}
