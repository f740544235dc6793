// Sends the event log to webhooks by Standard Webhooks, and as mails: at least once, and in order for each location.
// Their places are on disk, so a process that is killed repeats some events and loses none.
import type { Knex } from 'knex';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { pause } from '../../pause.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { ENERGY_MANAGEMENT, type EventRecord, type EventType } from '../../ports/records.js';
import type { Store } from '../../ports/store.js';
import type {
  DeadLetter,
  MailFailure,
  SendMail,
  SendWebhook,
  WebhookFailure,
  WebhookLane,
} from '../../ports/webhooks.js';
import { signWebhook } from '../../secrets.js';
import { toInstant } from '../../wire/instants.js';
import { mailOf } from './mail-text.js';
import {
  loadDeadLetters,
  loadDueLetters,
  loadLanes,
  loadWebhooks,
  loadWebhookTenants,
  type PlacedWebhook,
} from './rows.js';
import { TRIED_FOR_MS } from './subscriptions.js';

/** Events of a location, or the whole log, that a round sends: as many may be repeated after a kill. */
const EVENTS_AT_ONCE = 20;
/** The same for a webhook that is behind: each round costs reads and a commit. */
const EVENTS_BEHIND = 250;
const LETTERS_AT_ONCE = 100;
/** Events that one mail stands for. */
const EVENTS_OF_MAIL = 500;
/** Events gather for so long before they leave as one mail. */
const MAIL_GATHERS_MS = 30_000;
/** Of locations whose next event has failed. */
const LANES_AT_ONCE = 20;
/** Requests at once of one webhook; rounds at once of one tenant, and of all, for webhooks and for mails. */
const REQUESTS_OF_WEBHOOK = 4;
const ROUNDS_OF_TENANT = 4;
const ROUNDS = 50;
/** A round begins no message after this time: other webhooks wait for its place, and its own may have been deleted. */
const ROUND_MS = 10_000;
const AGAIN_AFTER_MS = 1_000;
/** The wait after each attempt; the last one repeats. */
const BACKOFF_S: readonly number[] = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 21_600];
const LONGEST_RETRY_AFTER_MS = 86_400_000;

export interface EventPart {
  readonly afterId: number;
  readonly types: readonly EventType[] | undefined;
  /** Null: events without a location. Undefined: all. */
  readonly locationId: LocationId | null | undefined;
  readonly count: number;
}

interface CourierOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'read' | 'append'>;
  readonly send: SendWebhook;
  /** Undefined without a mail server: mails wait. */
  readonly sendMail: SendMail | undefined;
  readonly readEvents: (
    trx: Knex.Transaction,
    tenantUuid: TenantUuid,
    part: EventPart,
  ) => Promise<{ readonly events: readonly EventRecord[]; readonly newestId: number }>;
  readonly viewOfEvent: (event: EventRecord) => object;
  readonly onResult: (result: DeliveryResult) => void;
}

/** A mail server may take minutes for an answer, so its rounds hold no place of a webhook's. */
type RoundKind = 'webhook' | 'mail';
type Places = Readonly<Record<RoundKind, Gate>>;

export type DeliveryResult = 'delivered' | 'failed' | 'dead';

/** The rounds of one webhook. */
interface Rounds {
  readonly kind: RoundKind;
  isRunning: boolean;
  /** The last round left events in the log. */
  isBehind: boolean;
  /** Something happened since the running round began. */
  isDue: boolean;
  cancelNext: Cancel;
}

/** Events of one location that are sent one after another, until one fails. */
interface Run {
  readonly kind: 'log' | 'lane' | 'letters';
  readonly locationId: LocationId | null;
  readonly events: readonly EventRecord[];
  /** Of a mail: the receivers that it leaves out. */
  readonly settledTo: readonly string[];
}

interface RunResult {
  readonly run: Run;
  readonly sent: readonly number[];
  /** The events of one message that failed. */
  readonly failed?: {
    readonly events: readonly EventRecord[];
    readonly failure: NonNullable<WebhookFailure> & Partial<NonNullable<MailFailure>>;
  };
}

