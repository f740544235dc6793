// Removes all members of a cluster at the same time: one must stay, and every other confirmed removal must hold
// (P10).

import type { Report } from '../world/power-watch.js';
import type { Ask } from './inquiry.js';
import type { Reached } from './reached.js';

export interface MemberRemovals {
  /** Uses a cluster of its own, without a cap, which limits no member and is deleted afterwards. */
  probe(tenantUuid: string, locationIds: readonly string[]): Promise<void>;
}

export function createMemberRemovals(options: {
  readonly ask: Ask;
  readonly reached: Reached;
  readonly report: Report;
}): MemberRemovals {
  const { ask, reached, report } = options;

  return {
    async probe(tenantUuid, locationIds) {
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
    },
  };
}
