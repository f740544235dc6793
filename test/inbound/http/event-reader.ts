// A reader of server-sent events, as in a program that follows the stream.
import { once } from 'node:events';
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

export interface ServerSentEvent {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: unknown;
}

export interface EventReader {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Events in order of arrival. */
  readonly events: readonly ServerSentEvent[];
  /** Comments, without their colon. */
  readonly comments: readonly string[];
  /** Resolves when the service ends the stream; rejects if the connection is cut. */
  readonly ended: Promise<void>;
  of(name: string): readonly ServerSentEvent[];
  close(): void;
}

/** Opens a stream and reads it until it ends. A refusal has no events. */
export async function readEvents(url: string, headers: Record<string, string>): Promise<EventReader> {
  const request = get(url, { headers, agent: false });
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('no response');
  response.setEncoding('utf8');
  const events: ServerSentEvent[] = [];
  const comments: string[] = [];

  function take(block: string): void {
    const lines = block.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()] as const;
    });
    const fieldOf = (field: string) => lines.find(([name]) => name === field)?.[1];
    comments.push(...lines.filter(([name]) => name === '').map(([, text]) => text));
    const data = fieldOf('data');
    if (data === undefined) return;
    events.push({ name: fieldOf('event') ?? 'message', id: fieldOf('id'), data: JSON.parse(data) });
  }

  async function read(body: IncomingMessage): Promise<void> {
    let text = '';
    for await (const chunk of body) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      blocks.forEach(take);
    }
  }

  const ended = read(response);
  // A test that closes a stream itself does not wait for its end.
  ended.catch(() => {});
  return {
    status: response.statusCode,
    headers: response.headers,
    events,
    comments,
    ended,
    of: (name) => events.filter((event) => event.name === name),
    close: () => void request.destroy(),
  };
}
