// Checks the grid operator's limit against a second implementation of the use case LPC, and the draw against that
// limit (P18).

import type { EpochMs } from '../../machines/values/time.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { countedV, leastOfferA } from '../charger/direct-current.js';
import type { Question, RestAnswer } from '../world/rest-client.js';
import type { CheckedWorld } from './checked-world.js';
import { FOLLOWED_MS } from './import-watch.js';

type Phase = 'INIT' | 'LIMITED' | 'UNLIMITED_CONTROLLED' | 'FAILSAFE' | 'UNLIMITED_AUTONOMOUS';

/** An order that the operator's side sent and the service accepted. */
interface TakenOrder {
  readonly isActive?: boolean;
  readonly limitKw?: number;
  readonly durationS?: number;
  readonly sentAt: string;
}

interface Site {
  readonly tenantUuid: string;
  readonly locationId: string;
  readonly failsafeKw: number;
  readonly failsafeMinMs: number;
  readonly missingAfterMs: number;
  /** Connectors that keep their minimums while they are locked, regardless of the operator. */
  readonly owed: readonly { readonly key: string; readonly floorW: number }[];
  phase: Phase;
  sinceMs: EpochMs;
  receivedAtMs: EpochMs;
  /** First message of the operator during the fail-safe. */
  backAtMs: EpochMs;
  orderKw: number;
  orderEndsAtMs: EpochMs;
  newestSentMs: EpochMs;
  newest: string;
  /** Last order without an answer: only the service's state shows its acceptance. */
  unanswered: TakenOrder | undefined;
  /** Recent limits with their start, W; the minimums of locks if those are more. */
  limits: { readonly fromMs: EpochMs; readonly limitW: number }[];
  isOver: boolean;
  /** Start and end of the last limitation. */
  limitedFromMs: EpochMs;
  limitedUntilMs: EpochMs;
}

const NEVER = Number.POSITIVE_INFINITY;
const LOOK_EVERY_MS = 1_000;
/** The service is asked for its state within a look of each change, and at this interval without a change. */
const ASK_EVERY_MS = 60_000;
const TOLERANCE_W = 2;
/**
 * An operator that limited a site may do so again for this long; a service decides anew within `DECIDED_MS` of an
 * order.
 */
const ORDERS_EXPECTED_FOR_MS = 3_600_000;
const DECIDED_MS = 2_000;

type WatchedWorld = Pick<
  CheckedWorld,
  | 'tenants'
  | 'oracle'
  | 'drawnW'
  | 'nowMs'
  | 'horizonMs'
  | 'isServiceUp'
  | 'ask'
  | 'soon'
  | 'at'
  | 'reached'
  | 'report'
> & {
  /** Permitted draw once `limitW` has held for 15 s, while some chargers have not taken theirs. */
  readonly allowedW: (locationId: string, limitW: number) => number;
};

export class OperatorWatch {
  readonly #sites: readonly Site[];
  readonly #world: WatchedWorld;
  #unreachableUntilMs = Number.NEGATIVE_INFINITY;

  constructor(world: WatchedWorld) {
    this.#world = world;
    const now = world.nowMs();
    this.#sites = world.tenants.flatMap(({ tenantUuid, locations }) =>
      locations.flatMap(({ locationId, operator, chargers }) =>
        operator?.failsafeKw === undefined || chargers.length === 0
          ? []
          : [
              siteOf(
                tenantUuid,
                locationId,
                { ...operator, failsafeKw: operator.failsafeKw, owed: owedOf(chargers) },
                now,
              ),
            ],
      ),
    );
    if (this.#sites.length > 0) this.#repeat(now);
  }

