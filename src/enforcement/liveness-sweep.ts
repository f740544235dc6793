// Liveness sweep, once a second: expires readings, detects silent chargers, and requests states that were lost.

import type { GrantTiming } from '../../machines/ledger/grant.js';
import { linkOf } from '../../machines/power/connector.js';
import { staleAfterMsOf } from '../../machines/power/connector-registry.js';
import type { ConnectorEntity, Directory, LocationEntity, Tenant } from '../actors/directory.js';
import type { Overload } from '../actors/overload.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { LimitPublisher } from '../ports/telemetry.js';
import type { Enforcement } from './enforcement.js';
import { confirmSiteReading } from './site-meter.js';
import { expireReadings } from './telemetry-handler.js';

interface HousekeepingOptions {
  readonly clock: Clock;
  readonly timing: GrantTiming;
  readonly directory: Directory;
  readonly enforcement: Enforcement;
  readonly overload: Overload;
  readonly publisher: LimitPublisher;
  readonly ownerTerm: number;
}

const EVERY_MS = 1_000;

export class LivenessSweep {
  readonly #options: HousekeepingOptions;
  #cancel: Cancel | undefined;
  #areChargersReached = false;
  #missedAtMs = Number.NEGATIVE_INFINITY;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  start(): void {
    this.#keepHouse(this.#options.clock.monotonicMs());
  }

  stop(): void {
    this.#cancel?.();
  }

  /** Chargers can be reached from now on; each receives a request to report. */
  syncChargers(): void {
    this.#areChargersReached = true;
    for (const location of this.#locations()) this.#requestSync(location, () => true);
    this.#askedAtMs = this.#options.clock.monotonicMs();
  }

  /** The charger of a new connector sent its state before the connector was known, so the state is requested again. */
  syncNew(tenant: Tenant | undefined): void {
    if (!this.#areChargersReached) return;
    for (const location of tenant?.locations.values() ?? [])
      this.#requestSync(location, ({ control }) => !control.account.isDescribed);
  }

  /** @param dueAtMs planned time of this call */
  #keepHouse(dueAtMs: number): void {
    const { clock, timing, directory, enforcement, overload } = this.#options;
    const nowMs = clock.monotonicMs();
    overload.look(nowMs - dueAtMs, nowMs);
    const instant = { now: clock.nowMs(), nowMs };
    for (const location of this.#locations()) {
      expireReadings(directory, enforcement, location, nowMs);
      confirmSiteReading(directory, location, instant);
    }
    if (this.#areChargersReached && nowMs - this.#askedAtMs >= staleAfterMsOf(timing)) {
      this.#askedAtMs = nowMs;
      // The charger's state was lost, or the charger sends none. Until it comes, more is reserved than necessary.
      for (const location of this.#locations()) this.#requestSync(location, isStateMissing);
    }
    if (nowMs - this.#missedAtMs >= timing.heartbeatMs) {
      this.#missedAtMs = nowMs;
      for (const location of this.#locations()) enforcement.missSilent(location, nowMs);
    }
    const nextAtMs = clock.monotonicMs() + EVERY_MS;
    this.#cancel = clock.after(EVERY_MS, () => this.#keepHouse(nextAtMs));
  }

  *#locations(): Iterable<LocationEntity> {
    for (const tenant of this.#options.directory.tenants.values()) yield* tenant.locations.values();
  }

  #requestSync(location: LocationEntity, isAsked: (connector: ConnectorEntity) => boolean): void {
    const { publisher, ownerTerm } = this.#options;
    const { tenantUuid } = location.tenant;
    const { locationId } = location.record;
    const asked = [...location.connectors.values()].filter(isAsked);
    for (const controllerUuid of new Set(asked.map(({ record }) => record.controllerUuid)))
      publisher.requestSync({ tenantUuid, locationId, controllerUuid }, ownerTerm);
  }
}

/**
 * The charger sends heartbeats and could report its lease support and its fail-safe, but no such report has arrived.
 */
function isStateMissing({ control }: ConnectorEntity): boolean {
  return linkOf(control) === 'online' && control.telemetry.hb !== undefined && !control.account.isDescribed;
}
