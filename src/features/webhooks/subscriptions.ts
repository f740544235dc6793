// Subscriptions to the event log: webhooks, and mails on the same deliveries. Both have one table and one life.
import type { Knex } from 'knex';
import type { z } from 'zod';
import { DomainError } from '../../../machines/values/errors.js';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { type Asked, type Core, findLocation } from '../../actors/core.js';
import type { Scope } from '../../ports/records.js';
import type { DeadLetter, WebhookLane, WebhookRecord } from '../../ports/webhooks.js';
import { toInstant } from '../../wire/instants.js';
import type { DeliveryList, deliveriesQuerySchema, replayRequestSchema } from './contract.js';
import { loadDeadLetters, loadLanes, loadWebhooks, newestLoggedId, type PlacedWebhook } from './rows.js';

const AT_MOST = 10;
const LETTERS_SHOWN = 1_000;
/** An event that fails is sent again for this long. */
export const TRIED_FOR_MS = 3 * 86_400_000;

type Caller = Pick<Asked, 'tenantUuid' | 'by'>;
type Poster<Body = unknown> = Pick<Asked<unknown, Body>, 'tenantUuid' | 'by' | 'body' | 'keep'>;
/** The parts of a record that a request decides. */
type Decided = Omit<WebhookRecord, 'webhookId' | 'createdAtMs' | 'createdBy' | 'updatedAtMs'>;

/** The subscriptions of one kind. */
export class Subscriptions<View extends object> {
  readonly #isMail: boolean;
  readonly #noun: string;
  readonly #viewOf: (subscription: PlacedWebhook, lanes: readonly WebhookLane[]) => View;

  /** @param noun of one, for messages */
  constructor(
    isMail: boolean,
    noun: string,
    viewOf: (subscription: PlacedWebhook, lanes: readonly WebhookLane[]) => View,
  ) {
    this.#isMail = isMail;
    this.#noun = noun;
    this.#viewOf = viewOf;
  }