  /** Lowest recent limit of the operator for a location, W; infinite without one. */
  leastW(locationId: string): number {
    const site = this.#sites.find((each) => each.locationId === locationId);
    if (site !== undefined && this.#world.isServiceUp()) this.#pass(site, this.#world.nowMs());
    return Math.min(...(site?.limits.map(({ limitW }) => limitW) ?? []), NEVER);
  }

  /** The operator limits the location, or did within the last hour: it may order less at any moment. */
  areOrdersExpected(locationId: string): boolean {
    const site = this.#sites.find((each) => each.locationId === locationId);
    if (site === undefined || !this.#world.isServiceUp()) return false;
    const now = this.#world.nowMs();
    this.#pass(site, now);
    const { limitedFromMs, limitedUntilMs } = site;
    // The service has no record of a limit that ended before its decision.
    if (Math.min(now, limitedUntilMs) < limitedFromMs + DECIDED_MS) return false;
    return now < limitedUntilMs + ORDERS_EXPECTED_FOR_MS - DECIDED_MS;
  }

  /** The service answered a call. An order holds even if it could not be written. */
  called({ method, path, body }: Question, { status }: RestAnswer): void {
    const locationId = /^\/locations\/([^/]+)\/operator-limit$/.exec(path)?.[1];
    if (method !== 'PUT' || locationId === undefined) return;
    if (status === 400) this.#world.reached.note('operatorOutdated');
    if (status === 200 || status === 503) this.#take(locationId, body as TakenOrder);
    const site = this.#sites.find((each) => each.locationId === locationId);
    if (status === 0 && site !== undefined) site.unanswered = body as TakenOrder;
  }

  #take(locationId: string, order: TakenOrder): void {
    const site = this.#sites.find((each) => each.locationId === locationId);
    if (site === undefined) return;
    const now = this.#world.nowMs();
    this.#pass(site, now);
    const { isActive, limitKw = NEVER, durationS } = order;
    const sentMs = Date.parse(order.sentAt);
    if (isActive === undefined) {
      site.receivedAtMs = now;
      if (site.phase === 'FAILSAFE') site.backAtMs = Math.min(site.backAtMs, now);
      return;
    }
    const text = JSON.stringify([isActive && limitKw, durationS]);
    if (sentMs < site.newestSentMs || (sentMs === site.newestSentMs && isOfBefore(site, text))) return;
    Object.assign(site, { newestSentMs: sentMs, newest: text, receivedAtMs: now, backAtMs: NEVER });
    site.unanswered = undefined;
    site.orderKw = limitKw;
    site.orderEndsAtMs = isActive && durationS !== undefined ? sentMs + 1000 * durationS : NEVER;
    enter(site, isActive && site.orderEndsAtMs > now ? 'LIMITED' : 'UNLIMITED_CONTROLLED', now);
  }

  /** The service runs again; it received nothing meanwhile. */
  restarted(): void {
    const now = this.#world.nowMs();
    this.disturbed();
    for (const site of this.#sites) {
      // The service waits anew for a first order.
      if (site.phase === 'INIT') enter(site, 'INIT', now);
      Object.assign(site, { receivedAtMs: now, backAtMs: NEVER });
    }
  }

  /** The service can send nothing now: leases may end unseen. */
  disturbed(): void {
    this.#unreachableUntilMs = this.#world.nowMs() + this.#world.horizonMs + FOLLOWED_MS;
  }

  #repeat(beforeMs: EpochMs): void {
    const { at, nowMs, isServiceUp, soon } = this.#world;
    at(beforeMs + LOOK_EVERY_MS, () => {
      const now = nowMs();
      for (const site of this.#sites) {
        if (isServiceUp()) this.#pass(site, now);
        this.#judge(site, now);
      }
      const isTime = Math.floor(now / ASK_EVERY_MS) > Math.floor(beforeMs / ASK_EVERY_MS);
      for (const site of isServiceUp() ? this.#sites : [])
        if (isTime || site.sinceMs >= beforeMs) soon(() => this.#compare(site));
      this.#repeat(now);
    });
  }

  /** Performs the timed transitions up to `now`, one after another. */
  #pass(site: Site, now: EpochMs): void {
    for (let dueMs = dueOf(site); dueMs <= now; dueMs = dueOf(site)) {
      const { phase } = site;
      if (phase === 'INIT' || phase === 'FAILSAFE') enter(site, 'UNLIMITED_AUTONOMOUS', dueMs);
      else if (phase === 'LIMITED' && site.orderEndsAtMs < site.receivedAtMs + site.missingAfterMs)
        enter(site, 'UNLIMITED_CONTROLLED', dueMs);
      else {
        enter(site, 'FAILSAFE', dueMs);
        site.backAtMs = NEVER;
        this.#world.reached.note('operatorLost');
      }
    }
  }

  #judge(site: Site, now: EpochMs): void {
    let owedW = 0;
    for (const { key, floorW } of site.owed)
      if (this.#world.oracle.lockKw(key, now) !== undefined) owedW += floorW;
    const limitW = Math.max(limitKwOf(site) * 1000, owedW);
    if (limitW !== site.limits.at(-1)?.limitW) site.limits.push({ fromMs: now, limitW });
    const followedMs = now < this.#unreachableUntilMs ? this.#world.horizonMs + FOLLOWED_MS : FOLLOWED_MS;
    const settled = site.limits.findLastIndex(({ fromMs }) => fromMs <= now - followedMs);
    if (settled > 0) site.limits.splice(0, settled);
    const heldW = settled < 0 ? NEVER : Math.max(...site.limits.map(({ limitW }) => limitW));
    const mostW = this.#world.allowedW(site.locationId, heldW);
    const drawnW = this.#world.drawnW(site.locationId);
    const isOver = drawnW > mostW + TOLERANCE_W;
    if (heldW < NEVER) this.#world.reached.note('operatorJudged');
    if (isOver && !site.isOver)
      this.#world.report({
        invariant: 'P18',
        target: site.locationId,
        detail: `${Math.round(drawnW)} W are drawn, the grid operator allows ${heldW} W, and ${Math.round(mostW)} W with chargers that have not applied their limits`,
      });
    site.isOver = isOver;
  }

  /**
   * True if the service's state comes from an order without an answer, for example because the service was killed
   * meanwhile.
   */
  #takeUnanswered(site: Site, said: unknown, limitKw: unknown): boolean {
    const { unanswered, locationId } = site;
    if (unanswered?.isActive === undefined) return false;
    const isTaken = unanswered.isActive
      ? said === 'LIMITED' && limitKw === unanswered.limitKw
      : said === 'UNLIMITED_CONTROLLED';
    if (isTaken) this.#take(locationId, unanswered);
    return isTaken;
  }

  async #compare(site: Site): Promise<void> {
    const { tenantUuid, locationId, phase } = site;
    const path = `/locations/${locationId}/operator-limit`;
    const { status, body } = await this.#world.ask({ method: 'GET', path }, tenantUuid);
    if (status !== 200 || site.phase !== phase || typeof body !== 'object' || body === null) return;
    const [said, limitKw] = [Reflect.get(body, 'state'), Reflect.get(body, 'limitKw')];
    const mustKw = limitKwOf(site);
    if (said === phase && (limitKw ?? NEVER) === mustKw) return;
    if (this.#takeUnanswered(site, said, limitKw)) return;
    const detail = `it is ${said} with ${limitKw} kW, must be ${phase} with ${mustKw} kW`;
    this.#world.report({ invariant: 'P18', target: locationId, detail });
  }
}