/** All that a round needs, as of one instant. */
interface RoundInput {
  readonly webhook: PlacedWebhook;
  readonly lanes: readonly WebhookLane[];
  /** To be sent now. */
  readonly letters: readonly DeadLetter[];
  /** The next others are sent then. */
  readonly lettersDueAtMs: EpochMs | undefined;
  /** By event: the letters of receivers that refused the mail under way. */
  readonly ofMail: ReadonlyMap<number, DeadLetter>;
  readonly runs: readonly Run[];
  readonly cursorId: number;
  /**
   * Lanes that change before anything is sent: they pass events that are not wanted, or begin a mail. The events of a
   * mail are fixed before it leaves, so that its attempts are alike.
   */
  readonly moved: readonly WebhookLane[];
  /** The events of the next mail leave then. */
  readonly gatheredAtMs: EpochMs | undefined;
  /** Of the locations of a mail. */
  readonly names: ReadonlyMap<string, string>;
  /** The log has more events after the cursor. */
  readonly hasMore: boolean;
  /** Lanes without a further event. */
  readonly endedLanes: readonly (LocationId | null)[];
  /** Dead letters of events that are no longer kept. */
  readonly forgotten: readonly number[];
}

export class Courier {
  readonly #options: CourierOptions;
  /** By tenant and webhook id. */
  readonly #tenants = new Map<TenantUuid, Map<string, Rounds>>();
  readonly #looking = new Map<TenantUuid, { isDue: boolean }>();
  readonly #stopped = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  readonly #free = placesOf(ROUNDS);
  readonly #freeOf = new Map<TenantUuid, Places>();

  constructor(options: CourierOptions) {
    this.#options = options;
  }

  /** Begins with the webhooks of these tenants. */
  async start(isOurs: (tenantUuid: TenantUuid) => boolean): Promise<void> {
    const tenants = await this.#options.store.read(loadWebhookTenants);
    for (const tenantUuid of tenants) if (isOurs(tenantUuid)) this.reload(tenantUuid);
  }

  /** Requests under way are cut: their events are sent again. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const rounds of this.#tenants.values()) for (const { cancelNext } of rounds.values()) cancelNext();
    await Promise.all(this.#underWay);
  }

  /**
   * The tenant may have a new event; without a tenant, any may. One without webhooks costs no read: each change of
   * every tenant comes here.
   */
  look(tenantUuid?: TenantUuid): void {
    const tenants = tenantUuid === undefined ? [...this.#tenants.keys()] : [tenantUuid];
    for (const each of tenants) if (this.#tenants.has(each) || this.#looking.has(each)) this.reload(each);
  }

  /** The tenant may have other webhooks, or a dead letter to send again. */
  reload(tenantUuid: TenantUuid): void {
    if (this.#stopped.signal.aborted) return;
    const looking = this.#looking.get(tenantUuid);
    if (looking !== undefined) {
      looking.isDue = true;
      return;
    }
    this.#looking.set(tenantUuid, { isDue: false });
    this.#track(
      this.#untilDone(() => this.#lookAt(tenantUuid)).finally(() => {
        const isDue = this.#looking.get(tenantUuid)?.isDue === true;
        this.#looking.delete(tenantUuid);
        if (isDue) this.reload(tenantUuid);
      }),
    );
  }

