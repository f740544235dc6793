// Makes the chargers keep to their locations' limits: readings and limits in, decisions at one point, grants out.
import type { Link } from '../../machines/power/connector.machine.js';
import { linkOf } from '../../machines/power/connector-control.js';
import { estimatedWOf } from '../../machines/power/counted-power.js';
import { type Ack, LIMIT_REASONS, type LimitReason } from '../../machines/power/grant.js';
import { type GrantTiming, horizonMsOf } from '../../machines/power/grant-ledger.js';
import type { DecidedGrant } from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { wattsOfLimit } from '../../machines/values/units.js';
import type { Effect } from '../actors/directory.js';
import type { ConnectorEntity, LocationEntity } from '../actors/entities.js';
import type { Metrics } from '../metrics.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { AlarmRecord } from '../ports/records.js';
import type { LimitPublisher } from '../ports/telemetry.js';
import { createRareLog, type RareLog } from '../rare-log.js';
import { type AlarmBook, connectorKeyOf } from './alarm-book.js';
import { budgetOf } from './budget.js';
import { drawnPowerOf } from './drawn-power.js';
import { noteLimit, notePower } from './power-minute.js';
import type { Reservations } from './reservations.js';
import { Wakeups } from './wakeups.js';

interface EnforcementOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly timing: GrantTiming;
  /** A charger is missed when it was not heard of for this long after the start. */
  readonly missedAfterMs: number;
  readonly publisher: LimitPublisher;
  readonly reservations: Reservations;
  readonly alarms: AlarmBook;
  /** Told of every grant that leaves; must not throw. */
  readonly onGrant: (location: LocationEntity, decided: DecidedGrant) => void;
  /** The location's chargers may be entitled to less than before: others of its clusters may have the rest. */
  readonly onRoomMade: (location: LocationEntity) => void;
}

// However much happens, a location decides at most this often: what comes meanwhile is part of the next decision.
const DECIDE_EVERY_MS = 100;
const NOT_CONNECTED = 'The charger is not connected';
const SILENT = 'It sends no meter values';

type GrantCounters = Readonly<Record<LimitReason, { inc(): void }>>;

export class Enforcement {
  readonly #options: EnforcementOptions;
  readonly #horizonMs: number;
  readonly #rareLog: RareLog;
  readonly #grantsBy: GrantCounters;
  readonly #wakeups: Wakeups<LocationEntity>;
  #isStopped = false;

  constructor(options: EnforcementOptions) {
    const { clock, timing, metrics } = options;
    this.#options = options;
    this.#horizonMs = horizonMsOf(timing);
    this.#rareLog = createRareLog(clock);
    this.#grantsBy = grantCountersOf(metrics);
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

  /** The location decides anew, shortly. */
  decideSoon(location: LocationEntity): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#wakeups.wakeBy(location, Math.max(nowMs, location.enforcement.decidedAtMs + DECIDE_EVERY_MS));
  }

  /** A reading that the meter ledger accepted. */
  hear(connector: ConnectorEntity, reading: MeterReading, nowMs: number): void {
    const { location, control } = connector;
    const { supervisor } = location.enforcement;
    followPower(location, nowMs);
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
    this.#renew(connector, nowMs);
  }

  /** False where nothing of the kind was sent. */
  hearAck({ location, control }: ConnectorEntity, ack: Ack, nowMs: number): boolean {
    const heard = location.enforcement.supervisor.hearAck(control, ack, nowMs);
    if (heard === 'news') this.decideSoon(location);
    return heard !== 'refused';
  }

  /** The connector is in another link mode than `before`. */
  hearLink(connector: ConnectorEntity, before: Link): void {
    const { location, control } = connector;
    const { supervisor } = location.enforcement;
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
    for (const connector of location.connectors.values()) {
      const { control } = connector;
      const link = linkOf(control);
      if (!control.spec.isActive) {
        // Of a connector that is INACTIVE, or whose location is, no report is expected.
        this.#setLinkAlarms(connector, 'online');
      } else if (link !== 'online' && nowMs - control.awaitedSinceMs >= this.#options.missedAfterMs) {
        location.enforcement.supervisor.presumeMaximum(control);
        // An alarm that is open since before a restart may be of the other kind: it ends here.
        this.#setLinkAlarms(connector, link);
      }
    }
  }

  /** Something of an actor changed. */
  takeEffect({ entity, effect }: Effect): void {
    if (entity.kind !== 'location') return;
    if (effect.type === 'limitInForce.changed') {
      const nowMs = this.#options.clock.monotonicMs();
      noteLimit(entity.enforcement.power, wattsOfLimit(effect.limitKw), nowMs);
      // A heartbeat that comes first is answered under the new limit too.
      entity.enforcement.supervisor.expireBudget(nowMs);
    }
    this.decideSoon(entity);
  }

  /** Takes an alarm that was open when the service ended: it stays open until its cause is seen to be gone. */
  openAlarm(location: LocationEntity, alarm: AlarmRecord): void {
    this.#options.alarms.restore(location, alarm);
    const key = connectorKeyOf(alarm);
    const connector = key === undefined ? undefined : location.connectors.get(key);
    if (alarm.kind !== 'NON_COMPLIANT' || connector === undefined) return;
    location.enforcement.supervisor.distrust(connector.control);
  }

