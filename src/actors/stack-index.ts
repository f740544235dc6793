// Sorts a tenant's profile rows into one stack per target, from which actors are built.

import { EMPTY_STACK, type ProfileStack, putProfile } from '../../machines/limits/profile-stack.js';
import { connectorKey, type LocationId } from '../../machines/values/ids.js';
import type { ConnectorRecord, ProfileRecord } from '../ports/records.js';

export interface StackIndex {
  readonly organization: ProfileStack;
  ofLocation(locationId: LocationId): ProfileStack;
  ofConnector(connector: ConnectorRecord): ProfileStack;
}

/** `profiles` hold their slots, so no two share target and priority. */
export function indexStacks(profiles: readonly ProfileRecord[]): StackIndex {
  const locations = new Map<string, ProfileStack>();
  const connectors = new Map<string, ProfileStack>();
  let organization = EMPTY_STACK;
  for (const { target, priority, limitKw, startsAtMs, endsAtMs } of profiles) {
    const profile = { priority, limitKw, startsAtMs, endsAtMs };
    if (target.kind === 'organization') {
      organization = putProfile(organization, profile);
    } else if (target.kind === 'location') {
      locations.set(target.locationId, putProfile(locations.get(target.locationId) ?? EMPTY_STACK, profile));
    } else {
      const key = connectorKey(target);
      connectors.set(key, putProfile(connectors.get(key) ?? EMPTY_STACK, profile));
    }
  }
  return {
    organization,
    ofLocation: (locationId) => locations.get(locationId) ?? EMPTY_STACK,
    ofConnector: (connector) => connectors.get(connectorKey(connector)) ?? EMPTY_STACK,
  };
}
