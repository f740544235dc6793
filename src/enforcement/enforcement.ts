// Makes the chargers keep to their locations' limits: readings and limits in, decisions at one point, grants out.

import type { Link } from '../../machines/power/connector.machine.js';
import { linkOf } from '../../machines/power/connector-control.js';
import { type Ack, type GrantTiming, LIMIT_REASONS, type LimitReason } from '../../machines/power/grant.js';
import type { DecidedGrant } from '../../machines/power/grant-issuer.js';
import { fitsStill, isNewest } from '../../machines/power/late-grant.js';
import { NEVER_CONNECTED, NOT_CONNECTED } from '../../machines/power/link-reasons.js';
import type { Decision, LocationSupervisor } from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { wattsOfLimit } from '../../machines/values/units.js';
import type { Directory, Effect } from '../actors/directory.js';
import { type ConnectorEntity, type LocationEntity, supervisorOf, type Tenant } from '../actors/entities.js';
import type { Overload } from '../actors/overload.js';
import type { Metrics, Tally } from '../metrics.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { AlarmRecord } from '../ports/records.js';
import type { LimitPublisher } from '../ports/telemetry.js';
import { createRareLog, type RareLog } from '../rare-log.js';
import type { AlarmBook } from './alarm-book.js';
import type { Reservations } from './reservations.js';
import { siteMeterAlarmsOf } from './site-meter.js';
import { Wakeups } from './wakeups.js';

interface EnforcementOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly directory: Pick<Directory, 'catchUp' | 'noteReserved'>;
  readonly timing: GrantTiming;
  readonly overload: Pick<Overload, 'areRaisesWaiting'>;
  readonly publisher: LimitPublisher;
  readonly reservations: Reservations;
  readonly alarms: AlarmBook;
  /** Told of every grant that leaves; must not throw. */
  readonly onGrant: (location: LocationEntity, decided: DecidedGrant) => void;
}

// However much happens, a location decides at most this often: what comes meanwhile is part of the next decision.
const DECIDE_EVERY_MS = 100;
// What a site imports is counted this often, where the average of it is limited.
const COUNT_IMPORT_EVERY_MS = 10_000;
const SILENT = 'It sends no meter values';

type GrantTallies = Readonly<Record<LimitReason, Tally>>;

export class Enforcement {
  readonly #options: EnforcementOptions;
  readonly #rareLog: RareLog;
  readonly #grantsBy: GrantTallies;
  readonly #wakeups: Wakeups<LocationEntity>;
  #isStopped = false;

  constructor(options: EnforcementOptions) {
    const { clock, metrics } = options;
    this.#options = options;
    this.#rareLog = createRareLog(clock);
    this.#grantsBy = grantTalliesOf(metrics);
    this.#wakeups = new Wakeups(clock, (location, nowMs) => this.#decide(location, nowMs));
  }

  start(): void {
    this.#wakeups.start();
  }

  /** From here on nothing leaves. */
  stop(): void {
    this.#isStopped = true;
    this.#wakeups.stop();
  }

  /** The location decides anew, shortly, where there is anything to decide; its clusters know at once what it may draw until then. */
  decideSoon(location: LocationEntity): void {
    const { connectors, alarms } = location;
    if (connectors.size === 0 && alarms.size === 0 && supervisorOf(location).isUnconcerned) return;
    const { clock, directory } = this.#options;
    directory.noteReserved(location);
    this.#wakeups.wakeBy(location, Math.max(clock.monotonicMs(), location.decidedAtMs + DECIDE_EVERY_MS));
  }

  /** A reading that the meter ledger accepted. */
  hear(connector: ConnectorEntity, reading: MeterReading, nowMs: number): void {
    const { location, control } = connector;
    const supervisor = supervisorOf(location);
    supervisor.draw.follow(control);
    location.minute.notePower(supervisor.draw.now, nowMs);
    const isNews = supervisor.hear(control, reading, nowMs);
    if (isNews) {
      this.#judge(connector);
      this.decideSoon(location);
    }
    if (supervisor.validUntilMs === Number.NEGATIVE_INFINITY) {
      // Before its first decision a location waits for those that report at the same time.
      this.decideSoon(location);
      return;
    }
    this.#renew(connector, supervisor, nowMs);
  }

  /** False where nothing of the kind was sent. */
  hearAck({ location, control }: ConnectorEntity, ack: Ack, nowMs: number): boolean {
    const heard = supervisorOf(location).hearAck(control, ack, nowMs);
    if (heard === 'news') this.decideSoon(location);
    return heard !== 'refused';
  }

  /** The connector is in another link mode than `before`. */
  hearLink(connector: ConnectorEntity, before: Link): void {
    const { location, control } = connector;
    const supervisor = supervisorOf(location);
    const nowMs = this.#options.clock.monotonicMs();
    const link = linkOf(control);
    if (link !== 'online') supervisor.lose(control);
    // A charger that has just connected has had no time to report yet.
    const hasJustCome = link === 'stale' && before === 'offline';
    if (hasJustCome) supervisor.awaitFrom(control, nowMs);
    this.#setLinkAlarms(connector, control.spec.isActive && !hasJustCome ? link : 'online');
    this.#estimate(location, nowMs);
    this.decideSoon(location);
  }