  async #lookAt(tenantUuid: TenantUuid): Promise<void> {
    const webhooks = await this.#options.store.read((trx) => loadWebhooks(trx, tenantUuid));
    const before = this.#tenants.get(tenantUuid) ?? new Map<string, Rounds>();
    const now = new Map<string, Rounds>();
    for (const { webhookId, mailTo } of webhooks) {
      const kind = mailTo === null ? 'webhook' : 'mail';
      now.set(
        webhookId,
        before.get(webhookId) ?? {
          kind,
          isRunning: false,
          isBehind: false,
          isDue: false,
          cancelNext: () => {},
        },
      );
    }
    for (const [webhookId, { cancelNext }] of before) if (!now.has(webhookId)) cancelNext();
    if (now.size === 0) this.#tenants.delete(tenantUuid);
    else this.#tenants.set(tenantUuid, now);
    for (const [webhookId, rounds] of now) this.#run(tenantUuid, webhookId, rounds);
  }

  #run(tenantUuid: TenantUuid, webhookId: string, rounds: Rounds): void {
    rounds.isDue = true;
    if (rounds.isRunning || this.#stopped.signal.aborted) return;
    rounds.isRunning = true;
    rounds.cancelNext();
    this.#track(this.#runWhileDue(tenantUuid, webhookId, rounds));
  }

  async #runWhileDue(tenantUuid: TenantUuid, webhookId: string, rounds: Rounds): Promise<void> {
    const freeOf = this.#freeOf.get(tenantUuid) ?? placesOf(ROUNDS_OF_TENANT);
    this.#freeOf.set(tenantUuid, freeOf);
    let nextAtMs: EpochMs | undefined;
    while (rounds.isDue && !this.#stopped.signal.aborted) {
      rounds.isDue = false;
      nextAtMs = await freeOf[rounds.kind].pass(() =>
        this.#free[rounds.kind].pass(() => this.#untilDone(() => this.#round(tenantUuid, webhookId, rounds))),
      );
      if (nextAtMs !== undefined && nextAtMs <= this.#options.clock.nowMs()) rounds.isDue = true;
    }
    rounds.isRunning = false;
    if (nextAtMs === undefined || this.#stopped.signal.aborted) return;
    const waitMs = Math.max(0, nextAtMs - this.#options.clock.nowMs());
    rounds.cancelNext = this.#options.clock.after(waitMs, () => this.#run(tenantUuid, webhookId, rounds));
  }

  /** @returns the instant of the next round; undefined if only a new event leads to one */
  async #round(tenantUuid: TenantUuid, webhookId: string, rounds: Rounds): Promise<EpochMs | undefined> {
    const { clock, store } = this.#options;
    const count = rounds.isBehind ? EVENTS_BEHIND : EVENTS_AT_ONCE;
    const input = await store.read((trx) => this.#inputOf(trx, tenantUuid, webhookId, count));
    if (input === undefined) return undefined;
    const { webhook, lanes, cursorId, endedLanes, forgotten, hasMore } = input;
    rounds.isBehind = hasMore;
    const endsAtMs = clock.monotonicMs() + ROUND_MS;
    const results = await atOnce(REQUESTS_OF_WEBHOOK, input.runs, (run) =>
      this.#sendRun(tenantUuid, input, run, endsAtMs),
    );
    if (this.#stopped.signal.aborted) return undefined;
    const progressed = progressOf(input, results, clock.nowMs());
    const change = { ...progressed, lanes: [...input.moved, ...progressed.lanes] };
    const revived = [...change.revived, ...forgotten];
    const isChanged =
      cursorId !== webhook.cursorId ||
      endedLanes.length + change.lanes.length + change.deadLetters.length + revived.length > 0;
    const progress = { webhookId, cursorId, endedLanes, ...change, revived };
    // The write alone is repeated: the receivers have the events.
    if (isChanged)
      await this.#untilDone(() => store.append(tenantUuid, [{ kind: 'webhook.progress', progress }]));
    if (this.#stopped.signal.aborted) return undefined;
    const dead = change.deadLetters.filter(({ nextAttemptAtMs }) => nextAttemptAtMs === null);
    this.#reportDead(tenantUuid, webhookId, dead);
    if (hasMore || input.letters.length > 0) return clock.nowMs();
    const renewed = new Map(lanes.map((lane) => [lane.locationId, lane]));
    for (const lane of change.lanes) renewed.set(lane.locationId, lane);
    for (const locationId of endedLanes) renewed.delete(locationId);
    const later = [
      ...[...renewed.values()].map(({ nextAttemptAtMs }) => nextAttemptAtMs),
      input.lettersDueAtMs,
      input.gatheredAtMs,
    ].filter((atMs) => atMs !== undefined);
    return later.length === 0 ? undefined : Math.min(...later);
  }

  /** Undefined for a webhook that was deleted, and for a tenant without the feature. */
  async #inputOf(
    trx: Knex.Transaction,
    tenantUuid: TenantUuid,
    webhookId: string,
    count: number,
  ): Promise<RoundInput | undefined> {
    const webhook = (await loadWebhooks(trx, tenantUuid)).find((each) => each.webhookId === webhookId);
    const tenant: { features: string } | undefined = await trx('tenants')
      .where('tenant_uuid', tenantUuid)
      .first('features');
    const features: unknown = JSON.parse(tenant?.features ?? '[]');
    if (webhook === undefined || !Array.isArray(features) || !features.includes(ENERGY_MANAGEMENT))
      return undefined;
    if (webhook.mailTo !== null) return this.#mailInputOf(trx, tenantUuid, webhook);
    const { readEvents } = this.#options;
    const now = this.#options.clock.nowMs();
    const types = webhook.types ?? undefined;
    const isWanted = (event: EventRecord) => isWantedBy(webhook, event);
    const lanes = await loadLanes(trx, tenantUuid, webhookId);
    const held = new Set(lanes.map(({ locationId }) => locationId));
    const part = { afterId: webhook.cursorId, types, locationId: undefined, count };
    const { events, newestId } = await readEvents(trx, tenantUuid, part);
    const hasMore = events.length === count;
    // After an older database was put in place, its newest event may be before the cursor.
    const cursorId = hasMore ? (events.at(-1)?.id ?? newestId) : newestId;
    const runs: Run[] = [];
    const fresh = events.filter((event) => isWanted(event) && !held.has(event.locationId));
    for (const [locationId, ofLocation] of byLocation(fresh))
      runs.push({ kind: 'log', locationId, events: ofLocation, settledTo: [] });
    const endedLanes: (LocationId | null)[] = [];
    const moved: WebhookLane[] = [];
    const due = lanes.filter(({ nextAttemptAtMs }) => nextAttemptAtMs <= now);
    due.sort((a, b) => a.nextAttemptAtMs - b.nextAttemptAtMs);
    for (const { locationId, afterId } of due.slice(0, LANES_AT_ONCE)) {
      const ofLane = await readEvents(trx, tenantUuid, { afterId, types, locationId, count: EVENTS_AT_ONCE });
      const covered = ofLane.events.filter(({ id }) => id <= cursorId);
      const waiting = covered.filter(isWanted);
      const passed = covered[EVENTS_AT_ONCE - 1];
      if (waiting.length > 0) runs.push({ kind: 'lane', locationId, events: waiting, settledTo: [] });
      else if (passed === undefined) endedLanes.push(locationId);
      else moved.push(laneAfter(locationId, passed.id, now));
    }
    const { runs: replays, ...replayed } = await this.#replaysOf(trx, tenantUuid, webhookId, now);
    return {
      ...replayed,
      webhook,
      lanes,
      ofMail: NO_LETTERS,
      runs: [...runs, ...replays],
      cursorId,
      moved,
      gatheredAtMs: undefined,
      names: NO_NAMES,
      hasMore,
      endedLanes,
    };
  }

  /** One mail at a time: its lane covers the events up to the cursor, which stays until the mail is sent or dead. */
  async #mailInputOf(
    trx: Knex.Transaction,
    tenantUuid: TenantUuid,
    webhook: PlacedWebhook,
  ): Promise<RoundInput | undefined> {
    const { clock, readEvents, sendMail } = this.#options;
    if (sendMail === undefined) return undefined;
    const now = clock.nowMs();
    const lanes = await loadLanes(trx, tenantUuid, webhook.webhookId);
    const [lane] = lanes;
    const lettersOf = (isResting: boolean, placeId: number, count: number) =>
      loadDeadLetters(trx, tenantUuid, webhook.webhookId, { isResting, afterId: placeId, count });
    const replayed = await this.#replaysOf(trx, tenantUuid, webhook.webhookId, now);
    const input = {
      ...replayed,
      webhook,
      lanes,
      ofMail: NO_LETTERS,
      cursorId: webhook.cursorId,
      moved: [],
      gatheredAtMs: undefined,
      names: await namesOf(trx, tenantUuid),
      hasMore: false,
      endedLanes: [],
    };
    const afterId = lane?.afterId ?? webhook.cursorId;
    const part = { afterId, types: webhook.types ?? undefined, locationId: undefined, count: EVENTS_OF_MAIL };
    const { events, newestId } = await readEvents(trx, tenantUuid, part);
    const wanted = events.filter((event) => isWantedBy(webhook, event));
    if (lane !== undefined) {
      const ofMail = wanted.filter(({ id }) => id <= webhook.cursorId);
      const passed = events[EVENTS_OF_MAIL - 1];
      if (ofMail.length === 0)
        return passed === undefined || passed.id > webhook.cursorId
          ? { ...input, endedLanes: [null], hasMore: true }
          : { ...input, moved: [laneAfter(null, passed.id, now)], hasMore: true };
      if (lane.nextAttemptAtMs > now) return input;
      const refused = [
        ...(await lettersOf(true, afterId, EVENTS_OF_MAIL)),
        ...(await lettersOf(false, afterId, EVENTS_OF_MAIL)),
      ];
      const { settledTo } = lane;
      // One run of a round writes the letters of an event: those of this mail are sent again in the next round.
      const others = replayed.runs.filter((run) => run.events.every(({ id }) => id <= afterId));
      return {
        ...input,
        ofMail: new Map(refused.map((letter) => [letter.eventId, letter])),
        runs: [...others, { kind: 'lane', locationId: null, events: ofMail, settledTo }],
      };
    }
    const isFull = events.length === EVENTS_OF_MAIL;
    const cursorId = isFull ? (events.at(-1)?.id ?? newestId) : newestId;
    const [first] = wanted;
    if (first === undefined) return { ...input, cursorId, hasMore: isFull };
    // The clock may have been set back since.
    const gatheredAtMs = first.atMs > now ? now : first.atMs + MAIL_GATHERS_MS;
    if (gatheredAtMs > now) return { ...input, gatheredAtMs };
    return { ...input, cursorId, moved: [laneAfter(null, afterId, now)], hasMore: true };
  }

  /** The dead letters to send now, the oldest of a location first. */
  async #replaysOf(
    trx: Knex.Transaction,
    tenantUuid: TenantUuid,
    webhookId: string,
    now: EpochMs,
  ): Promise<Pick<RoundInput, 'runs' | 'letters' | 'lettersDueAtMs' | 'forgotten'>> {
    const { due: letters, nextAtMs } = await loadDueLetters(trx, tenantUuid, webhookId, now, LETTERS_AT_ONCE);
    const replays: Run[] = [];
    const forgotten: number[] = [];
    for (const [locationId, ofLocation] of byLocation(letters)) {
      // Events for the same receivers share a mail.
      const runs = new Map<
        string,
        { readonly events: EventRecord[]; readonly settledTo: readonly string[] }
      >();
      for (const { eventId, settledTo } of ofLocation.slice(0, EVENTS_AT_ONCE)) {
        const part = { afterId: eventId - 1, types: undefined, locationId, count: 1 };
        const [event] = (await this.#options.readEvents(trx, tenantUuid, part)).events;
        const key = settledTo.join(' ');
        if (event?.id !== eventId) forgotten.push(eventId);
        else if (!runs.get(key)?.events.push(event)) runs.set(key, { events: [event], settledTo });
      }
      for (const run of runs.values()) replays.push({ kind: 'letters', locationId, ...run });
    }
    return { runs: replays, letters, lettersDueAtMs: nextAtMs, forgotten };
  }

  async #sendRun(
    tenantUuid: TenantUuid,
    { webhook, names }: RoundInput,
    run: Run,
    endsAtMs: number,
  ): Promise<RunResult> {
    const sent: number[] = [];
    const { mailTo } = webhook;
    const messages =
      mailTo === null
        ? run.events.map((event) => ({
            events: [event],
            send: () => this.#sendEvent(tenantUuid, webhook, event),
          }))
        : [
            {
              events: run.events,
              send: () => this.#sendMail(tenantUuid, { ...webhook, mailTo }, names, run),
            },
          ];
    for (const { events, send } of messages) {
      if (this.#options.clock.monotonicMs() >= endsAtMs) break;
      const failure = await send();
      for (const _ of events) this.#options.onResult(failure === undefined ? 'delivered' : 'failed');
      if (failure !== undefined) return { run, sent, failed: { events, failure } };
      sent.push(...events.map(({ id }) => id));
    }
    return { run, sent };
  }

  async #sendMail(
    tenantUuid: TenantUuid,
    { webhookId, mailTo }: { readonly webhookId: string; readonly mailTo: readonly string[] },
    names: ReadonlyMap<string, string>,
    { events, settledTo }: Run,
  ): Promise<MailFailure> {
    const receivers = without(mailTo, settledTo);
    if (receivers.length === 0) return undefined;
    const messageId = `${webhookId}.${events[0]?.id ?? 0}-${events.at(-1)?.id ?? 0}`;
    const { signal } = this.#stopped;
    const mail = { tenantUuid, to: mailTo, receivers, messageId, ...mailOf(events, names), signal };
    return (
      this.#options.sendMail?.(mail) ?? {
        error: 'this service sends no mail',
        refused: [],
        delayed: receivers,
      }
    );
  }

  #sendEvent(tenantUuid: TenantUuid, webhook: PlacedWebhook, event: EventRecord): Promise<WebhookFailure> {
    const { clock, send, viewOfEvent } = this.#options;
    const { webhookId, url, secret, previousSecret } = webhook;
    const now = clock.nowMs();
    const id = `${webhookId}_${event.id}`;
    const timestamp = String(Math.floor(now / 1000));
    const body = JSON.stringify({
      type: event.type,
      timestamp: toInstant(event.atMs),
      data: viewOfEvent(event),
    });
    const secrets = [
      secret,
      ...(previousSecret !== null && previousSecret.untilMs > now ? [previousSecret.secret] : []),
    ];
    const signatures = secrets.map((each) => signWebhook(each, `${id}.${timestamp}.${body}`));
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    };
    return send({ tenantUuid, url, headers, body, signal: this.#stopped.signal });
  }

  #reportDead(tenantUuid: TenantUuid, webhookId: string, dead: readonly DeadLetter[]): void {
    const [first] = dead;
    if (first === undefined) return;
    const { log, onResult } = this.#options;
    for (const _ of dead) onResult('dead');
    const { eventId, attempts, error } = first;
    log.warn(
      { tenantUuid, webhookId, eventId, attempts, error, events: dead.length },
      'a webhook, or a receiver of mails, did not take events: they are given up, first eventId',
    );
  }

  #track(work: Promise<void>): void {
    this.#underWay.add(work);
    void work.finally(() => this.#underWay.delete(work));
  }

  /** Repeats `work` until the database takes it, or the courier stops. Never rejects. */
  async #untilDone<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { clock, log } = this.#options;
    while (!this.#stopped.signal.aborted) {
      try {
        return await work();
      } catch (error) {
        if (this.#stopped.signal.aborted) return undefined;
        log.warn({ err: error }, 'webhooks and mails wait for the database');
        await pause(clock, AGAIN_AFTER_MS, this.#stopped.signal);
      }
    }
    return undefined;
  }
}

