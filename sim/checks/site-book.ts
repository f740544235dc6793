// The locations and connectors of a world as its checks know them, each found without a search.

import { type LeaseTiming, longestLeaseMsOf } from '../../machines/power/grant.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { buildTopic } from '../../src/wire/topics.js';
import { countedV, leastOfferA } from '../charger/direct-current.js';
import { capacitiesOf, countedOn, placesOf, polesAbove } from '../world/site-fuses.js';
import { ConnectorBook, type LeaseTimes, type SiteBook } from './connector-book.js';

export interface SiteBooks {
  readonly sites: ReadonlyMap<string, SiteBook>;
  /** By the topic of a meter value or an ack. */
  byTopic(topic: string): ConnectorBook | undefined;
  byId(controllerUuid: string, connectorId: string): ConnectorBook | undefined;
  ofCharger(controllerUuid: string): Iterable<ConnectorBook>;
}

/** Those of a charger that has a heartbeat and a lease of its own, or of any. */
function timesOf(timing: LeaseTiming | undefined, usual: LeaseTimes): LeaseTimes {
  if (timing === undefined) return usual;
  return {
    leaseMs: longestLeaseMsOf(timing),
    settleMs: usual.settleMs,
    heartbeatMs: timing.heartbeatMs,
  };
}

/** How far the longest lease of `chargers` reaches, settle included, ms. */
function horizonMsOf(chargers: readonly { readonly timing?: LeaseTiming }[], usual: LeaseTimes): number {
  const leasesMs = chargers.map(({ timing }) => timesOf(timing, usual).leaseMs);
  return Math.max(...(leasesMs.length === 0 ? [usual.leaseMs] : leasesMs)) + usual.settleMs;
}

export function createSiteBooks(tenants: readonly TenantEntry[], times: LeaseTimes): SiteBooks {
  const sites = new Map<string, SiteBook>();
  const topics = new Map<string, ConnectorBook>();
  const chargers = new Map<string, Map<string, ConnectorBook>>();

  for (const { tenantUuid, locations } of tenants) {
    for (const location of locations) {
      const { locationId, operator, siteMeter, peakShaving, chargers: entries } = location;
      const connectors: ConnectorBook[] = [];
      const isLimitedFromOutside = [operator, siteMeter, peakShaving].some((each) => each !== undefined);
      const horizonMs = horizonMsOf(entries, times);
      const capacitiesA = capacitiesOf(location);
      const site: SiteBook = {
        tenantUuid,
        locationId,
        connectors,
        horizonMs,
        isLimitedFromOutside,
        capacitiesA,
      };
      sites.set(locationId, site);
      for (const charger of entries) {
        const { controllerUuid, timing, connectors: specs } = charger;
        const own = new Map<string, ConnectorBook>();
        chargers.set(controllerUuid, own);
        for (const spec of specs) {
          const { connectorId, phases, maxCurrentA: maxA, failsafeA, operatorMayPause } = spec;
          const key = `${controllerUuid}/${connectorId}`;
          const wattsPerA = phases * countedV(spec);
          const leastA = leastOfferA(spec);
          const efficiency = spec.dc?.efficiency;
          const poles =
            capacitiesA.size === 0
              ? []
              : countedOn(spec).flatMap((place) => polesAbove(location, charger, place));
          const polesOfPhases = Array.from({ length: phases }, (_, own) =>
            capacitiesA.size === 0
              ? []
              : placesOf(spec, own).flatMap((place) => polesAbove(location, charger, place)),
          );
          const rating = { wattsPerA, maxA, leastA, failsafeA, efficiency };
          const facts = { key, ...rating, operatorMayPause, poles, polesOfPhases };
          const book = new ConnectorBook(site, facts, timesOf(timing, times));
          connectors.push(book);
          own.set(connectorId, book);
          const address = { tenantUuid, locationId, controllerUuid, connectorId };
          for (const kind of ['meter', 'ack'] as const) topics.set(buildTopic({ ...address, kind }), book);
        }
      }
    }
  }

  return {
    sites,
    byTopic: (topic) => topics.get(topic),
    byId: (controllerUuid, connectorId) => chargers.get(controllerUuid)?.get(connectorId),
    ofCharger: (controllerUuid) => chargers.get(controllerUuid)?.values() ?? [],
  };
}