  /** Chargers that never report are missed once they had time to: told every so often. */
  missSilent(location: LocationEntity, nowMs: number): void {
    const supervisor = supervisorOf(location);
    this.#setSiteMeterAlarms(location);
    for (const connector of location.connectors.values()) {
      const { control } = connector;
      const link = linkOf(control);
      if (!control.spec.isActive) {
        // Of a connector that is INACTIVE, or whose location is, no report is expected.
        this.#setLinkAlarms(connector, 'online');
      } else if (link !== 'online' && nowMs - control.awaitedSinceMs >= control.slot.staleAfterMs) {
        supervisor.presumeMaximum(control);
        // An alarm that is open since before a restart may be of the other kind: it ends here.
        this.#setLinkAlarms(connector, link);
      }
    }
  }

  /** Something of an actor changed. */
  onEffect({ entity, effect }: Effect): void {
    if (entity.kind !== 'location') return;
    if (effect.type === 'limitInForce.changed') {
      const nowMs = this.#options.clock.monotonicMs();
      entity.minute.noteLimit(wattsOfLimit(effect.limitKw), nowMs);
      // A heartbeat that comes first is answered under the new limit too.
      supervisorOf(entity).expireBudget(nowMs);
    }
    if (effect.type === 'siteMeter.changed') {
      const nowMs = this.#options.clock.monotonicMs();
      entity.minute.noteBuilding(effect, nowMs);
      supervisorOf(entity).expireBudget(nowMs);
      this.#setSiteMeterAlarms(entity);
    }
    if (effect.type === 'decided') this.#carryOut(entity, effect);
    else if (effect.type === 'decision.failed') this.#stopRenewing(entity, effect.error);
    // That there is room is the clusters' to share; what it changes for this location, they tell it.
    else if (effect.type !== 'reserved.changed') this.decideSoon(entity);
  }

  /** Takes alarms that were open when the service ended: they stay open until their cause is seen to be gone. */
  openAlarms({ locations }: Tenant, alarms: readonly AlarmRecord[]): void {
    for (const alarm of alarms) {
      const location = locations.get(alarm.locationId);
      if (location === undefined) continue;
      this.#options.alarms.restore(location, alarm);
      this.decideSoon(location);
    }
  }