/** The changes of a round beside the cursor. */
function progressOf(
  { webhook, lanes, letters, ofMail }: RoundInput,
  results: readonly RunResult[],
  now: EpochMs,
) {
  const newLanes: WebhookLane[] = [];
  const deadLetters: DeadLetter[] = [];
  const revived: number[] = [];
  for (const { run, sent, failed } of results) {
    const { kind, locationId } = run;
    if (kind === 'letters') {
      revived.push(...sent);
      for (const { id } of failed?.events ?? []) {
        const letter = letters.find(({ eventId }) => eventId === id);
        if (letter === undefined || failed === undefined) continue;
        const attempts = letter.attempts + 1;
        const nextAttemptAtMs = now + waitMsAfter(attempts, failed.failure);
        const { error, refused = [], delayed } = failed.failure;
        const isOver = delayed?.length === 0 || nextAttemptAtMs > (letter.triedUntilMs ?? 0);
        const taken = without(webhook.mailTo ?? [], [...refused, ...(delayed ?? [])]);
        const settledTo = [...new Set([...letter.settledTo, ...taken])];
        const rest = isOver
          ? { diedAtMs: now, nextAttemptAtMs: null, triedUntilMs: null }
          : { nextAttemptAtMs };
        deadLetters.push({ ...letter, attempts, error, settledTo, ...rest });
      }
      continue;
    }
    if (failed === undefined) {
      const lastId = sent.at(-1) ?? (run.events[0]?.id ?? 0) - 1;
      // The round ended before all were sent, or the lane has more.
      if (kind === 'log' ? sent.length < run.events.length : sent.length > 0)
        newLanes.push(laneAfter(locationId, lastId, now));
      continue;
    }
    const { events, failure } = failed;
    const { error, refused = [], delayed } = failure;
    const lane = lanes.find((each) => each.locationId === locationId);
    // A lane counts the attempts of its next message alone.
    const attempts = (sent.length === 0 && kind === 'lane' ? (lane?.attempts ?? 0) : 0) + 1;
    const nextAttemptAtMs = now + waitMsAfter(attempts, failure);
    const isTried = ({ atMs }: EventRecord) =>
      delayed?.length !== 0 && nextAttemptAtMs <= Math.max(atMs, webhook.updatedAtMs) + TRIED_FOR_MS;
    const alive = events.find(isTried);
    const dead = alive === undefined ? events : events.slice(0, events.indexOf(alive));
    const { mailTo } = webhook;
    const givenUp = { attempts, error, diedAtMs: now, nextAttemptAtMs: null, triedUntilMs: null };
    // A receiver that refused a mail for good gives up all its events, while others wait for them.
    for (const { id, locationId: place } of refused.length > 0 ? events : dead) {
      const owedTo = id <= (dead.at(-1)?.id ?? 0) ? [...refused, ...(delayed ?? [])] : refused;
      const earlier = ofMail.get(id);
      const settledTo = without(earlier?.settledTo ?? mailTo ?? [], owedTo);
      deadLetters.push({ eventId: id, locationId: place, ...givenUp, ...underWay(earlier), settledTo });
    }
    const lastDead = dead.at(-1);
    const settledTo =
      mailTo === null || alive === undefined
        ? []
        : [...new Set([...run.settledTo, ...without(mailTo, delayed ?? [])])];
    if (lastDead !== undefined) newLanes.push({ ...laneAfter(locationId, lastDead.id, now), settledTo });
    else if (alive !== undefined)
      newLanes.push({ locationId, afterId: alive.id - 1, attempts, nextAttemptAtMs, error, settledTo });
  }
  return { lanes: newLanes, deadLetters, revived };
}

