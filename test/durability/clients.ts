// Concurrent clients that use every kind of write of a tenant. Each client sends its next request after the answer.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { type Ledger, NOTHING, type Values } from '../../tools/bench/write-ledger.js';
import { apiKeyOf } from '../service/running-service.js';
import {
  type ClusterView,
  CROWD,
  clusterValues,
  FLEET,
  FLEET_PRIORITY,
  OTHERS,
  SITES,
  slot,
  TENANTS,
  type Tenant,
} from './site.js';

interface Write {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly values: Values;
}

interface Sent {
  /** undefined if no answer came. */
  readonly status: number | undefined;
  readonly body: { readonly clusterId?: string; readonly error?: { readonly code: string } };
}

export interface Clients {
  /** Creates the clusters that many clients write to. Fails if an answer is missing. */
  prepare(httpUrl: string, round: number): Promise<void>;
  /** Every client writes until it gets no answer. */
  write(httpUrl: string): Promise<void>;
  /** Replaces the clients' record of their clusters by the observed clusters. */
  learn(tenant: Tenant, clusters: readonly ClusterView[]): void;
  /** Number of answers for each refusal, by status, code and presence of Retry-After. */
  readonly refusals: ReadonlyMap<string, number>;
}

const WINDOW = { startTime: '2020-01-01T00:00:00.000Z', endTime: '2090-01-01T00:00:00.000Z' };

