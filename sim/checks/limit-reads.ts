// Reads back over REST what the service says of limits, profiles and locks, and holds it against the oracle (P5, P6, P9).
import type { EpochMs } from '../../machines/time.js';
import type { LimitOracle, Submission } from '../world/limit-oracle.js';
import type { SiteBook } from './connector-book.js';
import type { Ask } from './inquiry.js';
import type { Reached } from './reached.js';
import type { Report } from './report.js';

export interface LimitReads {
  /** Effective limit, permanent limit and every profile with its status, as of now. */
  location(locationId: string): Promise<void>;
  /** What is enforced there; a second after a boundary it is what it must be. */
  enforced(locationId: string): Promise<void>;
  connector(key: string): Promise<void>;
  /** All that was ever acknowledged. */
  everything(): Promise<void>;
}

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

/** A budget is that of the last decision, and they are this far apart. */
const DECIDED_MS = 250;
const TOLERANCE_KW = 0.0015;

export function statusOf({ startsAtMs, endsAtMs }: Submission, nowMs: EpochMs): string {
  if (endsAtMs <= nowMs) return 'EXPIRED';
  return startsAtMs <= nowMs ? 'ACTIVE' : 'SCHEDULED';
}

/** Whether the profile that was read is the one that was submitted, its status left aside. */
export function isSubmission(view: ProfileView, held: Submission): boolean {
  return (
    view.limitKw === held.limitKw &&
    Date.parse(view.startTime) === held.startsAtMs &&
    Date.parse(view.endTime) === held.endsAtMs
  );
}