function siteOf(
  tenantUuid: string,
  locationId: string,
  rule: Pick<Site, 'failsafeKw' | 'failsafeMinMs' | 'missingAfterMs' | 'owed'>,
  now: EpochMs,
): Site {
  const { failsafeKw, failsafeMinMs, missingAfterMs, owed } = rule;
  const site: Site = {
    tenantUuid,
    locationId,
    failsafeKw,
    failsafeMinMs,
    missingAfterMs,
    owed,
    phase: 'INIT',
    sinceMs: now,
    receivedAtMs: now,
    backAtMs: NEVER,
    orderKw: NEVER,
    orderEndsAtMs: NEVER,
    newestSentMs: Number.NEGATIVE_INFINITY,
    newest: '',
    unanswered: undefined,
    limits: [],
    isOver: false,
    limitedFromMs: now,
    limitedUntilMs: Number.NEGATIVE_INFINITY,
  };
  enter(site, 'INIT', now);
  return site;
}

function owedOf(chargers: TenantEntry['locations'][number]['chargers']): Site['owed'] {
  return chargers.flatMap(({ controllerUuid, connectors }) =>
    connectors
      .filter(({ operatorMayPause }) => !operatorMayPause)
      .map((spec) => ({
        key: `${controllerUuid}/${spec.connectorId}`,
        floorW: leastOfferA(spec) * spec.phases * countedV(spec),
      })),
  );
}

/**
 * A repetition of the newest order is no evidence about the present: it may have been under way for long. After the
 * operator was lost, any order of that instant is from before the loss, and void (LPC-918).
 */
function isOfBefore({ newest, phase }: Site, text: string): boolean {
  return text === newest || phase === 'FAILSAFE' || phase === 'UNLIMITED_AUTONOMOUS';
}

/** Instant of the next timed transition. */
function dueOf({ phase, sinceMs, receivedAtMs, backAtMs, orderEndsAtMs, ...rule }: Site): EpochMs {
  if (phase === 'INIT') return sinceMs + rule.missingAfterMs;
  if (phase === 'LIMITED') return Math.min(orderEndsAtMs, receivedAtMs + rule.missingAfterMs);
  if (phase === 'UNLIMITED_CONTROLLED') return receivedAtMs + rule.missingAfterMs;
  return phase === 'FAILSAFE'
    ? Math.min(sinceMs + rule.failsafeMinMs, backAtMs + rule.missingAfterMs)
    : NEVER;
}

function enter(site: Site, phase: Phase, fromMs: EpochMs): void {
  site.phase = phase;
  site.sinceMs = fromMs;
  const limitW = limitKwOf(site) * 1000;
  site.limits.push({ fromMs, limitW });
  const wasLimited = site.limitedUntilMs === NEVER;
  if (limitW < NEVER && !wasLimited) Object.assign(site, { limitedFromMs: fromMs, limitedUntilMs: NEVER });
  if (limitW === NEVER && wasLimited) site.limitedUntilMs = fromMs;
}

function limitKwOf({ phase, failsafeKw, orderKw }: Site): number {
  if (phase === 'LIMITED') return orderKw;
  return phase === 'INIT' || phase === 'FAILSAFE' ? failsafeKw : NEVER;
}