  /** Whatever the location decides comes back as its effects. */
  #decide(location: LocationEntity, nowMs: number): void {
    location.decidedAtMs = nowMs;
    const { clock, directory } = this.#options;
    // A window that ends at this instant, and that the scheduler has yet to hand on, must not let a raise leave.
    directory.catchUp([location]);
    const now = clock.nowMs();
    const isCounted = location.actor.getSnapshot().context.billedWindow !== undefined;
    if (isCounted) location.actor.send({ type: 'import.due', now, nowMs });
    const { limit, building } = location.actor.getSnapshot().context;
    location.minute.noteLimit(wattsOfLimit(limit.limitKw), nowMs);
    location.minute.noteBuilding(building, nowMs);
    location.actor.send({ type: 'decision.due', now, nowMs });
    if (isCounted) this.#wakeups.wakeBy(location, nowMs + COUNT_IMPORT_EVERY_MS);
  }

  #carryOut(location: LocationEntity, decision: Decision): void {
    const { clock, reservations, alarms, timing } = this.#options;
    this.#wakeups.wakeBy(location, Math.max(decision.nextAtMs, location.decidedAtMs + DECIDE_EVERY_MS));
    this.#send(location, this.#affordable(location, decision.grants));
    reservations.tidy(location, () => this.#wakeups.wakeIn(location, timing.heartbeatMs));
    alarms.set(location, 'LIMIT_UNATTAINABLE', undefined, decision.unattainable);
    this.#estimate(location, clock.monotonicMs());
  }

  /** Where the processor is short, a raise that would have to be written waits for a heartbeat, or as long as that lasts. */
  #affordable(location: LocationEntity, grants: readonly DecidedGrant[]): readonly DecidedGrant[] {
    const { clock, metrics, overload, timing } = this.#options;
    if (!overload.areRaisesWaiting) return grants;
    const raises = grants.filter(isStoredRaise);
    if (raises.length === 0) return grants;
    const nowMs = clock.monotonicMs();
    for (const decided of raises) supervisorOf(location).withdraw(decided, nowMs);
    metrics.shed.inc({ what: 'raise' }, raises.length);
    this.#wakeups.wakeIn(location, timing.heartbeatMs);
    return grants.filter((decided) => !isStoredRaise(decided));
  }

  /** A defect in a decision is this location's alone: its chargers fall back by themselves. */
  #stopRenewing(location: LocationEntity, error: unknown): void {
    const { log, metrics, timing } = this.#options;
    const { locationId } = location.record;
    metrics.ledgerViolations.inc();
    this.#rareLog(locationId, () =>
      log.error({ err: error, locationId }, 'a decision failed; no limit was sent'),
    );
    this.#wakeups.wakeBy(location, location.decidedAtMs + timing.heartbeatMs);
  }

  /** The same limit again, where it is time. */
  #renew(connector: ConnectorEntity, supervisor: LocationSupervisor, nowMs: number): void {
    const { location, control } = connector;
    // What was decided for another budget is not renewed: first the decision, then the answer.
    if (nowMs >= supervisor.validUntilMs) this.#decide(location, nowMs);
    const renewed = nowMs < supervisor.validUntilMs ? supervisor.renew(control, nowMs) : undefined;
    if (renewed?.mustStore === true) this.#send(location, [renewed]);
    else if (renewed !== undefined) this.#publish(location, renewed, connector);
  }

  /** What needs a reservation first leaves once that is on disk, unless it was overtaken meanwhile. */
  #send(location: LocationEntity, grants: readonly DecidedGrant[]): void {
    const { clock, timing, reservations } = this.#options;
    const stored = grants.filter(({ mustStore }) => mustStore);
    for (const decided of grants) if (!decided.mustStore) this.#publish(location, decided);
    if (stored.length === 0) return;
    reservations.store(location, stored, (isStored) => {
      const supervisor = supervisorOf(location);
      for (const decided of stored) {
        const nowMs = clock.monotonicMs();
        const isLate = isNewest(decided) && !fitsStill(decided, supervisor, nowMs);
        if (!isStored || isLate) supervisor.withdraw(decided, nowMs);
        else if (isNewest(decided)) {
          supervisor.noteLeft(decided);
          this.#publish(location, decided);
        }
        if (isLate) this.decideSoon(location);
      }
      if (!isStored) this.#wakeups.wakeIn(location, timing.heartbeatMs);
    });
  }

  #publish(
    location: LocationEntity,
    decided: DecidedGrant,
    connector = location.connectors.get(decided.control.key),
  ): void {
    if (this.#isStopped || connector === undefined) return;
    const { publisher, onGrant } = this.#options;
    publisher.publishLimit(connector.address, decided.grant);
    this.#grantsBy[decided.grant.reason].inc();
    onGrant(location, decided);
  }

  /** What silent connectors count with falls with what they may still be entitled to. */
  #estimate(location: LocationEntity, nowMs: number): void {
    const supervisor = supervisorOf(location);
    supervisor.draw.estimate();
    const drawn = supervisor.draw.now;
    if (location.minute.isHeardOf || drawn.estimatedW !== undefined) location.minute.notePower(drawn, nowMs);
  }

  #judge({ location, record, control }: ConnectorEntity): void {
    this.#options.alarms.set(location, 'NON_COMPLIANT', record, reasonOfDistrust(control));
  }

  /** @param whyNot what speaks against its lease; undefined where nothing does */
  hearLease({ location, record, control }: ConnectorEntity, whyNot: string | undefined): void {
    const maximum = `${control.holding.maxTenthsA / 10} A, its maximum, is reserved for it`;
    const reason = whyNot === undefined ? undefined : `It keeps no lease (${whyNot}): ${maximum}`;
    this.#options.alarms.set(location, 'NO_LEASE', record, reason);
  }

  #setSiteMeterAlarms(location: LocationEntity): void {
    const { alarms, clock } = this.#options;
    const reasons = siteMeterAlarmsOf(location, clock.nowMs());
    alarms.set(location, 'SITE_METER_STALE', undefined, reasons.SITE_METER_STALE);
    alarms.set(location, 'SITE_METER_IMPLAUSIBLE', undefined, reasons.SITE_METER_IMPLAUSIBLE);
  }

  /** @param link of the connector; `online` where nothing is to be said of it. */
  #setLinkAlarms({ location, record, control }: ConnectorEntity, link: Link): void {
    const { alarms } = this.#options;
    const whyOffline = control.slot.receivedAtMs === undefined ? NEVER_CONNECTED : NOT_CONNECTED;
    // After a restart nothing was heard yet of a charger that was lost before: its alarm goes on as it was.
    const offline =
      link === 'offline' ? (alarms.reasonOf(location, 'OFFLINE', record) ?? whyOffline) : undefined;
    alarms.set(location, 'STALE', record, link === 'stale' ? SILENT : undefined);
    alarms.set(location, 'OFFLINE', record, offline);
  }
}

/** It gives more than before, and more than a restart would find promised. */
function isStoredRaise({ mustStore, grant, beforeTenthsA = 0 }: DecidedGrant): boolean {
  return mustStore && grant.limitTenthsA > beforeTenthsA;
}

function reasonOfDistrust({
  compliance,
  holding,
  phases,
  spec,
}: ConnectorEntity['control']): string | undefined {
  if (!compliance.isNonCompliant) return undefined;
  const maximum = `${holding.maxTenthsA / 10} A, its maximum, is reserved for it`;
  return phases === spec.phases
    ? `It drew more than it was allowed: ${maximum}`
    : `It reports current on more phases than the one it is provisioned with: ${maximum} on all of them`;
}

function grantTalliesOf({ grants }: Metrics): GrantTallies {
  const tallies = LIMIT_REASONS.map((reason) => [reason, grants.tally({ reason })]);
  return Object.fromEntries(tallies) as GrantTallies;
}
