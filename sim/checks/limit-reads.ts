// Reads limits, profiles and locks back over REST, and compares them with the oracle (P5, P6, P9).

import type { EpochMs } from '../../machines/values/time.js';
import { type NewProfile, type Submission, submissionOf } from '../world/limit-oracle.js';
import type { Question } from '../world/rest-client.js';
import type { CheckedWorld } from './checked-world.js';

interface ProfileView {
  readonly priority: number;
  readonly limitKw: number;
  readonly startTime: string;
  readonly endTime: string;
  readonly status: string;
}

interface Limits {
  readonly effectiveLimitKw: number;
  readonly permanentLimitKw: number;
  readonly profiles: readonly ProfileView[];
}

interface Live {
  readonly gridLimitKw: number;
  readonly budgetKw: number;
}

interface ClusterView {
  readonly clusterId: string;
  readonly limitKw: number | null;
  readonly status: string;
  readonly locationIds: readonly string[];
}

/** A budget is as old as the last decision, at most this much. */
const DECIDED_MS = 250;
const TOLERANCE_KW = 0.0015;

function statusOf({ startsAtMs, endsAtMs }: Submission, nowMs: EpochMs): string {
  if (endsAtMs <= nowMs) return 'EXPIRED';
  return startsAtMs <= nowMs ? 'ACTIVE' : 'SCHEDULED';
}

/** True if the profile as read is the one as submitted, apart from its status. */
function isSubmission(view: ProfileView, held: Submission): boolean {
  return (
    view.limitKw === held.limitKw &&
    Date.parse(view.startTime) === held.startsAtMs &&
    Date.parse(view.endTime) === held.endsAtMs
  );
}

type LimitReadsWorld = Pick<CheckedWorld, 'oracle' | 'sites' | 'nowMs' | 'ask' | 'reached' | 'report'>;

export class LimitReads {
  readonly #world: LimitReadsWorld;

  constructor(world: LimitReadsWorld) {
    this.#world = world;
  }

  /** Compares effective limit, permanent limit and every profile with its status, as of now. */
  async location(locationId: string): Promise<void> {
    const site = this.#world.sites.get(locationId);
    if (site === undefined) return;
    const limits = await this.#get<Limits>(`/locations/${locationId}/limits`, site.tenantUuid);
    if (limits === undefined) return;
    const effectiveKw = this.#world.oracle.effectiveLimitKw(locationId, this.#world.nowMs());
    if (limits.effectiveLimitKw !== effectiveKw) {
      const detail = `the effective limit is ${limits.effectiveLimitKw} kW, must be ${effectiveKw} kW`;
      this.#world.report({ invariant: 'P5', target: locationId, detail });
    }
    if (limits.permanentLimitKw !== this.#world.oracle.permanentKw(locationId)) {
      const detail = `the permanent limit is ${limits.permanentLimitKw} kW, ${this.#world.oracle.permanentKw(locationId)} kW was acknowledged`;
      this.#world.report({ invariant: 'P9', target: locationId, detail });
    }
    this.#compareProfiles(locationId, limits.profiles);
  }

  /** Compares the enforced limit, which must be right a second after a boundary. */
  async enforced(locationId: string): Promise<void> {
    const site = this.#world.sites.get(locationId);
    if (site === undefined) return;
    const live = await this.#get<Live>(`/locations/${locationId}/live`, site.tenantUuid);
    if (live === undefined) return;
    const nowMs = this.#world.nowMs();
    const ownKw = this.#world.oracle.limitW(locationId, nowMs) / 1000;
    const shareKw = this.#world.oracle.shareKw(locationId, nowMs);
    // A rising share waits for the other members. Other checks cover buildings and grid operators.
    const isExact = shareKw === Number.POSITIVE_INFINITY && !site.isLimitedFromOutside;
    const isWrong = isExact
      ? Math.abs(live.gridLimitKw - ownKw) > TOLERANCE_KW
      : live.gridLimitKw > Math.min(ownKw, shareKw) + TOLERANCE_KW;
    if (isWrong) {
      const detail = `the grid limit is ${live.gridLimitKw} kW, must be ${Math.min(ownKw, shareKw)} kW`;
      this.#world.report({ invariant: 'P6', target: locationId, detail });
    }
    if (live.gridLimitKw < Math.min(ownKw, shareKw) - TOLERANCE_KW)
      this.#world.reached.note('clusterShareWaiting');
    this.#compareBudget(locationId, live, isExact);
  }

