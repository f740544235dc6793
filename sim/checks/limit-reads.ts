// Reads limits, profiles and locks back over REST, and compares them with the oracle (P5, P6, P9).
import type { EpochMs } from '../../machines/values/time.js';
import type { LimitOracle, Submission } from '../world/limit-oracle.js';
import type { Report } from '../world/power-watch.js';
import type { SiteBook } from './connector-book.js';
import type { Ask } from './inquiry.js';
import type { Reached } from './reached.js';

export interface ProfileView {
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
export function isSubmission(view: ProfileView, held: Submission): boolean {
  return (
    view.limitKw === held.limitKw &&
    Date.parse(view.startTime) === held.startsAtMs &&
    Date.parse(view.endTime) === held.endsAtMs
  );
}

export class LimitReads {
  readonly #oracle: LimitOracle;
  readonly #sites: ReadonlyMap<string, SiteBook>;
  readonly #wallMs: () => EpochMs;
  readonly #ask: Ask;
  readonly #reached: Reached;
  readonly #report: Report;

  constructor(options: {
    readonly oracle: LimitOracle;
    readonly sites: ReadonlyMap<string, SiteBook>;
    readonly wallMs: () => EpochMs;
    readonly ask: Ask;
    readonly reached: Reached;
    readonly report: Report;
  }) {
    this.#oracle = options.oracle;
    this.#sites = options.sites;
    this.#wallMs = options.wallMs;
    this.#ask = options.ask;
    this.#reached = options.reached;
    this.#report = options.report;
  }

  /** Compares effective limit, permanent limit and every profile with its status, as of now. */
  async location(locationId: string): Promise<void> {
    const site = this.#sites.get(locationId);
    if (site === undefined) return;
    const limits = await this.#get<Limits>(`/locations/${locationId}/limits`, site.tenantUuid);
    if (limits === undefined) return;
    const effectiveKw = this.#oracle.effectiveLimitKw(locationId, this.#wallMs());
    if (limits.effectiveLimitKw !== effectiveKw) {
      const detail = `the effective limit is ${limits.effectiveLimitKw} kW, must be ${effectiveKw} kW`;
      this.#report({ invariant: 'P5', target: locationId, detail });
    }
    if (limits.permanentLimitKw !== this.#oracle.permanentKw(locationId)) {
      const detail = `the permanent limit is ${limits.permanentLimitKw} kW, ${this.#oracle.permanentKw(locationId)} kW was acknowledged`;
      this.#report({ invariant: 'P9', target: locationId, detail });
    }
    this.#compareProfiles(locationId, limits.profiles);
  }

  /** Compares the enforced limit, which must be right a second after a boundary. */
  async enforced(locationId: string): Promise<void> {
    const site = this.#sites.get(locationId);
    if (site === undefined) return;
    const live = await this.#get<Live>(`/locations/${locationId}/live`, site.tenantUuid);
    if (live === undefined) return;
    const nowMs = this.#wallMs();
    const ownKw = this.#oracle.limitW(locationId, nowMs) / 1000;
    const shareKw = this.#oracle.shareKw(locationId, nowMs);
    // A rising share waits for the other members. Other checks cover buildings and grid operators.
    const isExact = shareKw === Number.POSITIVE_INFINITY && !site.isLimitedFromOutside;
    const isWrong = isExact
      ? Math.abs(live.gridLimitKw - ownKw) > TOLERANCE_KW
      : live.gridLimitKw > Math.min(ownKw, shareKw) + TOLERANCE_KW;
    if (isWrong) {
      const detail = `the grid limit is ${live.gridLimitKw} kW, must be ${Math.min(ownKw, shareKw)} kW`;
      this.#report({ invariant: 'P6', target: locationId, detail });
    }
    if (live.gridLimitKw < Math.min(ownKw, shareKw) - TOLERANCE_KW) this.#reached.note('clusterShareWaiting');
    this.#compareBudget(locationId, live, isExact);
  }

