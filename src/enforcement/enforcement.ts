// Makes the chargers keep to their locations' limits: readings and limits come in, one point decides, grants go out.

import { type Ack, type GrantTiming, LIMIT_REASONS, type LimitReason } from '../../machines/ledger/grant.js';
import { gathersForMs } from '../../machines/limits/cluster-shares.js';
import { type Connector, linkOf } from '../../machines/power/connector.js';
import type { Link } from '../../machines/power/connector.machine.js';
import type { DecidedGrant } from '../../machines/power/granted.js';
import { NEVER_CONNECTED, NOT_CONNECTED } from '../../machines/power/link-reasons.js';
import type { DecisionOutcome } from '../../machines/power/location.machine.js';
import type {
  Decision,
  LocationSupervisor,
  ReservedChange,
} from '../../machines/power/location-supervisor.js';
import { fitsStill, isNewest } from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import type { TenantUuid } from '../../machines/values/ids.js';
import { wattsOfLimit, wattsOfTenths } from '../../machines/values/units.js';
import type { Directory, Effect } from '../actors/directory.js';
import {
  type ClusterEntity,
  type ConnectorEntity,
  type LocationEntity,
  supervisorOf,
  type Tenant,
} from '../actors/directory.js';
import type { Overload } from '../actors/overload.js';
import { Scheduler } from '../actors/scheduler.js';
import type { Metrics, Tally } from '../metrics.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { TenantState } from '../ports/records.js';
import type { LimitPublisher } from '../ports/telemetry.js';
import { createRareLog, type RareLog } from '../rare-log.js';
import type { OpenAlarms } from './open-alarms.js';
import type { Reservations } from './reservations.js';
import { siteMeterAlarmsOf } from './site-meter.js';

interface EnforcementOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly directory: Pick<Directory, 'catchUp' | 'noteReserved' | 'shareAgain'>;
  readonly timing: GrantTiming;
  readonly overload: Pick<Overload, 'areRaisesWaiting'>;
  readonly publisher: LimitPublisher;
  readonly reservations: Reservations;
  readonly alarms: OpenAlarms;
  /** Called for every grant that leaves; must not throw. */
  readonly onGrant: (location: LocationEntity, decided: DecidedGrant) => void;
  /** Sessions have ended at the connector. Must not throw. */
  readonly onSessionsEnded: (connector: ConnectorEntity) => void;
  /** A decision could not be carried out. Must not throw. */
  readonly onDefect: (tenantUuid: TenantUuid, error: unknown) => void;
}

// Shortest time between two decisions of a location. Events in between are part of the next decision.
const DECIDE_EVERY_MS = 100;
// Decisions made at once, so that other work runs in between if thousands are due.
const DECISIONS_AT_ONCE = 200;
const LOOK_EVERY_MS = 3_600_000;
// Interval at which the import of a site is counted, if its average is limited.
const COUNT_IMPORT_EVERY_MS = 10_000;
const SILENT = 'The charger sends no meter values';

type GrantTallies = Readonly<Record<LimitReason, Tally>>;

export class Enforcement {
  readonly #options: EnforcementOptions;
  readonly #rareLog: RareLog;
  readonly #grantsBy: GrantTallies;
  /** The next decision of each location. */
  /** Decisions of locations, and shares of clusters that gather changes. */
  readonly #scheduler: Scheduler<LocationEntity | ClusterEntity>;
  #isStopped = false;

  constructor(options: EnforcementOptions) {
    const { clock, metrics } = options;
    this.#options = options;
    this.#rareLog = createRareLog(clock);
    this.#grantsBy = grantTalliesOf(metrics);
    this.#scheduler = new Scheduler(clock, 'monotonic');
  }