  async connector(key: string): Promise<void> {
    const [controllerUuid = '', connectorId = ''] = key.split('/');
    const site = [...this.#world.sites.values()].find(({ connectors }) =>
      connectors.some(({ facts }) => facts.key === key),
    );
    if (site === undefined) return;
    const path = `/chargers/${controllerUuid}/connectors/${connectorId}/schedules`;
    const view = await this.#get<{ lockLimitKw: number | null; profiles: readonly ProfileView[] }>(
      path,
      site.tenantUuid,
    );
    if (view === undefined) return;
    const lockKw = this.#world.oracle.lockKw(key, this.#world.nowMs()) ?? null;
    if (view.lockLimitKw !== lockKw) {
      const detail = `the lock's limit is ${view.lockLimitKw} kW, must be ${lockKw} kW`;
      this.#world.report({ invariant: 'P5', target: key, detail });
    }
    this.#compareProfiles(key, view.profiles);
  }

  /** Compares everything that was ever acknowledged. */
  async everything(): Promise<void> {
    const tenants = new Set([...this.#world.sites.values()].map(({ tenantUuid }) => tenantUuid));
    for (const [locationId, { connectors }] of this.#world.sites) {
      await this.location(locationId);
      for (const { facts } of connectors)
        if ([...this.#world.oracle.profilesOf(facts.key)].length > 0) await this.connector(facts.key);
    }
    for (const tenantUuid of tenants) await this.#clusters(tenantUuid);
  }

  async #get<T>(path: string, tenantUuid: string): Promise<T | undefined> {
    const { status, body } = await this.#world.ask({ method: 'GET', path }, tenantUuid);
    if (status !== 200 && status !== 0)
      this.#world.report({ invariant: 'P14', target: path, detail: `GET was answered ${status}` });
    return status === 200 ? (body as T) : undefined;
  }

  #compareProfiles(target: string, views: readonly ProfileView[]): void {
    const nowMs = this.#world.nowMs();
    const held = [...this.#world.oracle.profilesOf(target)];
    if (views.length !== held.length) {
      const detail = `${views.length} profiles were read of ${held.length} that were acknowledged`;
      this.#world.report({ invariant: 'P9', target, detail });
    }
    for (const submission of held) {
      const view = views.find(({ priority }) => priority === submission.priority);
      if (view === undefined || !isSubmission(view, submission)) {
        const detail = `priority ${submission.priority} was read as ${JSON.stringify(view)}`;
        this.#world.report({ invariant: 'P9', target, detail });
      } else if (view.status !== statusOf(submission, nowMs)) {
        const detail = `priority ${view.priority} is ${view.status}, must be ${statusOf(submission, nowMs)}`;
        this.#world.report({ invariant: 'P6', target, detail });
      }
    }
  }

  /**
   * The budget follows the boundaries within the notice, or within the horizon if leases outlast a lower limit. It does
   * so as of now or of the last decision.
   */
  #compareBudget(locationId: string, { budgetKw }: Live, isExact: boolean): void {
    // Before its first decision a location has no budget.
    if (budgetKw === 0) return;
    const nowMs = this.#world.nowMs();
    const { noticeMs = 0, horizonMs = 0 } = this.#world.sites.get(locationId) ?? {};
    const lowestKw = (fromMs: EpochMs, spanMs: number) =>
      this.#world.oracle.lowestW(locationId, fromMs, fromMs + spanMs) / 1000;
    const isAsOf = (fromMs: EpochMs) =>
      isExact
        ? [noticeMs, horizonMs].some((ms) => Math.abs(budgetKw - lowestKw(fromMs, ms)) <= TOLERANCE_KW)
        : budgetKw <= lowestKw(fromMs, noticeMs) + TOLERANCE_KW;
    if (isAsOf(nowMs) || isAsOf(nowMs - DECIDED_MS)) return;
    const detail = `${budgetKw} kW may be granted, the lowest limit ahead is ${lowestKw(nowMs, noticeMs)} kW`;
    this.#world.report({ invariant: 'P6', target: locationId, detail });
  }

  async #clusters(tenantUuid: string): Promise<void> {
    const list = await this.#get<{ clusters: readonly ClusterView[] }>('/clusters', tenantUuid);
    if (list === undefined) return;
    const read = new Map(list.clusters.map((cluster) => [cluster.clusterId, cluster]));
    for (const [clusterId, known] of this.#world.oracle.clusters) {
      if (this.#world.sites.get(known.locationIds[0] ?? '')?.tenantUuid !== tenantUuid) continue;
      const view = read.get(clusterId);
      read.delete(clusterId);
      const isSame =
        view?.limitKw === known.limitKw &&
        (view.status === 'ACTIVE') === known.isActive &&
        [...view.locationIds].sort().join() === [...known.locationIds].sort().join();
      if (!isSame)
        this.#world.report({
          invariant: 'P9',
          target: clusterId,
          detail: `it was read as ${JSON.stringify(view)}`,
        });
    }
    for (const clusterId of read.keys())
      this.#world.report({
        invariant: 'P9',
        target: clusterId,
        detail: 'nobody received the answer that it was created',
      });
  }
}