  /** A defect in a decision is this location's alone: its chargers fall back by themselves. */
  #decide(location: LocationEntity, nowMs: number): void {
    const { log, metrics, timing } = this.#options;
    const { locationId } = location.record;
    try {
      this.#decideNow(location, nowMs);
    } catch (error) {
      // What was decided before may no longer be right, and is not renewed.
      location.enforcement.supervisor.expireBudget(Number.NEGATIVE_INFINITY);
      metrics.ledgerViolations.inc();
      this.#rareLog(locationId, () =>
        log.error({ err: error, locationId }, 'a decision failed; no limit was sent'),
      );
      this.#wakeups.wakeBy(location, nowMs + timing.heartbeatMs);
    }
  }

  #decideNow(location: LocationEntity, nowMs: number): void {
    const { clock, reservations, alarms } = this.#options;
    const { enforcement } = location;
    const { context } = location.actor.getSnapshot();
    const horizon = { now: clock.nowMs(), monotonicMs: nowMs, horizonMs: this.#horizonMs };
    const budget = budgetOf(context, horizon);
    enforcement.decidedAtMs = nowMs;
    const gridLimitW = wattsOfLimit(context.limit.limitKw);
    if (gridLimitW !== enforcement.power.limitW) noteLimit(enforcement.power, gridLimitW, nowMs);
    const decision = enforcement.supervisor.decide(budget, nowMs);
    this.#send(location, decision.grants);
    reservations.tidy(location);
    this.#wakeups.wakeBy(location, Math.max(decision.nextAtMs, nowMs + DECIDE_EVERY_MS));
    alarms.set(location, 'LIMIT_UNATTAINABLE', undefined, decision.unattainable);
    this.#makeRoomKnown(location);
    this.#estimate(location, nowMs);
  }

  /** The same limit again, where it is time. */
  #renew({ location, control }: ConnectorEntity, nowMs: number): void {
    const { supervisor } = location.enforcement;
    // What was decided for another budget is not renewed: first the decision, then the answer.
    if (nowMs >= supervisor.validUntilMs) this.#decide(location, nowMs);
    const renewed = nowMs < supervisor.validUntilMs ? supervisor.renew(control, nowMs) : undefined;
    if (renewed?.mustStore === true) this.#send(location, [renewed]);
    else if (renewed !== undefined) this.#publish(location, renewed);
  }

  /** What needs a reservation first leaves once that is on disk, unless it was overtaken meanwhile. */
  #send(location: LocationEntity, grants: readonly DecidedGrant[]): void {
    const { clock, timing, reservations } = this.#options;
    const stored = grants.filter(({ mustStore }) => mustStore);
    for (const decided of grants) if (!decided.mustStore) this.#publish(location, decided);
    if (stored.length === 0) return;
    reservations.store(location, stored, (isStored) => {
      for (const decided of stored) {
        const isNewest = decided.control.holding.lastSeq === decided.grant.seq;
        if (isStored && isNewest) this.#publish(location, decided);
        else if (!isStored) location.enforcement.supervisor.withdraw(decided, clock.monotonicMs());
      }
      if (!isStored) this.#wakeups.wakeBy(location, clock.monotonicMs() + timing.heartbeatMs);
    });
  }

  #publish(location: LocationEntity, decided: DecidedGrant): void {
    if (this.#isStopped) return;
    const connector = location.connectors.get(decided.control.key);
    if (connector === undefined) return;
    const { controllerUuid, connectorId } = connector.record;
    const { tenantUuid } = location.tenant;
    const { locationId } = location.record;
    const { publisher, onGrant } = this.#options;
    publisher.publishLimit({ tenantUuid, locationId, controllerUuid, connectorId }, decided.grant);
    this.#grantsBy[decided.grant.reason].inc();
    onGrant(location, decided);
  }

  /** What a location gives up may be what others of its clusters wait for. */
  #makeRoomKnown(location: LocationEntity): void {
    const { enforcement } = location;
    const { reservedW } = enforcement.supervisor;
    if (reservedW < enforcement.knownReservedW) this.#options.onRoomMade(location);
    enforcement.knownReservedW = reservedW;
  }

  /** What silent connectors count with falls with what they may still be entitled to. */
  #estimate(location: LocationEntity, nowMs: number): void {
    const { enforcement } = location;
    enforcement.estimatedW = estimatedWOf(enforcement.supervisor.controls.values());
    if (enforcement.power.isHeardOf || enforcement.estimatedW !== undefined) followPower(location, nowMs);
  }

  #judge({ location, record, control }: ConnectorEntity): void {
    const reason = control.compliance.isNonCompliant
      ? `It drew more than it was allowed: ${control.holding.maxTenthsA / 10} A, its maximum, is reserved for it`
      : undefined;
    this.#options.alarms.set(location, 'NON_COMPLIANT', record, reason);
  }

  /** @param link of the connector; `online` where nothing is to be said of it. */
  #setLinkAlarms({ location, record }: ConnectorEntity, link: Link): void {
    const { alarms } = this.#options;
    alarms.set(location, 'STALE', record, link === 'stale' ? SILENT : undefined);
    alarms.set(location, 'OFFLINE', record, link === 'offline' ? NOT_CONNECTED : undefined);
  }
}

/** Noted where it is another than it was. */
function followPower(location: LocationEntity, nowMs: number): void {
  const { power } = location.enforcement;
  const drawn = drawnPowerOf(location);
  const isSame = drawn.actualW === power.actualW && drawn.estimatedW === power.estimatedW;
  if (!isSame || !power.isHeardOf) notePower(power, drawn, nowMs);
}

/** Looked up once: a limit leaves with every heartbeat. */
function grantCountersOf({ grants }: Metrics): GrantCounters {
  const counters = LIMIT_REASONS.map((reason) => [reason, grants.labels({ reason })]);
  return Object.fromEntries(counters) as GrantCounters;
}
