// A cluster in a form: each field is text until the service accepts or refuses it.
import type { Cluster } from '../../src/features/clusters/contract.js';
import { kwOf } from '../location/profile-draft.js';

export interface ClusterDraft {
  readonly name: string;
  /** Empty for no cap. */
  readonly limitKw: string;
  readonly locationIds: readonly string[];
  readonly status: Cluster['status'];
}

export const NEW_CLUSTER: ClusterDraft = { name: '', limitKw: '', locationIds: [], status: 'ACTIVE' };

export function draftOf({ name, limitKw, locationIds, status }: Cluster): ClusterDraft {
  return { name, limitKw: limitKw === null ? '' : String(limitKw), locationIds, status };
}

/** Request body of a new cluster. */
export function creationOf({ name, limitKw, locationIds }: ClusterDraft): object {
  return { name, limitKw: capOf(limitKw), locationIds };
}

/** Request body of a change. It holds only edited fields, so that it does not undo changes of other users. */
export function changeOf(draft: ClusterDraft, before: ClusterDraft): object {
  const isOther = (key: 'name' | 'limitKw' | 'status') => draft[key] !== before[key];
  const members = new Set(before.locationIds);
  const areOthers =
    draft.locationIds.length !== members.size || !draft.locationIds.every((id) => members.has(id));
  return {
    ...(isOther('name') ? { name: draft.name } : {}),
    ...(isOther('limitKw') ? { limitKw: capOf(draft.limitKw) } : {}),
    ...(isOther('status') ? { status: draft.status } : {}),
    ...(areOthers ? { locationIds: draft.locationIds } : {}),
  };
}

/** Text that is not a number is sent unchanged, and the service refuses it. An omitted field would mean no cap. */
function capOf(text: string): number | string | null {
  return text.trim() === '' ? null : (kwOf(text) ?? text);
}
