// Checks that act on the world, for worlds in which faults are wanted.

import { z } from 'zod';
import { buildTopic } from '../../src/wire/topics.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Question } from '../world/rest-client.js';
import type { CheckedWorld } from './checked-world.js';

type Kind = 'location' | 'charger' | 'cluster';

/** Both ids have the same length: an answer that shows the length of an id shows nothing about its owner. */
function strangerOf(id: string): string {
  return 'z'.repeat(id.length);
}

type TenantIsolationWorld = Pick<CheckedWorld, 'sites' | 'oracle' | 'ask' | 'reached' | 'report'>;

export class TenantIsolation {
  readonly #world: TenantIsolationWorld;
  readonly #window = { startTime: '2000-01-01T00:00:00Z', endTime: '2100-01-01T00:00:00Z', limitKw: 1 };

  constructor(world: TenantIsolationWorld) {
    this.#world = world;
  }

  /** Calls every endpoint that names an object, as every tenant, for objects of another one. */
  async probe(): Promise<void> {
    const tenants = new Set([...this.#world.sites.values()].map(({ tenantUuid }) => tenantUuid));
    for (const tenantUuid of tenants) {
      const others = [...this.#world.sites.values()].filter((site) => site.tenantUuid !== tenantUuid);
      const [other] = others;
      if (other === undefined) continue;
      await this.#probeOne('location', other.locationId, tenantUuid);
      const controllerUuid = other.connectors[0]?.facts.key.split('/')[0];
      if (controllerUuid !== undefined) await this.#probeOne('charger', controllerUuid, tenantUuid);
      const clusterId = [...this.#world.oracle.clusters].find(([, { locationIds }]) =>
        others.some(({ locationId }) => locationIds.includes(locationId)),
      )?.[0];
      if (clusterId !== undefined) await this.#probeOne('cluster', clusterId, tenantUuid);
    }
  }

  #questionsOf(kind: Kind, id: string): readonly Question[] {
    if (kind === 'charger') {
      const path = `/chargers/${id}/connectors/1/schedules`;
      return [
        { method: 'GET', path },
        { method: 'POST', path, body: this.#window },
        { method: 'DELETE', path: `${path}/0` },
      ];
    }
    if (kind === 'cluster') {
      const path = `/clusters/${id}`;
      return [
        { method: 'GET', path },
        { method: 'PATCH', path, body: { limitKw: 1 } },
        { method: 'DELETE', path },
        { method: 'DELETE', path: `${path}/locations/${id}` },
        { method: 'POST', path: `${path}/schedules`, body: this.#window },
      ];
    }
    const path = `/locations/${id}`;
    const reads = ['limits', 'live', 'timeline', 'history', 'power', 'alarms'].map((view) => ({
      method: 'GET',
      path: `${path}/${view}`,
    }));
    return [
      ...reads,
      { method: 'POST', path: `${path}/schedules`, body: this.#window },
      { method: 'DELETE', path: `${path}/schedules/0` },
      { method: 'PUT', path: `${path}/limit`, body: { limitKw: 1 } },
      { method: 'POST', path: '/clusters', body: { name: 'walls', locationIds: [id] } },
    ];
  }

  /** The answer without the id of the request and the id in the question. */
  async #answerOf(question: Question, id: string, tenantUuid: string): Promise<string> {
    const { status, body } = await this.#world.ask(question, tenantUuid);
    return `${status} ${JSON.stringify(body ?? null)
      .replace(/"requestId":"[^"]*"/, '')
      .replaceAll(id, '')}`;
  }

  async #probeOne(kind: Kind, id: string, tenantUuid: string): Promise<void> {
    const stranger = strangerOf(id);
    const missing = this.#questionsOf(kind, stranger);
    for (const [i, question] of this.#questionsOf(kind, id).entries()) {
      const unknown = missing[i];
      if (unknown === undefined) continue;
      const answer = await this.#answerOf(question, id, tenantUuid);
      const ofMissing = await this.#answerOf(unknown, stranger, tenantUuid);
      // No service runs.
      if (ofMissing.startsWith('0 ')) return;
      this.#world.reached.note('otherTenantRefused');
      if (answer.startsWith('404') && answer === ofMissing) continue;
      const detail = `${question.method} ${question.path} was answered ${answer}, for a missing one ${ofMissing}`;
      this.#world.report({ invariant: 'P11', target: id, detail });
    }
  }
}

// Delivers messages a second time, in another order, and checks that no limit or state changes by that (P8).
const offlineSchema = z.object({
  connectors: z.array(z.object({ controllerUuid: z.string(), link: z.string() })),
});

function isOffline(live: unknown, controllerUuid: string): boolean {
  const read = offlineSchema.safeParse(live);
  if (!read.success) return true;
  return read.data.connectors.some(
    (each) => each.controllerUuid === controllerUuid && each.link === 'offline',
  );
}

/** Only messages with a number show their age; this many of each connector are repeated. */
const COUNTED_KEPT = 3;

type DoubledMessagesWorld = Pick<CheckedWorld, 'books' | 'runs' | 'deliver' | 'ask' | 'reached' | 'report'>;

export class DoubledMessages {
  readonly #world: DoubledMessagesWorld;
  /** By topic. */
  readonly #counted = new Map<string, ChargerMessage[]>();
  /** Boots in the order of their first messages, by topic. */
  readonly #bootsOf = new Map<string, (string | undefined)[]>();
  /** Boot in the charger's last state, by the topic of that state. */
  readonly #boots = new Map<string, string | undefined>();

  constructor(world: DoubledMessagesWorld) {
    this.#world = world;
  }

  /** The message reaches the service now. */
  received(message: ChargerMessage): void {
    const { topic } = message;
    if (message.body === undefined) return;
    if (message.kind === 'state') this.#boots.set(topic, message.body.boot);
    // After a goodbye, a repetition of the state before it would be news.
    if (message.kind === 'state' && !message.body.online) {
      this.#counted.delete(topic);
      return;
    }
    if (message.kind === 'meter' && message.body.hb === undefined) return;
    let kept = this.#counted.get(topic);
    if (kept === undefined) {
      kept = [];
      this.#counted.set(topic, kept);
    }
    // A late message of a past boot counts as new once the newer boot is silent, so its repetition does, too.
    if (this.#isPast(topic, message.body.boot)) return;
    // After another start of the charger the repetition would not be the same message, but one of a past boot.
    if (kept[0]?.body?.boot !== message.body.boot) kept.length = 0;
    kept.push(message);
    if (kept.length > COUNTED_KEPT) kept.shift();
  }

  /** True if another boot of the same topic came after the first message of that boot. */
  #isPast(topic: string, boot: string | undefined): boolean {
    const boots = this.#bootsOf.get(topic) ?? [];
    const isNew = !boots.includes(boot);
    if (isNew) this.#bootsOf.set(topic, [...boots, boot]);
    return !isNew && boots.at(-1) !== boot;
  }

  /** Forgets all messages: the service that received them is gone. */
  forget(): void {
    this.#bootsOf.clear();
    this.#counted.clear();
    this.#boots.clear();
  }

  /** Repeats the last messages between the location's chargers and the service, in both directions. */
  async tellAgain(locationId: string): Promise<void> {
    this.#toChargers(locationId);
    await this.#toService(locationId);
  }

  #toChargers(locationId: string): void {
    for (const run of this.#world.runs) {
      if (run.charger.address.locationId !== locationId || !run.isConnected) continue;
      run.wake();
      const before = JSON.stringify(run.charger.limits());
      for (const { spec, holder } of run.charger.outlets) {
        const book = this.#world.books.byId(run.charger.address.controllerUuid, spec.connectorId);
        const { epoch, seq } = holder.applied;
        for (const number of [seq, seq - 1]) {
          const given = book?.given({ epoch, seq: number });
          if (given === undefined) continue;
          run.wire.receiver.limit(spec.connectorId, given);
          run.wire.receiver.answer();
        }
      }
      const after = JSON.stringify(run.charger.limits());
      const target = run.charger.address.controllerUuid;
      if (before !== after)
        this.#world.report({
          invariant: 'P8',
          target,
          detail: `it held ${before}, and after the same limits again ${after}`,
        });
    }
  }