export function createLimitReads(options: {
  readonly oracle: LimitOracle;
  readonly sites: ReadonlyMap<string, SiteBook>;
  readonly horizonMs: number;
  readonly wallMs: () => EpochMs;
  readonly ask: Ask;
  readonly reached: Reached;
  readonly report: Report;
}): LimitReads {
  const { oracle, sites, horizonMs, wallMs, ask, reached, report } = options;

  async function get<T>(path: string, tenantUuid: string): Promise<T | undefined> {
    const { status, body } = await ask({ method: 'GET', path }, tenantUuid);
    if (status !== 200 && status !== 0)
      report({ invariant: 'P14', target: path, detail: `GET was answered ${status}` });
    return status === 200 ? (body as T) : undefined;
  }

  function compareProfiles(target: string, views: readonly ProfileView[]): void {
    const nowMs = wallMs();
    const held = [...oracle.profilesOf(target)];
    if (views.length !== held.length) {
      const detail = `${views.length} profiles were read of ${held.length} that were acknowledged`;
      report({ invariant: 'P9', target, detail });
    }
    for (const submission of held) {
      const view = views.find(({ priority }) => priority === submission.priority);
      if (view === undefined || !isSubmission(view, submission)) {
        const detail = `priority ${submission.priority} was read as ${JSON.stringify(view)}`;
        report({ invariant: 'P9', target, detail });
      } else if (view.status !== statusOf(submission, nowMs)) {
        const detail = `priority ${view.priority} is ${view.status}, must be ${statusOf(submission, nowMs)}`;
        report({ invariant: 'P6', target, detail });
      }
    }
  }

  async function location(locationId: string): Promise<void> {
    const site = sites.get(locationId);
    if (site === undefined) return;
    const limits = await get<Limits>(`/locations/${locationId}/limits`, site.tenantUuid);
    if (limits === undefined) return;
    const effectiveKw = oracle.effectiveLimitKw(locationId, wallMs());
    if (limits.effectiveLimitKw !== effectiveKw) {
      const detail = `the effective limit is ${limits.effectiveLimitKw} kW, must be ${effectiveKw} kW`;
      report({ invariant: 'P5', target: locationId, detail });
    }
    if (limits.permanentLimitKw !== oracle.permanentKw(locationId)) {
      const detail = `the permanent limit is ${limits.permanentLimitKw} kW, ${oracle.permanentKw(locationId)} kW was acknowledged`;
      report({ invariant: 'P9', target: locationId, detail });
    }
    compareProfiles(locationId, limits.profiles);
  }

  async function enforced(locationId: string): Promise<void> {
    const site = sites.get(locationId);
    if (site === undefined) return;
    const live = await get<Live>(`/locations/${locationId}/live`, site.tenantUuid);
    if (live === undefined) return;
    const nowMs = wallMs();
    const ownKw = oracle.limitW(locationId, nowMs) / 1000;
    const shareKw = oracle.shareKw(locationId, nowMs);
    // A share that rises waits for the other members.
    const isExact = shareKw === Number.POSITIVE_INFINITY;
    const isWrong = isExact
      ? Math.abs(live.gridLimitKw - ownKw) > TOLERANCE_KW
      : live.gridLimitKw > Math.min(ownKw, shareKw) + TOLERANCE_KW;
    if (isWrong) {
      const detail = `the grid limit is ${live.gridLimitKw} kW, must be ${Math.min(ownKw, shareKw)} kW`;
      report({ invariant: 'P6', target: locationId, detail });
    }
    if (live.gridLimitKw < Math.min(ownKw, shareKw) - TOLERANCE_KW) reached.note('clusterShareWaiting');
    compareBudget(locationId, live, isExact);
  }

  /** What may be promised: by the boundaries of the horizon of now, or of the last decision. */
  function compareBudget(locationId: string, { budgetKw }: Live, isExact: boolean): void {
    // Before its first decision there is none.
    if (budgetKw === 0) return;
    const nowMs = wallMs();
    const lowestKw = (fromMs: EpochMs) => oracle.lowestW(locationId, fromMs, fromMs + horizonMs) / 1000;
    const isAsOf = (fromMs: EpochMs) =>
      isExact
        ? Math.abs(budgetKw - lowestKw(fromMs)) <= TOLERANCE_KW
        : budgetKw <= lowestKw(fromMs) + TOLERANCE_KW;
    if (isAsOf(nowMs) || isAsOf(nowMs - DECIDED_MS)) return;
    const detail = `${budgetKw} kW may be promised, the lowest limit ahead is ${lowestKw(nowMs)} kW`;
    report({ invariant: 'P6', target: locationId, detail });
  }

  async function connector(key: string): Promise<void> {
    const [controllerUuid = '', connectorId = ''] = key.split('/');
    const site = [...sites.values()].find(({ connectors }) =>
      connectors.some(({ facts }) => facts.key === key),
    );
    if (site === undefined) return;
    const path = `/chargers/${controllerUuid}/connectors/${connectorId}/schedules`;
    const view = await get<{ lockLimitKw: number | null; profiles: readonly ProfileView[] }>(
      path,
      site.tenantUuid,
    );
    if (view === undefined) return;
    const lockKw = oracle.lockKw(key, wallMs()) ?? null;
    if (view.lockLimitKw !== lockKw) {
      const detail = `the lock's limit is ${view.lockLimitKw} kW, must be ${lockKw} kW`;
      report({ invariant: 'P5', target: key, detail });
    }
    compareProfiles(key, view.profiles);
  }

  async function clusters(tenantUuid: string): Promise<void> {
    const list = await get<{ clusters: readonly ClusterView[] }>('/clusters', tenantUuid);
    if (list === undefined) return;
    const read = new Map(list.clusters.map((cluster) => [cluster.clusterId, cluster]));
    for (const [clusterId, known] of oracle.clusters) {
      if (sites.get(known.locationIds[0] ?? '')?.tenantUuid !== tenantUuid) continue;
      const view = read.get(clusterId);
      read.delete(clusterId);
      const isSame =
        view?.limitKw === known.limitKw &&
        (view.status === 'ACTIVE') === known.isActive &&
        [...view.locationIds].sort().join() === [...known.locationIds].sort().join();
      if (!isSame)
        report({ invariant: 'P9', target: clusterId, detail: `it was read as ${JSON.stringify(view)}` });
    }
    for (const clusterId of read.keys())
      report({ invariant: 'P9', target: clusterId, detail: 'nobody was told that it was created' });
  }

  return {
    location,
    enforced,
    connector,
    async everything() {
      const tenants = new Set([...sites.values()].map(({ tenantUuid }) => tenantUuid));
      for (const [locationId, { connectors }] of sites) {
        await location(locationId);
        for (const { facts } of connectors)
          if ([...oracle.profilesOf(facts.key)].length > 0) await connector(facts.key);
      }
      for (const tenantUuid of tenants) await clusters(tenantUuid);
    },
  };
}
