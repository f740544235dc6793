// Resolves calls without an answer: their change is stored completely, or not at all (P9). Passes the stored ones to
// `CallBook`.
import type { CallBook } from '../world/call-book.js';
import { type NewProfile, submissionOf } from '../world/limit-oracle.js';
import { type Ask, isCancellation, type Question } from './inquiry.js';
import { isSubmission, type ProfileView } from './limit-reads.js';

interface Cluster {
  readonly clusterId: string;
  readonly name: string;
  readonly limitKw: number | null;
  readonly status: string;
  readonly locationIds: readonly string[];
}

/** Answer that the call would have got if it was stored; undefined if it was not. */
type Outcome = Promise<object | undefined>;

export class UncertainCalls {
  readonly #book: CallBook;
  readonly #ask: Ask;
  readonly #isKnownCluster: (clusterId: string) => boolean;
  #waiting: { readonly call: Question; readonly tenantUuid: string }[] = [];

  constructor(options: {
    readonly book: CallBook;
    readonly ask: Ask;
    /** True for a cluster that was acknowledged. */
    readonly isKnownCluster: (clusterId: string) => boolean;
  }) {
    this.#book = options.book;
    this.#ask = options.ask;
    this.#isKnownCluster = options.isKnownCluster;
  }

  /** The call got no answer, or was refused because the database was unavailable. */
  add(call: Question, tenantUuid: string): void {
    if (call.method !== 'GET') this.#waiting.push({ call, tenantUuid });
  }

  /** Asks the running service for the outcome of these calls. */
  async resolve(): Promise<void> {
    const calls = this.#waiting;
    this.#waiting = [];
    for (const { call, tenantUuid } of calls) {
      for (const part of await this.#partsOf(call, tenantUuid)) {
        const outcome = await this.#outcomeOf(part, tenantUuid);
        if (outcome === undefined) continue;
        this.#book.before(part);
        this.#book.after(part, { status: 200, body: outcome });
      }
    }
  }

  async #profileAt(path: string, field: string, body: unknown, tenantUuid: string): Outcome {
    const answer = await this.#ask({ method: 'GET', path }, tenantUuid);
    const wanted = submissionOf(body as NewProfile, 0);
    const views = (answer.body as Record<string, readonly ProfileView[]> | undefined)?.[field] ?? [];
    const view = views.find(({ priority }) => priority === wanted.priority);
    return view !== undefined && isSubmission(view, wanted) ? view : undefined;
  }

  async #clusterAfter({ method, path, body }: Question, tenantUuid: string): Outcome {
    const [, , clusterId = '', , memberId] = path.split('/');
    if (method === 'POST' && clusterId === '') {
      const list = await this.#ask({ method: 'GET', path }, tenantUuid);
      const { clusters } = list.body as { clusters: readonly Cluster[] };
      return clusters.find((each) => !this.#isKnownCluster(each.clusterId));
    }
    const { status, body: read } = await this.#ask(
      { method: 'GET', path: `/clusters/${clusterId}` },
      tenantUuid,
    );
    if (method === 'DELETE' && memberId === undefined) return status === 404 ? {} : undefined;
    if (status !== 200) return undefined;
    const cluster = read as Cluster;
    if (method === 'DELETE') return cluster.locationIds.includes(memberId ?? '') ? undefined : cluster;
    const wanted = Object.entries(body as object);
    const isDone = wanted.every(
      ([name, value]) => JSON.stringify(Reflect.get(cluster, name)) === JSON.stringify(value),
    );
    return isDone ? cluster : undefined;
  }

  /** A free slot means a cancellation, or that there was nothing to cancel: later calls show no difference. */
  async #cancelledAt(path: string, tenantUuid: string): Outcome {
    const [, kind] = path.split('/');
    const schedules = path.slice(0, path.lastIndexOf('/'));
    const place = kind === 'locations' ? schedules.replace(/schedules$/, 'limits') : schedules;
    const { status, body } = await this.#ask({ method: 'GET', path: place }, tenantUuid);
    if (status !== 200) return undefined;
    const { profiles } = body as { profiles: readonly ProfileView[] };
    const priority = Number(path.slice(path.lastIndexOf('/') + 1));
    return profiles.some((profile) => profile.priority === priority) ? undefined : {};
  }

  async #outcomeOf(call: Question, tenantUuid: string): Outcome {
    const { method, path, body } = call;
    if (isCancellation(call)) return this.#cancelledAt(path, tenantUuid);
    if (path.startsWith('/locations/') && method === 'POST')
      return this.#profileAt(path.replace(/schedules$/, 'limits'), 'profiles', body, tenantUuid);
    if (path.startsWith('/chargers/')) return this.#profileAt(path, 'profiles', body, tenantUuid);
    if (path.startsWith('/locations/')) {
      const answer = await this.#ask({ method: 'GET', path: `${path}s` }, tenantUuid);
      const { permanentLimitKw } = answer.body as { permanentLimitKw: number };
      return permanentLimitKw === (body as { limitKw: number }).limitKw ? {} : undefined;
    }
    return this.#clusterAfter(call, tenantUuid);
  }

  /** A cluster's schedule is one call for each member. */
  async #partsOf(call: Question, tenantUuid: string): Promise<readonly Question[]> {
    const clusterId = /^\/clusters\/([^/]+)\/schedules$/.exec(call.path)?.[1];
    if (clusterId === undefined) return [call];
    const { body } = await this.#ask({ method: 'GET', path: `/clusters/${clusterId}` }, tenantUuid);
    const { locationIds = [] } = (body ?? {}) as Partial<Cluster>;
    return locationIds.map((id) => ({ ...call, path: `/locations/${id}/schedules` }));
  }
}
