// Webhooks as rows, with the place of each in the event log: a process that is killed continues from there.
import type { Knex } from 'knex';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { readEnds } from '../../outbound/knex/event-ids.js';
import type { EventType } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';
import type { DeadLetter, WebhookLane, WebhookRecord } from '../../ports/webhooks.js';

interface WebhookRow {
  readonly webhook_id: string;
  readonly url: string;
  /** A JSON list; null for a webhook. */
  readonly mail_to: string | null;
  /** JSON lists; null for all. */
  readonly types: string | null;
  readonly location_ids: string | null;
  readonly secret: string;
  readonly previous_secret: string | null;
  readonly previous_until_ms: number | string | null;
  readonly cursor_id: number | string;
  readonly created_at_ms: number | string;
  readonly created_by: string;
  readonly updated_at_ms: number | string;
}

interface LaneRow {
  /** Empty for events without a location: a key has no null. */
  readonly location_id: LocationId | '';
  readonly after_id: number | string;
  readonly attempts: number;
  readonly next_attempt_at_ms: number | string;
  readonly error: string;
  /** A JSON list; null without a receiver. */
  readonly settled_to: string | null;
}

interface LetterRow {
  readonly event_id: number | string;
  readonly location_id: LocationId | null;
  readonly attempts: number;
  readonly died_at_ms: number | string;
  readonly error: string;
  readonly next_attempt_at_ms: number | string | null;
  readonly tried_until_ms: number | string | null;
  readonly settled_to: string | null;
}

const PARTS = ['webhook_lanes', 'webhook_dead_letters'] as const;

type WebhookChange = ChangeOf<'webhook.put' | 'webhook.delete' | 'webhook.progress' | 'webhook.replay'>;

/** One by one, in order: a webhook changes rarely, and a round of deliveries is slow beside a commit. */
export async function writeWebhooks(trx: Knex.Transaction, changes: readonly WebhookChange[]): Promise<void> {
  for (const change of changes) {
    if (change.kind === 'webhook.put') await putWebhook(trx, change);
    else if (change.kind === 'webhook.delete') await deleteWebhook(trx, change);
    else if (change.kind === 'webhook.progress') await writeProgress(trx, change);
    else await replay(trx, change);
  }
}

/** A new webhook begins after the newest event, or after `afterId`. A stored one keeps its place. */
async function putWebhook(
  trx: Knex.Transaction,
  { tenantUuid, webhook, afterId }: ChangeOf<'webhook.put'>,
): Promise<void> {
  const { types, locationIds, previousSecret } = webhook;
  const cells = {
    url: webhook.url,
    mail_to: webhook.mailTo && JSON.stringify(webhook.mailTo),
    types: types && JSON.stringify(types),
    location_ids: locationIds && JSON.stringify(locationIds),
    secret: webhook.secret,
    previous_secret: previousSecret?.secret ?? null,
    previous_until_ms: previousSecret?.untilMs ?? null,
    updated_at_ms: webhook.updatedAtMs,
  };
  await trx('webhooks')
    .insert({
      tenant_uuid: tenantUuid,
      webhook_id: webhook.webhookId,
      ...cells,
      cursor_id: afterId ?? (await newestLoggedId(trx, tenantUuid)),
      created_at_ms: webhook.createdAtMs,
      created_by: webhook.createdBy,
    })
    .onConflict(['tenant_uuid', 'webhook_id'])
    .merge(cells);
}