export function createClients(options: {
  readonly ledger: Ledger;
  readonly seed: number;
  readonly count: number;
  /** Called for every request sent and every answer received. */
  onEvent(): void;
}): Clients {
  const { ledger, seed, count, onEvent } = options;
  const refusals = new Map<string, number>();
  const own = new Map<string, ClusterView>();
  const shared = new Map<string, string>();
  let lastValue = 0;

  function nextValue(): number {
    lastValue += 1;
    return lastValue;
  }

  async function send(httpUrl: string, tenant: Tenant, write: Write): Promise<Sent> {
    const end = ledger.send(write.values);
    onEvent();
    const answer = await fetch(`${httpUrl}/v1${write.path}`, {
      method: write.method,
      headers: { 'x-api-key': apiKeyOf(tenant), 'content-type': 'application/json' },
      ...(write.body && { body: JSON.stringify(write.body) }),
    }).catch(() => undefined);
    if (answer === undefined) return { status: undefined, body: {} };
    end(answer.ok ? 'acknowledged' : 'refused');
    onEvent();
    const body = (await answer.json().catch(() => ({}))) as Sent['body'];
    if (!answer.ok) {
      const wait = answer.headers.has('retry-after') ? ', come back' : '';
      const refusal = `${answer.status} ${body.error?.code}${wait}`;
      refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
    }
    return { status: answer.status, body };
  }

  async function createCluster(httpUrl: string, tenant: Tenant, cluster: Omit<ClusterView, 'clusterId'>) {
    const { name, locationIds, limitKw } = cluster;
    const values = clusterValues(tenant, cluster);
    const write = {
      method: 'POST',
      path: '/clusters',
      body: { name, locationIds, limitKw },
      values,
    } as const;
    return send(httpUrl, tenant, write);
  }

  function client(index: number) {
    const rng = mersenne(seed * 1000 + index);
    const tenant = TENANTS[index % TENANTS.length] ?? TENANTS[0];
    const name = `own-${index}`;
    const below = (bound: number) => uniformInt(rng, 0, bound - 1);
    const pick = <T>(choices: readonly T[]): T => {
      const chosen = choices[below(choices.length)];
      if (chosen === undefined) throw new Error('nothing to choose from');
      return chosen;
    };
    const someSites = () => {
      const from = below(SITES.length);
      return [...SITES.slice(from), ...SITES.slice(0, from)].slice(0, 2 + below(3));
    };

    function profile(path: string, slotOf: (priority: number) => string): Write {
      const limitKw = nextValue();
      const priority = below(FLEET_PRIORITY);
      const body = { ...WINDOW, limitKw, priority };
      return { method: 'POST', path, body, values: { [slotOf(priority)]: String(limitKw) } };
    }

    function clusterSchedule(name: string, members: readonly string[], priority: number): Write {
      const limitKw = nextValue();
      const values = members.map((id) => [slot.location(tenant, id, priority), String(limitKw)]);
      return {
        method: 'POST',
        path: `/clusters/${shared.get(`${tenant}/${name}`)}/schedules`,
        body: { ...WINDOW, limitKw, priority },
        values: Object.fromEntries(values),
      };
    }

    function leaveCrowd(): Write {
      const [round, id] = shared.get(`${tenant}/${CROWD}`)?.split(' ') ?? [];
      const locationId = pick(SITES);
      return {
        method: 'DELETE',
        path: `/clusters/${id}/locations/${locationId}`,
        values: { [slot.member(tenant, `${CROWD}-${round}`, locationId)]: 'out' },
      };
    }

    function permanentLimit(): Write {
      const limitKw = nextValue();
      const locationId = pick(SITES);
      const values = { [slot.permanentLimit(tenant, locationId)]: String(limitKw) };
      return { method: 'PUT', path: `/locations/${locationId}/limit`, body: { limitKw }, values };
    }

    /** Changes the client's own cluster in one of all possible ways, or creates a missing one. */
    async function ownCluster(httpUrl: string): Promise<Sent> {
      const held = own.get(name);
      if (held === undefined) {
        const made = { name, locationIds: someSites(), limitKw: nextValue(), status: 'ACTIVE' } as const;
        const sent = await createCluster(httpUrl, tenant, made);
        if (sent.status === 201) own.set(name, { ...made, clusterId: String(sent.body.clusterId) });
        return sent;
      }
      const path = `/clusters/${held.clusterId}`;
      const [leaving, ...staying] = held.locationIds;
      if (below(8) === 0) {
        const values = { [slot.cluster(tenant, name)]: NOTHING };
        const sent = await send(httpUrl, tenant, { method: 'DELETE', path, values });
        if (sent.status === 200) own.delete(name);
        return sent;
      }
      const isRemoval = staying.length > 0 && below(3) === 0;
      const change = isRemoval
        ? { locationIds: staying }
        : pick<Partial<ClusterView>>([
            { limitKw: nextValue() },
            { limitKw: null },
            { status: pick(['ACTIVE', 'INACTIVE'] as const) },
            { locationIds: someSites(), limitKw: nextValue() },
          ]);
      const changed = { ...held, ...change };
      const values = clusterValues(tenant, changed);
      const sent = await send(
        httpUrl,
        tenant,
        isRemoval
          ? { method: 'DELETE', path: `${path}/locations/${leaving}`, values }
          : { method: 'PATCH', path, body: change, values },
      );
      if (sent.status === 200) own.set(name, changed);
      return sent;
    }

    function next(httpUrl: string): Promise<Sent> {
      const write = pick<() => Write | undefined>([
        () => {
          const id = pick(SITES);
          return profile(`/locations/${id}/schedules`, (priority) => slot.location(tenant, id, priority));
        },
        () => {
          const [charger, connector] = [`${pick(SITES)}-a`, pick(['1', '2'])];
          return profile(`/chargers/${charger}/connectors/${connector}/schedules`, (priority) =>
            slot.connector(tenant, charger, connector, priority),
          );
        },
        () => profile('/organizations/schedules', (priority) => slot.organization(tenant, priority)),
        permanentLimit,
        () => clusterSchedule('fleet', FLEET, FLEET_PRIORITY),
        () => clusterSchedule('others', OTHERS, below(FLEET_PRIORITY)),
        leaveCrowd,
        () => undefined,
      ])();
      return write === undefined ? ownCluster(httpUrl) : send(httpUrl, tenant, write);
    }

    return { next };
  }

  const clients = Array.from({ length: count }, (_, index) => client(index));

  return {
    refusals,
    async prepare(httpUrl, round) {
      for (const tenant of TENANTS) {
        const makes: (readonly [string, string, readonly string[]])[] = [
          [CROWD, `${CROWD}-${round}`, SITES],
          ...(shared.has(`${tenant}/fleet`)
            ? []
            : [['fleet', 'fleet', FLEET] as const, ['others', 'others', OTHERS] as const]),
        ];
        for (const [key, name, locationIds] of makes) {
          const made = await createCluster(httpUrl, tenant, {
            name,
            locationIds,
            limitKw: null,
            status: 'ACTIVE',
          });
          if (made.status !== 201) throw new Error(`${name} was not made: ${JSON.stringify(made)}`);
          const id = String(made.body.clusterId);
          shared.set(`${tenant}/${key}`, key === CROWD ? `${round} ${id}` : id);
        }
      }
    },
    async write(httpUrl) {
      const untilSilence = async ({ next }: ReturnType<typeof client>) => {
        while ((await next(httpUrl)).status !== undefined);
      };
      await Promise.all(clients.map(untilSilence));
    },
    learn(tenant, clusters) {
      const byName = new Map(clusters.map((cluster) => [cluster.name, cluster]));
      for (const index of clients.keys()) {
        const name = `own-${index}`;
        const held = byName.get(name);
        if (TENANTS[index % TENANTS.length] !== tenant) continue;
        if (held === undefined) own.delete(name);
        else own.set(name, held);
      }
    },
  };
}