// Resolves calls without an answer: their change is stored completely, or not at all (P9). Passes the stored ones to
// `CallBook`.
interface Cluster {
  readonly clusterId: string;
  readonly name: string;
  readonly limitKw: number | null;
  readonly status: string;
  readonly locationIds: readonly string[];
}

/** Answer that the call would have got if it was stored; undefined if it was not. */
type Outcome = Promise<object | undefined>;

type UncertainCallsWorld = Pick<CheckedWorld, 'book' | 'ask' | 'oracle'>;

export class UncertainCalls {
  readonly #world: UncertainCallsWorld;
  #waiting: { readonly call: Question; readonly tenantUuid: string }[] = [];

  constructor(world: UncertainCallsWorld) {
    this.#world = world;
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
        this.#world.book.before(part);
        this.#world.book.after(part, { status: 200, body: outcome });
      }
    }
  }

  async #profileAt(path: string, field: string, body: unknown, tenantUuid: string): Outcome {
    const answer = await this.#world.ask({ method: 'GET', path }, tenantUuid);
    const wanted = submissionOf(body as NewProfile, 0);
    const views = (answer.body as Record<string, readonly ProfileView[]> | undefined)?.[field] ?? [];
    const view = views.find(({ priority }) => priority === wanted.priority);
    return view !== undefined && isSubmission(view, wanted) ? view : undefined;
  }

  async #clusterAfter({ method, path, body }: Question, tenantUuid: string): Outcome {
    const [, , clusterId = '', , memberId] = path.split('/');
    if (method === 'POST' && clusterId === '') {
      const list = await this.#world.ask({ method: 'GET', path }, tenantUuid);
      const { clusters } = list.body as { clusters: readonly Cluster[] };
      return clusters.find((each) => !this.#world.oracle.clusters.has(each.clusterId));
    }
    const { status, body: read } = await this.#world.ask(
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
    const { status, body } = await this.#world.ask({ method: 'GET', path: place }, tenantUuid);
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
      const answer = await this.#world.ask({ method: 'GET', path: `${path}s` }, tenantUuid);
      const { permanentLimitKw } = answer.body as { permanentLimitKw: number };
      return permanentLimitKw === (body as { limitKw: number }).limitKw ? {} : undefined;
    }
    return this.#clusterAfter(call, tenantUuid);
  }

  /** A cluster's schedule is one call for each member. */
  async #partsOf(call: Question, tenantUuid: string): Promise<readonly Question[]> {
    const clusterId = /^\/clusters\/([^/]+)\/schedules$/.exec(call.path)?.[1];
    if (clusterId === undefined) return [call];
    const { body } = await this.#world.ask({ method: 'GET', path: `/clusters/${clusterId}` }, tenantUuid);
    const { locationIds = [] } = (body ?? {}) as Partial<Cluster>;
    return locationIds.map((id) => ({ ...call, path: `/locations/${id}/schedules` }));
  }
}

/** True for a call that cancels a profile. */
export function isCancellation({ method, path }: Question): boolean {
  return method === 'DELETE' && /\/schedules\/\d+$/.test(path);
}
