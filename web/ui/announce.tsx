// Temporary messages at the edge of the page, which screen readers read aloud.
import { useEffect, useState } from 'preact/hooks';

interface Message {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
}

type Tone = 'good' | 'warning' | 'bad';

const SHOWN_MS = 8_000;
let lastId = 0;
let show: (message: Message) => void = () => {};

/** Shows `text` for a while; screen readers read it aloud. */
export function announce(text: string, tone: Tone = 'good'): void {
  show({ id: ++lastId, text, tone });
}

/** Container of the messages; the page has one. */
export function Announcer() {
  const [messages, setMessages] = useState<readonly Message[]>([]);
  useEffect(() => {
    show = (message) => {
      setMessages((before) => [...before, message]);
      setTimeout(() => setMessages((before) => before.filter(({ id }) => id !== message.id)), SHOWN_MS);
    };
  }, []);
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label="Messages">
      {messages.map(({ id, text, tone }) => (
        <p key={id} class={`toast ${tone}`}>
          {text}
        </p>
      ))}
    </div>
  );
}
