// Requests objects of another tenant, and objects that do not exist: both answers must have the same bytes (P11).
import type { LimitOracle } from '../world/limit-oracle.js';
import type { Report } from '../world/power-watch.js';
import type { Ask, Question } from './inquiry.js';
import type { Reached } from './reached.js';
import type { SiteBooks } from './site-book.js';

type Kind = 'location' | 'charger' | 'cluster';

/** Both ids have the same length: an answer that shows the length of an id shows nothing about its owner. */
function strangerOf(id: string): string {
  return 'z'.repeat(id.length);
}

export class TenantIsolation {
  readonly #books: SiteBooks;
  readonly #oracle: LimitOracle;
  readonly #ask: Ask;
  readonly #reached: Reached;
  readonly #report: Report;
  readonly #window = { startTime: '2000-01-01T00:00:00Z', endTime: '2100-01-01T00:00:00Z', limitKw: 1 };

  constructor(options: {
    readonly books: SiteBooks;
    readonly oracle: LimitOracle;
    readonly ask: Ask;
    readonly reached: Reached;
    readonly report: Report;
  }) {
    this.#books = options.books;
    this.#oracle = options.oracle;
    this.#ask = options.ask;
    this.#reached = options.reached;
    this.#report = options.report;
  }

  /** Calls every endpoint that names an object, as every tenant, for objects of another one. */
  async probe(): Promise<void> {
    const tenants = new Set([...this.#books.sites.values()].map(({ tenantUuid }) => tenantUuid));
    for (const tenantUuid of tenants) {
      const others = [...this.#books.sites.values()].filter((site) => site.tenantUuid !== tenantUuid);
      const [other] = others;
      if (other === undefined) continue;
      await this.#probeOne('location', other.locationId, tenantUuid);
      const controllerUuid = other.connectors[0]?.facts.key.split('/')[0];
      if (controllerUuid !== undefined) await this.#probeOne('charger', controllerUuid, tenantUuid);
      const clusterId = [...this.#oracle.clusters].find(([, { locationIds }]) =>
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
    const { status, body } = await this.#ask(question, tenantUuid);
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
      this.#reached.note('otherTenantRefused');
      if (answer.startsWith('404') && answer === ofMissing) continue;
      const detail = `${question.method} ${question.path} was answered ${answer}, for a missing one ${ofMissing}`;
      this.#report({ invariant: 'P11', target: id, detail });
    }
  }
}
