// The locations and connectors of a world for its checks, each found without a search.

import { type LeaseTiming, longestLeaseMsOf, noticeMsOf } from '../../machines/ledger/grant.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { buildTopic } from '../../src/wire/topics.js';
import { countedV, leastOfferA } from '../charger/direct-current.js';
import { capacitiesOf, circuitPhasesAbove, countedOn, placesOf } from '../world/site-fuses.js';
import { ConnectorBook, type ConnectorFacts, type LeaseTimes, type SiteBook } from './connector-book.js';

export interface SiteBooks {
  readonly sites: ReadonlyMap<string, SiteBook>;
  /** By the topic of a meter value or an ack. */
  byTopic(topic: string): ConnectorBook | undefined;
  byId(controllerUuid: string, connectorId: string): ConnectorBook | undefined;
  ofCharger(controllerUuid: string): Iterable<ConnectorBook>;
}

/** Times of a charger with a heartbeat and a lease of its own, or the usual ones. */
function timesOf(timing: LeaseTiming | undefined, usual: LeaseTimes): LeaseTimes {
  if (timing === undefined) return usual;
  return {
    leaseMs: longestLeaseMsOf(timing),
    settleMs: usual.settleMs,
    heartbeatMs: timing.heartbeatMs,
  };
}

/** Reach of the longest lease of `chargers`, settling included, ms. */
function horizonMsOf(chargers: readonly { readonly timing?: LeaseTiming }[], usual: LeaseTimes): number {
  const leasesMs = chargers.map(({ timing }) => timesOf(timing, usual).leaseMs);
  return Math.max(...(leasesMs.length === 0 ? [usual.leaseMs] : leasesMs)) + usual.settleMs;
}

type Location = TenantEntry['locations'][number];
type Charger = Location['chargers'][number];

function factsOf(
  location: Location,
  charger: Charger,
  spec: Charger['connectors'][number],
  isFused: boolean,
): ConnectorFacts {
  const { connectorId, phases, maxCurrentA: maxA, failsafeA, operatorMayPause } = spec;
  const circuitPhasesOf = (places: ReturnType<typeof countedOn>) =>
    isFused ? places.flatMap((place) => circuitPhasesAbove(location, charger, place)) : [];
  return {
    key: `${charger.controllerUuid}/${connectorId}`,
    wattsPerA: phases * countedV(spec),
    maxA,
    leastA: leastOfferA(spec),
    failsafeA,
    operatorMayPause,
    efficiency: spec.dc?.efficiency,
    circuitPhases: circuitPhasesOf(countedOn(spec)),
    circuitPhasesOfPhases: Array.from({ length: phases }, (_, own) => circuitPhasesOf(placesOf(spec, own))),
  };
}

/** Connectors of a charger. They are few: a look at each costs less than one more look-up. */
interface Connectors {
  readonly ids: string[];
  readonly books: ConnectorBook[];
}

export function createSiteBooks(tenants: readonly TenantEntry[], times: LeaseTimes): SiteBooks {
  const sites = new Map<string, SiteBook>();
  const topics = new Map<string, ConnectorBook>();
  const chargers = new Map<string, Connectors>();

  for (const { tenantUuid, locations } of tenants) {
    for (const location of locations) {
      const { locationId, operator, siteMeter, limitRules, chargers: entries } = location;
      const connectors: ConnectorBook[] = [];
      const isLimitedFromOutside = [operator, siteMeter, ...Object.values(limitRules)].some(
        (each) => each !== undefined,
      );
      const horizonMs = horizonMsOf(entries, times);
      const noticeMs = noticeMsOf(times);
      const capacitiesA = capacitiesOf(location);
      const site: SiteBook = {
        tenantUuid,
        locationId,
        connectors,
        horizonMs,
        noticeMs,
        isLimitedFromOutside,
        capacitiesA,
      };
      sites.set(locationId, site);
      for (const charger of entries) {
        const { controllerUuid, timing, connectors: specs } = charger;
        const own: Connectors = { ids: [], books: [] };
        chargers.set(controllerUuid, own);
        for (const spec of specs) {
          const { connectorId } = spec;
          const facts = factsOf(location, charger, spec, capacitiesA.size > 0);
          const book = new ConnectorBook(site, facts, timesOf(timing, times));
          connectors.push(book);
          own.ids.push(connectorId);
          own.books.push(book);
          const address = { tenantUuid, locationId, controllerUuid, connectorId };
          for (const kind of ['meter', 'ack'] as const) topics.set(buildTopic({ ...address, kind }), book);
        }
      }
    }
  }

  return {
    sites,
    byTopic: (topic) => topics.get(topic),
    byId(controllerUuid, connectorId) {
      const own = chargers.get(controllerUuid);
      return own?.books[own.ids.indexOf(connectorId)];
    },
    ofCharger: (controllerUuid) => chargers.get(controllerUuid)?.books ?? [],
  };
}