/** The next message of a location begins, without an attempt yet. */
function laneAfter(locationId: LocationId | null, afterId: number, now: EpochMs): WebhookLane {
  return { locationId, afterId, attempts: 0, nextAttemptAtMs: now, error: '', settledTo: [] };
}

/** A letter that is sent again already goes on. */
function underWay(letter: DeadLetter | undefined) {
  return letter && { nextAttemptAtMs: letter.nextAttemptAtMs, triedUntilMs: letter.triedUntilMs };
}

function without(addresses: readonly string[], left: readonly string[]): readonly string[] {
  return addresses.filter((address) => !left.includes(address));
}

function isWantedBy({ locationIds }: PlacedWebhook, { locationId, data }: EventRecord): boolean {
  // A mute withholds it.
  if (data.isWithheld === true) return false;
  return locationIds === null || (locationId !== null && locationIds.includes(locationId));
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();
const NO_LETTERS: ReadonlyMap<number, DeadLetter> = new Map();

/** The names of the tenant's locations. */
async function namesOf(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<ReadonlyMap<string, string>> {
  const rows: { location_id: string; name: string }[] = await trx('locations')
    .where('tenant_uuid', tenantUuid)
    .select('location_id', 'name');
  return new Map(rows.map((row) => [row.location_id, row.name]));
}

function waitMsAfter(attempts: number, { retryAfterMs = 0 }: NonNullable<WebhookFailure>): number {
  const backoffS = BACKOFF_S[Math.min(attempts, BACKOFF_S.length) - 1] ?? 0;
  return Math.max(1000 * backoffS, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
}

function byLocation<Row extends { readonly locationId: LocationId | null }>(
  rows: readonly Row[],
): ReadonlyMap<LocationId | null, readonly Row[]> {
  const groups = new Map<LocationId | null, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.locationId);
    if (group === undefined) groups.set(row.locationId, [row]);
    else group.push(row);
  }
  return groups;
}

/** The results in the order of `inputs`, of which at most `most` are worked on at once. */
async function atOnce<In, Out>(
  most: number,
  inputs: readonly In[],
  work: (input: In) => Promise<Out>,
): Promise<readonly Out[]> {
  const gate = new Gate(most);
  return Promise.all(inputs.map((input) => gate.pass(() => work(input))));
}

function placesOf(count: number): Places {
  return { webhook: new Gate(count), mail: new Gate(count) };
}

/** Lets some through at once; the others wait in turn. */
class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