  /** The oldest first. */
  list({ read }: Core, tenantUuid: TenantUuid): Promise<View[]> {
    return read(async (trx) => {
      const views: View[] = [];
      for (const held of await this.#heldBy(trx, tenantUuid))
        views.push(this.#viewOf(held, await loadLanes(trx, tenantUuid, held.webhookId)));
      return views;
    });
  }

  /** @throws DomainError NOT_FOUND */
  show({ read }: Core, tenantUuid: TenantUuid, id: string): Promise<View> {
    return read(async (trx) => {
      const held = this.#require(await this.#heldBy(trx, tenantUuid), id);
      return this.#viewOf(held, await loadLanes(trx, tenantUuid, id));
    });
  }

  /**
   * @param afterId place in the log from which events are sent; the end of the log if omitted
   * @param answerOf adds the parts that only the first answer has
   * @throws DomainError INVALID_REQUEST_BODY if the organization has too many
   */
  create<Answer extends object>(
    core: Core,
    { tenantUuid, by, keep }: Poster,
    decided: Decided,
    afterId: number | undefined,
    answerOf: (view: View) => Answer,
  ): Promise<Answer> {
    const webhookId = core.newId();
    return this.#inTurn(core, tenantUuid, async (held) => {
      if (held.length >= AT_MOST)
        throw new DomainError(
          'INVALID_REQUEST_BODY',
          `body: an organization may have at most ${AT_MOST} ${this.#noun}s; delete one first`,
        );
      const atMs = core.clock.nowMs();
      const webhook = { ...decided, webhookId, createdAtMs: atMs, createdBy: by, updatedAtMs: atMs };
      const cursorId = afterId ?? (await core.read((trx) => newestLoggedId(trx, tenantUuid)));
      const kept = keep(() => answerOf(this.#viewOf({ ...webhook, cursorId }, [])));
      await core.store.append(tenantUuid, [{ kind: 'webhook.put', webhook, afterId }, ...kept], by);
      return answerOf(await this.show(core, tenantUuid, webhookId));
    });
  }

  /**
   * Replaces parts of a subscription, which goes on in its place in the log.
   * @throws DomainError NOT_FOUND
   */
  change<Answer extends object>(
    core: Core,
    { tenantUuid, by, keep }: Caller & Partial<Pick<Asked, 'keep'>>,
    id: string,
    changed: (before: PlacedWebhook, nowMs: EpochMs) => Partial<Decided>,
    answerOf: (view: View) => Answer,
  ): Promise<Answer> {
    return this.#inTurn(core, tenantUuid, async (held) => {
      const before = this.#require(held, id);
      const updatedAtMs = core.clock.nowMs();
      const webhook = { ...before, ...changed(before, updatedAtMs), updatedAtMs };
      const lanes = await core.read((trx) => loadLanes(trx, tenantUuid, id));
      const kept = keep?.(() => answerOf(this.#viewOf(webhook, lanes))) ?? [];
      await core.store.append(
        tenantUuid,
        [{ kind: 'webhook.put', webhook, afterId: undefined }, ...kept],
        by,
      );
      return answerOf(await this.show(core, tenantUuid, id));
    });
  }

  /** @throws DomainError NOT_FOUND */
  remove(core: Core, { tenantUuid, by }: Caller, id: string): Promise<void> {
    return this.#inTurn(core, tenantUuid, async (held) => {
      const { webhookId } = this.#require(held, id);
      const atMs = core.clock.nowMs();
      const change = { kind: 'webhook.delete', webhookId, isMail: this.#isMail, atMs } as const;
      await core.store.append(tenantUuid, [change], by);
    });
  }

  /**
   * Events that were given up, or that are sent again later.
   * @throws DomainError NOT_FOUND
   */
  deliveries(
    { read }: Core,
    tenantUuid: TenantUuid,
    id: string,
    { after, limit, state }: z.output<typeof deliveriesQuerySchema>,
  ): Promise<DeliveryList> {
    return read(async (trx) => {
      const { webhookId, mailTo } = this.#require(await this.#heldBy(trx, tenantUuid), id);
      const [afterId, isResting] = [Number(after), state === 'dead'];
      const letters = await loadDeadLetters(trx, tenantUuid, webhookId, { isResting, afterId, count: limit });
      const lanes = isResting ? [] : await loadLanes(trx, tenantUuid, webhookId);
      const failed = lanes
        .filter((lane) => lane.attempts > 0 && lane.afterId >= afterId)
        .map((lane) => viewOfLane(lane, mailTo));
      const deliveries = [...failed, ...letters.map((letter) => viewOfLetter(letter, mailTo))];
      deliveries.sort((a, b) => Number(a.eventId) - Number(b.eventId));
      return { deliveries: deliveries.slice(0, limit) };
    });
  }

  /**
   * Revives dead letters. @returns all letters under way
   * @throws DomainError NOT_FOUND
   */
  replay(
    core: Core,
    { tenantUuid, by, body, keep }: Poster<z.output<typeof replayRequestSchema>>,
    id: string,
  ): Promise<DeliveryList> {
    return this.#inTurn(core, tenantUuid, async (held) => {
      const { webhookId, mailTo } = this.#require(held, id);
      const atMs = core.clock.nowMs();
      const eventIds = body.eventIds?.map(Number) ?? null;
      const viewOf = (letters: readonly DeadLetter[]) => ({
        deliveries: letters.map((letter) => viewOfLetter(letter, mailTo)),
      });
      const lettersOf = (isResting: boolean) => {
        const filter = { isResting, afterId: 0, count: LETTERS_SHOWN };
        return core.read((trx) => loadDeadLetters(trx, tenantUuid, webhookId, filter));
      };
      const [resting, underWay] = [await lettersOf(true), await lettersOf(false)];
      const kept = keep(() => {
        const revived = resting
          .filter(({ eventId }) => eventIds?.includes(eventId) ?? true)
          .map((letter) => ({ ...letter, nextAttemptAtMs: atMs }));
        const letters = [...underWay, ...revived].sort((a, b) => a.eventId - b.eventId);
        return viewOf(letters.slice(0, LETTERS_SHOWN));
      });
      const untilMs = atMs + TRIED_FOR_MS;
      const change = { kind: 'webhook.replay', webhookId, eventIds, atMs, untilMs } as const;
      await core.store.append(tenantUuid, [change, ...kept], by);
      return viewOf(await lettersOf(false));
    });
  }

  async #heldBy(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<readonly PlacedWebhook[]> {
    return (await loadWebhooks(trx, tenantUuid)).filter(({ mailTo }) => (mailTo !== null) === this.#isMail);
  }

  #require(held: readonly PlacedWebhook[], id: string): PlacedWebhook {
    const found = held.find(({ webhookId }) => webhookId === id);
    if (found !== undefined) return found;
    throw new DomainError('NOT_FOUND', `No such ${this.#noun}: ${id.slice(0, 128)}`);
  }

  /** One command at a time for each tenant, so that its checks still hold at its write. */
  #inTurn<T>(
    { clusterQueue, read }: Core,
    tenantUuid: TenantUuid,
    work: (held: readonly PlacedWebhook[]) => Promise<T>,
  ): Promise<T> {
    return clusterQueue.run(`${tenantUuid}/${this.#noun}s`, async () =>
      work(await read((trx) => this.#heldBy(trx, tenantUuid))),
    );
  }
}

/** @throws DomainError INSUFFICIENT_SCOPE: events would leave that the caller may not read itself */
export function requireReader(scopes: readonly Scope[]): void {
  if (!scopes.includes('locations:read'))
    throw new DomainError('INSUFFICIENT_SCOPE', 'It sends events: it needs the scope locations:read too.');
}

export interface Filter {
  readonly types?: WebhookRecord['types'] | undefined;
  readonly locationIds?: readonly string[] | null | undefined;
}

/** @throws DomainError LOCATION_NOT_FOUND */
export function filterOf(
  directory: Core['directory'],
  tenantUuid: TenantUuid,
  { types, locationIds }: Filter,
): Pick<WebhookRecord, 'types' | 'locationIds'> {
  const known = (text: string): LocationId => findLocation(directory, tenantUuid, text).record.locationId;
  return {
    types: types ?? null,
    locationIds: locationIds == null ? null : [...new Set(locationIds.map(known))],
  };
}

type DeliveryView = DeliveryList['deliveries'][number];

type MailTo = WebhookRecord['mailTo'];

function viewOfLane(lane: WebhookLane, mailTo: MailTo): DeliveryView {
  const { locationId, attempts, error } = lane;
  return {
    eventId: String(lane.afterId + 1),
    locationId,
    attempts,
    error,
    to: unsettled(mailTo, lane),
    diedAt: null,
    nextAttemptAt: toInstant(lane.nextAttemptAtMs),
  };
}

function unsettled(mailTo: MailTo, { settledTo }: Pick<DeadLetter, 'settledTo'>): DeliveryView['to'] {
  return mailTo === null ? null : mailTo.filter((address) => !settledTo.includes(address));
}

function viewOfLetter(letter: DeadLetter, mailTo: MailTo): DeliveryView {
  const { eventId, locationId, attempts, error, diedAtMs, nextAttemptAtMs } = letter;
  const nextAttemptAt = nextAttemptAtMs === null ? null : toInstant(nextAttemptAtMs);
  return {
    eventId: String(eventId),
    locationId,
    attempts,
    error,
    to: unsettled(mailTo, letter),
    diedAt: toInstant(diedAtMs),
    nextAttemptAt,
  };
}
