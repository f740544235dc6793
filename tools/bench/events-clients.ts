// Clients of the event log: one that causes events, a receiver of webhooks, a follower of the stream, and a reader.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createParser } from 'eventsource-parser';
import { Webhook } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { systemClock } from '../../src/clock.js';
import type { Dice } from './attack-dice.js';
import { pause } from './chaos-parts.js';
import { type Arrival, EventBooks } from './events-books.js';
import type { EventSite, EventTenant } from './events-site.js';

const TYPE = 'operatorLimit.changed';
const COME_AGAIN_AFTER_MS = 100;
const PAGE = 1_000;
const MOST_CONNECTIONS = 256;
const STEP_KW = 0.001;
/** The service never refuses a limit because of its height below this. */
const MOST_STEPS = 1e6;

interface LoggedEvent {
  readonly id: string;
  readonly locationId: string | null;
  readonly data: { readonly source?: string | null };
}

function arrivalOf({ id, locationId, data }: LoggedEvent): Arrival {
  return { id: Number(id), locationId, source: data.source ?? '', atMs: systemClock.monotonicMs() };
}

/** All clients of one tenant. */
export class EventClient {
  readonly books = new EventBooks();
  readonly tenant: EventTenant;
  readonly #site: EventSite;
  readonly #agent = new Agent({ connections: MOST_CONNECTIONS });
  readonly #left = new AbortController();
  /** Orders of one instant all count, in the order of their arrival. */
  readonly #sentAt = new Date(systemClock.nowMs()).toISOString();
  #webhook: Webhook | undefined;
  #firstId = '0';
  #caused = 0;
  #turn = 0;
  acknowledged = 0;
  unanswered = 0;
  /** Answers that refuse a good request. */
  readonly refused: string[] = [];
  /** Of the stream. */
  connections = 0;

  constructor(site: EventSite, tenant: EventTenant) {
    this.#site = site;
    this.tenant = tenant;
  }

  async open(webhookUrl: string): Promise<void> {
    // The state before the first order of a location is an event too.
    while ((await this.readLog()).length < this.tenant.locationIds.length) await pause(COME_AGAIN_AFTER_MS);
    const answer = await this.#ask('POST', '/webhooks', { url: webhookUrl, types: [TYPE] });
    if (answer?.status !== 201) throw new Error(`no webhook: ${JSON.stringify(answer)}`);
    const { secret, lastEventId } = answer.body as { readonly secret: string; readonly lastEventId: string };
    this.#webhook = new Webhook(secret);
    this.#firstId = lastEventId;
  }

  /** One order of the grid operator, which leads to one event. */
  async cause(locationId: string, sentAtMs = systemClock.monotonicMs()): Promise<boolean> {
    const source = `${locationId} ${++this.#caused}`;
    const cause = { locationId, source, sentAtMs, answeredAtMs: undefined as number | undefined };
    this.books.causes.set(source, cause);
    const limitKw = Number((STEP_KW * (this.#caused % MOST_STEPS)).toFixed(3));
    const answer = await this.#ask('PUT', `/locations/${locationId}/operator-limit`, {
      source,
      isActive: true,
      limitKw,
      sentAt: this.#sentAt,
    });
    if (answer?.status === 200) {
      cause.answeredAtMs = systemClock.monotonicMs();
      this.acknowledged++;
      return true;
    }
    this.unanswered++;
    // A 503 does not exclude that the order is written later.
    if (answer !== undefined && answer.status !== 503)
      this.refused.push(`${answer.status} ${JSON.stringify(answer.body)}`);
    this.#turn++;
    return false;
  }

  /** @returns the status that answers the delivery */
  receive(body: string, headers: Readonly<Record<string, string>>, isRefused: boolean): number {
    const { data: event } = JSON.parse(body) as { readonly data: LoggedEvent };
    const arrival = arrivalOf(event);
    try {
      this.#webhook?.verify(body, headers);
    } catch {
      this.books.unsigned++;
    }
    if (isRefused) return 503;
    this.books.deliver(arrival);
    return 204;
  }

  /** Follows the stream until `close`; continues after the last event whenever it ends. */
  async follow(): Promise<void> {
    let lastId = this.#firstId;
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event === 'gap') this.books.gaps++;
        if (event !== 'logged') return;
        const logged = JSON.parse(data) as LoggedEvent;
        lastId = logged.id;
        this.books.streamed.push(arrivalOf(logged));
      },
    });
    for (let turn = 0; !this.#left.signal.aborted; turn++) {
      parser.reset();
      try {
        const { statusCode, body } = await request(
          `${await this.#site.urlAt(turn)}/v1/stream?events=logged&type=${TYPE}&after=${this.#firstId}`,
          {
            headers: { 'x-api-key': this.tenant.apiKey, 'last-event-id': lastId },
            signal: this.#left.signal,
            bodyTimeout: 60_000,
          },
        );
        if (statusCode !== 200) {
          await body.dump();
        } else {
          this.connections++;
          body.setEncoding('utf8');
          for await (const chunk of body) parser.feed(String(chunk));
        }
      } catch {
        // The service was killed, or this client leaves.
      }
      if (!this.#left.signal.aborted) await pause(COME_AGAIN_AFTER_MS);
    }
  }

  /** The whole log after the first event of this client. */
  async readLog(): Promise<readonly Arrival[]> {
    const log: Arrival[] = [];
    for (let after = this.#firstId; ; ) {
      const answer = await this.#ask('GET', `/events?type=${TYPE}&after=${after}&limit=${PAGE}`);
      if (answer?.status !== 200) {
        await pause(COME_AGAIN_AFTER_MS);
        continue;
      }
      const { events, last, isGapless } = answer.body as {
        readonly events: readonly LoggedEvent[];
        readonly last: string;
        readonly isGapless: boolean;
      };
      if (!isGapless) this.books.gaps++;
      log.push(...events.map(arrivalOf));
      if (events.length < PAGE) return log;
      after = last;
    }
  }

  async close(): Promise<void> {
    this.#left.abort();
    await this.#agent.destroy();
  }

  async #ask(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    content?: object,
  ): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
    try {
      const { statusCode: status, body } = await request(`${await this.#site.urlAt(this.#turn)}/v1${path}`, {
        method,
        headers: { 'x-api-key': this.tenant.apiKey, 'content-type': 'application/json' },
        body: content === undefined ? null : JSON.stringify(content),
        dispatcher: this.#agent,
      });
      return { status, body: await body.json() };
    } catch {
      return undefined;
    }
  }
}

/** The server to which the webhooks of all clients lead. */
export class EventReceiver {
  readonly #server: Server;
  #clients: readonly EventClient[] = [];
  readonly #dice: Dice;
  readonly #refusesOneIn: number;
  refused = 0;

  /** @param refusesOneIn 0: it accepts every delivery */
  constructor(dice: Dice, refusesOneIn: number) {
    this.#dice = dice;
    this.#refusesOneIn = refusesOneIn;
    // A delivery that breaks off is sent again.
    this.#server = createServer((request, response) => void this.#take(request, response).catch(() => {}));
  }

  async open(clients: readonly EventClient[]): Promise<void> {
    this.#clients = clients;
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    for (const [i, client] of clients.entries()) await client.open(`http://127.0.0.1:${port}/${i}`);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const client = this.#clients[Number(request.url?.slice(1))];
    const isRefused = this.#refusesOneIn > 0 && this.#dice.isOneIn(this.#refusesOneIn);
    if (isRefused) this.refused++;
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    response.writeHead(client?.receive(body, headers, isRefused) ?? 404).end();
  }
}