  start(): void {
    this.#scheduler.start({
      atMost: DECISIONS_AT_ONCE,
      lookEveryMs: LOOK_EVERY_MS,
      onDue: (due, nowMs) => {
        for (const entity of due) {
          if (entity.kind === 'location') this.#decide(entity, nowMs);
          else this.#options.directory.shareAgain(entity);
        }
      },
    });
  }

  /** Nothing leaves from here on. */
  stop(): void {
    this.#isStopped = true;
    this.#scheduler.stop();
  }

  /**
   * The location decides anew shortly, if there is anything to decide. Its clusters receive its entitlement until then
   * at once.
   * @param gatherMs time since the last decision in which further events become part of this one
   */
  decideSoon(location: LocationEntity, gatherMs = 0): void {
    const { connectors, alarms } = location;
    if (connectors.size === 0 && alarms.size === 0 && supervisorOf(location).isUnconcerned) return;
    const { clock, directory } = this.#options;
    directory.noteReserved(location);
    this.#scheduler.scheduleBy(
      location,
      Math.max(clock.monotonicMs(), location.decidedAtMs + Math.max(gatherMs, DECIDE_EVERY_MS)),
    );
  }

  /** @param reading accepted by the meter ledger */
  receive(connector: ConnectorEntity, reading: MeterReading, nowMs: number): void {
    const { location, control } = connector;
    const supervisor = supervisorOf(location);
    supervisor.draw.follow(control);
    location.minute.notePower(supervisor.draw.now, nowMs);
    const now = this.#options.clock.nowMs();
    const isNews = supervisor.receive(control, reading, { now, nowMs });
    const { powerW, staleAfterMs } = control.telemetry.slot;
    connector.minutes.note(powerW, sentWOf(control), nowMs, staleAfterMs);
    if (control.needs.ended.length > 0) this.#options.onSessionsEnded(connector);
    if (isNews) {
      this.#judge(connector);
      this.decideSoon(location, supervisor.gathersForMs);
    }
    if (supervisor.validUntilMs === Number.NEGATIVE_INFINITY) {
      // Before its first decision a location waits for chargers that report at the same time.
      this.decideSoon(location);
      return;
    }
    this.#renew(connector, supervisor, nowMs);
  }

  /** @returns false if no such grant was sent */
  applyAck({ location, control }: ConnectorEntity, ack: Ack, nowMs: number): boolean {
    const supervisor = supervisorOf(location);
    const received = supervisor.applyAck(control, ack, nowMs);
    if (received === 'news') this.decideSoon(location, supervisor.gathersForMs);
    return received !== 'refused';
  }

  /** @param before link mode before the change */
  receiveLink(connector: ConnectorEntity, before: Link): void {
    const { location, control } = connector;
    const supervisor = supervisorOf(location);
    const nowMs = this.#options.clock.monotonicMs();
    const link = linkOf(control);
    if (link !== 'online') {
      supervisor.lose(control);
      connector.minutes.lose(nowMs);
    }
    // A charger that has just connected has had no time to report.
    const hasJustCome = link === 'stale' && before === 'offline';
    if (hasJustCome) supervisor.awaitFrom(control, nowMs);
    this.#setLinkAlarms(connector, control.provisioned.spec.isActive && !hasJustCome ? link : 'online');
    this.#estimate(location, nowMs);
    this.decideSoon(location);
  }

  /** Called at intervals: chargers that never report count as missed once they had time to report. */
  missSilent(location: LocationEntity, nowMs: number): void {
    const supervisor = supervisorOf(location);
    this.#setSiteMeterAlarms(location);
    for (const connector of location.connectors.values()) {
      const { control } = connector;
      const link = linkOf(control);
      if (!control.provisioned.spec.isActive) {
        // A connector that is INACTIVE, or in an INACTIVE location, is not expected to report.
        this.#setLinkAlarms(connector, 'online');
      } else if (
        link !== 'online' &&
        nowMs - control.telemetry.awaitedSinceMs >= control.telemetry.slot.staleAfterMs
      ) {
        supervisor.presumeMaximum(control);
        // An alarm that is open since before a restart may be of the other kind: it ends here.
        this.#setLinkAlarms(connector, link);
      }
    }
  }

  onEffect({ entity, effect }: Effect): void {
    if (entity.kind !== 'location') return;
    if (effect.type === 'limitInForce.changed') {
      const nowMs = this.#options.clock.monotonicMs();
      entity.minute.noteLimit(wattsOfLimit(effect.limitKw), nowMs);
      // A heartbeat that arrives before the next decision is answered under the new limit too.
      if (!isUnder(entity, effect.limitKw)) supervisorOf(entity).expireBudget(nowMs);
    }
    if (effect.type === 'siteMeter.changed') {
      const nowMs = this.#options.clock.monotonicMs();
      entity.minute.noteBuilding(effect, nowMs);
      supervisorOf(entity).expireBudget(nowMs);
      this.#setSiteMeterAlarms(entity);
    }
    this.decideSoon(entity);
  }

  /** Takes alarms that were open at the end of the last service. They stay open until their cause is gone. */
  openAlarms(
    { locations }: Tenant,
    { openAlarms, alarmMutes }: Pick<TenantState, 'openAlarms' | 'alarmMutes'>,
  ): void {
    for (const mute of alarmMutes) {
      const location = locations.get(mute.locationId);
      if (location !== undefined) this.#options.alarms.restoreMute(location, mute);
    }
    for (const alarm of openAlarms) {
      const location = locations.get(alarm.locationId);
      if (location === undefined) continue;
      this.#options.alarms.restore(location, alarm);
      this.decideSoon(location);
    }
  }

  #decideIn(location: LocationEntity, delayMs: number): void {
    this.#scheduler.scheduleBy(location, this.#options.clock.monotonicMs() + delayMs);
  }

  /** Has the location decide, reads its decision and carries it out. */
  #decide(location: LocationEntity, nowMs: number): void {
    location.decidedAtMs = nowMs;
    const { clock, directory } = this.#options;
    // The scheduler may not have delivered a window that ends at this instant. No raise may leave before it is
    // delivered.
    directory.catchUp([location]);
    const before = location.actor.getSnapshot().context.decision;
    location.actor.send({ type: 'decision.due', now: clock.nowMs(), nowMs });
    const { decision, limit, building, billedWindow } = location.actor.getSnapshot().context;
    location.minute.noteLimit(wattsOfLimit(limit.limitKw), nowMs);
    location.minute.noteBuilding(building, nowMs);
    // A stopped actor decides nothing, and its last decision has been carried out.
    if (decision !== undefined && decision !== before) this.#carryOut(location, decision);
    if (billedWindow !== undefined) this.#scheduler.scheduleBy(location, nowMs + COUNT_IMPORT_EVERY_MS);
  }

  #carryOut(location: LocationEntity, decision: DecisionOutcome): void {
    try {
      if (decision.outcome === 'decided') this.#grant(location, decision);
      else this.#stopRenewing(location, decision.error);
    } catch (error) {
      this.#options.onDefect(location.tenant.tenantUuid, error);
    }
  }

  #grant(location: LocationEntity, decision: Decision): void {
    const { clock, reservations, alarms, timing } = this.#options;
    this.#scheduler.scheduleBy(location, Math.max(decision.nextAtMs, location.decidedAtMs + DECIDE_EVERY_MS));
    this.#send(location, this.#affordable(location, decision.grants));
    reservations.tidy(location, () => this.#decideIn(location, timing.heartbeatMs));
    alarms.set(location, 'LIMIT_UNATTAINABLE', undefined, decision.unattainable);
    this.#estimate(location, clock.monotonicMs());
    this.#share(location, decision.reservedChange);
  }

  #share({ clusters, decidedAtMs }: LocationEntity, change: ReservedChange): void {
    if (change === 'none') return;
    for (const cluster of clusters) {
      const gatherMs = change === 'beyondShare' ? 0 : gathersForMs(cluster.members.size);
      if (gatherMs === 0) this.#options.directory.shareAgain(cluster);
      else this.#scheduler.scheduleBy(cluster, decidedAtMs + gatherMs);
    }
  }

  /** While the processor is short, a raise that needs a write waits for a heartbeat, or for the end of the shortage. */
  #affordable(location: LocationEntity, grants: readonly DecidedGrant[]): readonly DecidedGrant[] {
    const { clock, metrics, overload, timing } = this.#options;
    if (!overload.areRaisesWaiting) return grants;
    const raises = grants.filter(isStoredRaise);
    if (raises.length === 0) return grants;
    const nowMs = clock.monotonicMs();
    for (const decided of raises) supervisorOf(location).withdraw(decided, nowMs);
    metrics.shed.inc({ what: 'raise' }, raises.length);
    this.#decideIn(location, timing.heartbeatMs);
    return grants.filter((decided) => !isStoredRaise(decided));
  }

  /** A defect in a decision affects this location alone: its chargers fall back by themselves. */
  #stopRenewing(location: LocationEntity, error: unknown): void {
    const { log, metrics, timing } = this.#options;
    const { locationId } = location.record;
    metrics.ledgerViolations.inc();
    this.#rareLog(locationId, () =>
      log.error({ err: error, locationId }, 'a decision failed; no limit was sent'),
    );
    this.#scheduler.scheduleBy(location, location.decidedAtMs + timing.heartbeatMs);
  }

  /** Sends the same limit again, if it is due. */
  #renew(connector: ConnectorEntity, supervisor: LocationSupervisor, nowMs: number): void {
    const { location, control } = connector;
    // A decision for another budget is not renewed: the new decision comes first, then the answer.
    if (nowMs >= supervisor.validUntilMs) this.#decide(location, nowMs);
    const renewed = nowMs < supervisor.validUntilMs ? supervisor.renew(control, nowMs) : undefined;
    if (renewed?.mustStore === true) this.#send(location, [renewed]);
    else if (renewed !== undefined) this.#publish(location, renewed, connector);
  }

  /** A grant that needs a reservation leaves once the reservation is on disk, unless a newer grant overtook it. */
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
      if (!isStored) this.#decideIn(location, timing.heartbeatMs);
    });
  }

  #publish(
    location: LocationEntity,
    decided: DecidedGrant,
    connector = location.connectors.get(decided.connector.key),
  ): void {
    if (this.#isStopped || connector === undefined) return;
    const { clock, publisher, onGrant } = this.#options;
    publisher.publishLimit(connector.address, decided.grant);
    this.#grantsBy[decided.grant.reason].inc();
    connector.minutes.noteLimit(sentWOf(connector.control), clock.monotonicMs());
    onGrant(location, decided);
  }

  /** The estimate for silent connectors falls with their entitlement. */
  #estimate(location: LocationEntity, nowMs: number): void {
    const supervisor = supervisorOf(location);
    supervisor.draw.estimate();
    const drawn = supervisor.draw.now;
    if (location.minute.hasReported || drawn.estimatedW !== undefined)
      location.minute.notePower(drawn, nowMs);
  }

  #judge({ location, record, control }: ConnectorEntity): void {
    this.#options.alarms.set(location, 'NON_COMPLIANT', record, reasonOfDistrust(control));
  }

  /** @param whyNot reason against its lease; undefined without one */
  receiveLease({ location, record, control }: ConnectorEntity, whyNot: string | undefined): void {
    const maximum = `${control.account.maxTenthsA / 10} A, its maximum, is reserved for it`;
    const reason = whyNot === undefined ? undefined : `The charger keeps no lease (${whyNot}): ${maximum}`;
    this.#options.alarms.set(location, 'NO_LEASE', record, reason);
  }

  #setSiteMeterAlarms(location: LocationEntity): void {
    const { alarms, clock } = this.#options;
    const reasons = siteMeterAlarmsOf(location, clock.nowMs());
    alarms.set(location, 'SITE_METER_STALE', undefined, reasons.SITE_METER_STALE);
    alarms.set(location, 'SITE_METER_IMPLAUSIBLE', undefined, reasons.SITE_METER_IMPLAUSIBLE);
  }

  /** @param link of the connector; `online` if no link alarm applies */
  #setLinkAlarms({ location, record, control }: ConnectorEntity, link: Link): void {
    const { alarms } = this.#options;
    const whyOffline = control.telemetry.slot.receivedAtMs === undefined ? NEVER_CONNECTED : NOT_CONNECTED;
    // After a restart a charger that was lost before has sent nothing yet: its alarm goes on unchanged.
    const offline =
      link === 'offline' ? (alarms.reasonOf(location, 'OFFLINE', record) ?? whyOffline) : undefined;
    alarms.set(location, 'STALE', record, link === 'stale' ? SILENT : undefined);
    alarms.set(location, 'OFFLINE', record, offline);
  }
}