  async connector(key: string): Promise<void> {
    const [controllerUuid = '', connectorId = ''] = key.split('/');
    const site = [...this.#sites.values()].find(({ connectors }) =>
      connectors.some(({ facts }) => facts.key === key),
    );
    if (site === undefined) return;
    const path = `/chargers/${controllerUuid}/connectors/${connectorId}/schedules`;
    const view = await this.#get<{ lockLimitKw: number | null; profiles: readonly ProfileView[] }>(
      path,
      site.tenantUuid,
    );
    if (view === undefined) return;
    const lockKw = this.#oracle.lockKw(key, this.#wallMs()) ?? null;
    if (view.lockLimitKw !== lockKw) {
      const detail = `the lock's limit is ${view.lockLimitKw} kW, must be ${lockKw} kW`;
      this.#report({ invariant: 'P5', target: key, detail });
    }
    this.#compareProfiles(key, view.profiles);
  }

  /** Compares everything that was ever acknowledged. */
  async everything(): Promise<void> {
    const tenants = new Set([...this.#sites.values()].map(({ tenantUuid }) => tenantUuid));
    for (const [locationId, { connectors }] of this.#sites) {
      await this.location(locationId);
      for (const { facts } of connectors)
        if ([...this.#oracle.profilesOf(facts.key)].length > 0) await this.connector(facts.key);
    }
    for (const tenantUuid of tenants) await this.#clusters(tenantUuid);
  }

  async #get<T>(path: string, tenantUuid: string): Promise<T | undefined> {
    const { status, body } = await this.#ask({ method: 'GET', path }, tenantUuid);
    if (status !== 200 && status !== 0)
      this.#report({ invariant: 'P14', target: path, detail: `GET was answered ${status}` });
    return status === 200 ? (body as T) : undefined;
  }

  #compareProfiles(target: string, views: readonly ProfileView[]): void {
    const nowMs = this.#wallMs();
    const held = [...this.#oracle.profilesOf(target)];
    if (views.length !== held.length) {
      const detail = `${views.length} profiles were read of ${held.length} that were acknowledged`;
      this.#report({ invariant: 'P9', target, detail });
    }
    for (const submission of held) {
      const view = views.find(({ priority }) => priority === submission.priority);
      if (view === undefined || !isSubmission(view, submission)) {
        const detail = `priority ${submission.priority} was read as ${JSON.stringify(view)}`;
        this.#report({ invariant: 'P9', target, detail });
      } else if (view.status !== statusOf(submission, nowMs)) {
        const detail = `priority ${view.priority} is ${view.status}, must be ${statusOf(submission, nowMs)}`;
        this.#report({ invariant: 'P6', target, detail });
      }
    }
  }

  /** The budget follows the boundaries within the horizon of now, or of the last decision. */
  #compareBudget(locationId: string, { budgetKw }: Live, isExact: boolean): void {
    // Before its first decision a location has no budget.
    if (budgetKw === 0) return;
    const nowMs = this.#wallMs();
    const horizonMs = this.#sites.get(locationId)?.horizonMs ?? 0;
    const lowestKw = (fromMs: EpochMs) => this.#oracle.lowestW(locationId, fromMs, fromMs + horizonMs) / 1000;
    const isAsOf = (fromMs: EpochMs) =>
      isExact
        ? Math.abs(budgetKw - lowestKw(fromMs)) <= TOLERANCE_KW
        : budgetKw <= lowestKw(fromMs) + TOLERANCE_KW;
    if (isAsOf(nowMs) || isAsOf(nowMs - DECIDED_MS)) return;
    const detail = `${budgetKw} kW may be promised, the lowest limit ahead is ${lowestKw(nowMs)} kW`;
    this.#report({ invariant: 'P6', target: locationId, detail });
  }

  async #clusters(tenantUuid: string): Promise<void> {
    const list = await this.#get<{ clusters: readonly ClusterView[] }>('/clusters', tenantUuid);
    if (list === undefined) return;
    const read = new Map(list.clusters.map((cluster) => [cluster.clusterId, cluster]));
    for (const [clusterId, known] of this.#oracle.clusters) {
      if (this.#sites.get(known.locationIds[0] ?? '')?.tenantUuid !== tenantUuid) continue;
      const view = read.get(clusterId);
      read.delete(clusterId);
      const isSame =
        view?.limitKw === known.limitKw &&
        (view.status === 'ACTIVE') === known.isActive &&
        [...view.locationIds].sort().join() === [...known.locationIds].sort().join();
      if (!isSame)
        this.#report({
          invariant: 'P9',
          target: clusterId,
          detail: `it was read as ${JSON.stringify(view)}`,
        });
    }
    for (const clusterId of read.keys())
      this.#report({ invariant: 'P9', target: clusterId, detail: 'nobody was told that it was created' });
  }
}