  async #toService(locationId: string): Promise<void> {
    if (this.#world.deliver === undefined) return;
    const tenantUuid = this.#world.books.sites.get(locationId)?.tenantUuid ?? '';
    const path = `/locations/${locationId}/live`;
    const before = await this.#world.ask({ method: 'GET', path }, tenantUuid);
    for (const run of this.#world.runs) {
      if (run.charger.address.locationId !== locationId) continue;
      const { address, connectors } = run.charger;
      const stateTopic = buildTopic({ ...address, kind: 'state' });
      // A message of a past boot: if the newer boot is silent, the service takes the sender's boot for the running
      // one.
      const isOver = ({ body }: ChargerMessage) =>
        this.#boots.has(stateTopic) && body?.boot !== this.#boots.get(stateTopic);
      // The last will of a broken connection is a goodbye, so a repeated online state would be news.
      if (run.isConnected && !isOffline(before.body, address.controllerUuid)) {
        for (const message of this.#counted.get(stateTopic) ?? []) this.#world.deliver(run, message);
      }
      for (const { connectorId } of connectors) {
        for (const kind of ['ack', 'meter'] as const) {
          const kept = this.#counted.get(buildTopic({ ...address, kind, connectorId })) ?? [];
          for (const message of kept.toReversed()) if (!isOver(message)) this.#world.deliver(run, message);
        }
      }
    }
    const after = await this.#world.ask({ method: 'GET', path }, tenantUuid);
    this.#world.reached.note('doubledDelivery');
    if (JSON.stringify(before.body) === JSON.stringify(after.body)) return;
    const detail = `the service held ${JSON.stringify(before.body)}, and after the same messages again ${JSON.stringify(after.body)}`;
    this.#world.report({ invariant: 'P8', target: locationId, detail });
  }
}

type MemberRemovalsWorld = Pick<CheckedWorld, 'ask' | 'reached' | 'report'>;

/**
 * Removes all members of a cluster at the same time: one must stay, and every other confirmed removal must hold (P10).
 * The cluster is one of its own, without a cap, which limits no member and is deleted afterwards.
 */
export async function probeMemberRemovals(
  { ask, reached, report }: MemberRemovalsWorld,
  tenantUuid: string,
  locationIds: readonly string[],
): Promise<void> {
  const body = { name: 'removals', locationIds };
  const created = await ask({ method: 'POST', path: '/clusters', body }, tenantUuid);
  if (created.status !== 201) return;
  const { clusterId } = created.body as { clusterId: string };
  const path = `/clusters/${clusterId}`;
  const answers = await Promise.all(
    locationIds.map((id) => ask({ method: 'DELETE', path: `${path}/locations/${id}` }, tenantUuid)),
  );
  const left = await ask({ method: 'GET', path }, tenantUuid);
  await ask({ method: 'DELETE', path }, tenantUuid);
  const kept = locationIds.filter((_, i) => answers[i]?.status !== 200);
  const members = (left.body as { locationIds?: readonly string[] }).locationIds ?? [];
  const refused = answers.filter(({ status }) => status !== 200);
  const isRight =
    refused.length === 1 &&
    JSON.stringify(refused[0]?.body).includes('"CLUSTER_EMPTY"') &&
    JSON.stringify(members) === JSON.stringify(kept);
  if (answers.every(({ status }) => status === 200 || status === 400)) reached.note('concurrentRemovals');
  // A busy database may refuse any removal.
  if (isRight || answers.some(({ status }) => status === 503)) return;
  const detail = `removals were answered ${answers.map(({ status }) => status).join(', ')}, ${members.join(', ')} stayed`;
  report({ invariant: 'P10', target: clusterId, detail });
}