/** The newest decision divides that limit already: peak shaving may change it in the decision's own transition. */
function isUnder({ actor }: LocationEntity, limitKw: number): boolean {
  const { decision } = actor.getSnapshot().context;
  return decision?.outcome === 'decided' && decision.limitKw === limitKw;
}

/** The grant is higher than the one before, and than the outstanding grant that a restart would find. */
function isStoredRaise({ mustStore, grant, beforeTenthsA = 0 }: DecidedGrant): boolean {
  return mustStore && grant.limitTenthsA > beforeTenthsA;
}

/** The limit of the newest grant, W; undefined without one. */
function sentWOf({ account, granted: { sentTenthsA } }: Connector): number | undefined {
  return sentTenthsA === undefined ? undefined : wattsOfTenths(sentTenthsA, account.milliwattsPerTenth);
}

function reasonOfDistrust({ account, car, telemetry, provisioned }: Connector): string | undefined {
  if (!car.compliance.isNonCompliant) return undefined;
  const maximum = `${account.maxTenthsA / 10} A, its maximum, is reserved for it`;
  return telemetry.phases === provisioned.spec.phases
    ? `The connector drew more than its limit: ${maximum}`
    : `The connector reports current on more phases than its one provisioned phase: ${maximum} on all of them`;
}

function grantTalliesOf({ grants }: Metrics): GrantTallies {
  const tallies = LIMIT_REASONS.map((reason) => [reason, grants.tally({ reason })]);
  return Object.fromEntries(tallies) as GrantTallies;
}
