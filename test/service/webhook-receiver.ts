// A receiver of webhooks, which verifies each request with an independent implementation of the standard.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { vi } from 'vitest';

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly locationId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: ReceivedEvent;
  readonly status: number;
}

export interface WebhookReceiver {
  readonly url: string;
  /** All requests, in order. */
  readonly received: readonly Received[];
  /** The status of an answer; 204 by default. */
  answer: (event: ReceivedEvent) => number;
  /** Seconds that its answers ask for. */
  retryAfterS: number;
  /** Events that it accepted, in order. */
  accepted(): readonly ReceivedEvent[];
  stop(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { data: event }: { data: ReceivedEvent } = JSON.parse(body);
    const status = receiver.answer(event);
    received.push({ headers: request.headers, body, event, status });
    response.writeHead(status, { location: '/elsewhere', 'retry-after': String(receiver.retryAfterS) }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port }: AddressInfo = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/events`,
    received,
    answer: () => 204,
    retryAfterS: 0,
    accepted: () => received.filter(({ status }) => status === 204).map(({ event }) => event),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

/** True if the request is signed with the secret, in the hour of its signature. */
export function isSignedWith(secret: string, { headers, body }: Received): boolean {
  const named = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, headers[name]]);
  // The tests move the service's clock by days.
  vi.setSystemTime(1000 * Number(headers['webhook-timestamp']));
  try {
    new Webhook(secret).verify(body, Object.fromEntries(named));
    return true;
  } catch {
    return false;
  } finally {
    vi.useRealTimers();
  }
}