export async function newestLoggedId(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<number> {
  return (await readEnds(trx, tenantUuid)).newestId;
}

async function deleteWebhook(
  trx: Knex.Transaction,
  { tenantUuid, webhookId }: ChangeOf<'webhook.delete'>,
): Promise<void> {
  const key = { tenant_uuid: tenantUuid, webhook_id: webhookId };
  for (const table of [...PARTS, 'webhooks']) await trx(table).where(key).delete();
}

async function writeProgress(
  trx: Knex.Transaction,
  { tenantUuid, progress }: ChangeOf<'webhook.progress'>,
): Promise<void> {
  const { webhookId, cursorId, lanes, endedLanes, deadLetters, revived } = progress;
  const key = { tenant_uuid: tenantUuid, webhook_id: webhookId };
  // A webhook that was deleted during the round leaves no rows.
  if ((await trx('webhooks').where(key).update({ cursor_id: cursorId })) === 0) return;
  if (lanes.length > 0)
    await trx('webhook_lanes')
      .insert(
        lanes.map((lane) => ({
          ...key,
          location_id: lane.locationId ?? '',
          after_id: lane.afterId,
          attempts: lane.attempts,
          next_attempt_at_ms: lane.nextAttemptAtMs,
          error: lane.error,
          settled_to: listCell(lane.settledTo),
        })),
      )
      .onConflict(['tenant_uuid', 'webhook_id', 'location_id'])
      .merge();
  if (endedLanes.length > 0)
    await trx('webhook_lanes')
      .where(key)
      .whereIn(
        'location_id',
        endedLanes.map((id) => id ?? ''),
      )
      .delete();
  if (deadLetters.length > 0)
    await trx('webhook_dead_letters')
      .insert(
        deadLetters.map((letter) => ({
          ...key,
          event_id: letter.eventId,
          location_id: letter.locationId,
          attempts: letter.attempts,
          died_at_ms: letter.diedAtMs,
          error: letter.error,
          next_attempt_at_ms: letter.nextAttemptAtMs,
          tried_until_ms: letter.triedUntilMs,
          settled_to: listCell(letter.settledTo),
        })),
      )
      .onConflict(['tenant_uuid', 'webhook_id', 'event_id'])
      .merge();
  if (revived.length > 0) await trx('webhook_dead_letters').where(key).whereIn('event_id', revived).delete();
  // Events that are no longer kept cannot be sent again. So the letters of a receiver that takes nothing are bounded.
  if (deadLetters.length > 0)
    await trx('webhook_dead_letters')
      .where(key)
      .where('event_id', '<=', (await readEnds(trx, tenantUuid)).forgottenId)
      .delete();
}

async function replay(
  trx: Knex.Transaction,
  { tenantUuid, webhookId, eventIds, atMs, untilMs }: ChangeOf<'webhook.replay'>,
): Promise<void> {
  await trx('webhook_dead_letters')
    .where({ tenant_uuid: tenantUuid, webhook_id: webhookId })
    .whereNull('next_attempt_at_ms')
    .modify((query) => eventIds !== null && query.whereIn('event_id', [...eventIds]))
    .update({ next_attempt_at_ms: atMs, tried_until_ms: untilMs });
}

/** A webhook with its place in the log. */
export interface PlacedWebhook extends WebhookRecord {
  readonly cursorId: number;
}

/** The oldest first. */
export async function loadWebhooks(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<PlacedWebhook[]> {
  const rows: WebhookRow[] = await trx('webhooks')
    .where('tenant_uuid', tenantUuid)
    .orderBy(['created_at_ms', 'webhook_id']);
  return rows.map((row) => ({
    webhookId: row.webhook_id,
    url: row.url,
    mailTo: row.mail_to === null ? null : (JSON.parse(row.mail_to) as string[]),
    types: row.types === null ? null : (JSON.parse(row.types) as EventType[]),
    locationIds: row.location_ids === null ? null : (JSON.parse(row.location_ids) as LocationId[]),
    secret: row.secret,
    previousSecret:
      row.previous_secret === null
        ? null
        : { secret: row.previous_secret, untilMs: Number(row.previous_until_ms) },
    cursorId: Number(row.cursor_id),
    createdAtMs: Number(row.created_at_ms),
    createdBy: row.created_by,
    updatedAtMs: Number(row.updated_at_ms),
  }));
}

/** Tenants with a webhook. */
export async function loadWebhookTenants(trx: Knex.Transaction): Promise<readonly TenantUuid[]> {
  return trx('webhooks').distinct().pluck('tenant_uuid');
}

export async function loadLanes(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  webhookId: string,
): Promise<WebhookLane[]> {
  const rows: LaneRow[] = await trx('webhook_lanes')
    .where({ tenant_uuid: tenantUuid, webhook_id: webhookId })
    .orderBy('location_id');
  return rows.map((row) => ({
    locationId: row.location_id === '' ? null : row.location_id,
    afterId: Number(row.after_id),
    attempts: row.attempts,
    nextAttemptAtMs: Number(row.next_attempt_at_ms),
    error: row.error,
    settledTo: listOf(row.settled_to),
  }));
}

/** Dead letters after an id, by event, at most `count`: only resting ones, or only those under way again. */
export async function loadDeadLetters(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  webhookId: string,
  filter: { readonly isResting: boolean; readonly afterId: number; readonly count: number },
): Promise<DeadLetter[]> {
  const rows: LetterRow[] = await trx('webhook_dead_letters')
    .where({ tenant_uuid: tenantUuid, webhook_id: webhookId })
    .where('event_id', '>', filter.afterId)
    .modify((query) =>
      filter.isResting ? query.whereNull('next_attempt_at_ms') : query.whereNotNull('next_attempt_at_ms'),
    )
    .orderBy('event_id')
    .limit(filter.count);
  return rows.map(letterOf);
}

/**
 * Dead letters to send at `now`, by event, at most `count`: none past one of its location that waits.
 * @returns also the first instant at which one that waits is due
 */
export async function loadDueLetters(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  webhookId: string,
  now: EpochMs,
  count: number,
): Promise<{ readonly due: readonly DeadLetter[]; readonly nextAtMs: EpochMs | undefined }> {
  const letters = () =>
    trx('webhook_dead_letters as each').where({ tenant_uuid: tenantUuid, webhook_id: webhookId });
  const place = trx.raw("coalesce(each.location_id, '')");
  const waiting = letters()
    .where('next_attempt_at_ms', '>', now)
    .groupBy(place)
    .select({ place })
    .min({ event_id: 'event_id', due_at_ms: 'next_attempt_at_ms' });
  const rows: LetterRow[] = await letters()
    .leftJoin(waiting.clone().as('waiting'), 'waiting.place', place)
    .where('next_attempt_at_ms', '<=', now)
    .whereRaw('(waiting.event_id is null or each.event_id < waiting.event_id)')
    .select('each.*')
    .orderBy('each.event_id')
    .limit(count);
  const next: { at_ms: number | string | null } | undefined = await trx
    .from(waiting.as('waiting'))
    .min({ at_ms: 'due_at_ms' })
    .first();
  return { due: rows.map(letterOf), nextAtMs: instantOrNull(next?.at_ms ?? null) ?? undefined };
}

function letterOf(row: LetterRow): DeadLetter {
  return {
    eventId: Number(row.event_id),
    locationId: row.location_id,
    attempts: row.attempts,
    diedAtMs: Number(row.died_at_ms),
    error: row.error,
    nextAttemptAtMs: instantOrNull(row.next_attempt_at_ms),
    triedUntilMs: instantOrNull(row.tried_until_ms),
    settledTo: listOf(row.settled_to),
  };
}

function listCell(addresses: readonly string[]): string | null {
  return addresses.length === 0 ? null : JSON.stringify(addresses);
}

function listOf(cell: string | null): readonly string[] {
  return cell === null ? [] : (JSON.parse(cell) as string[]);
}

function instantOrNull(cell: number | string | null): EpochMs | null {
  return cell === null ? null : Number(cell);
}
