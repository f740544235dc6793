// A sentence of the service, with its instants in the viewer's zone.
import { Time } from '../ui/time.js';

const INSTANT = /(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z)/;

export function Sentence({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split(INSTANT)
        .map((part, i) => (i % 2 === 0 ? part : <Time key={`${i} ${part}`} at={part} isShort />))}
    </>
  );
}
