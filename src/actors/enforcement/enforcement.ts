// Makes the chargers keep to their locations' limits: readings and limits in, decisions at one point, grants out.

import type { Link } from '../../../machines/connector.machine.js';
import { linkOf } from '../../../machines/connector-control.js';
import { estimatedWOf } from '../../../machines/counted-power.js';
import { type Ack, LIMIT_REASONS } from '../../../machines/grant.js';
import { type GrantTiming, horizonMsOf } from '../../../machines/grant-ledger.js';
import type { DecidedGrant } from '../../../machines/location-supervisor.js';
import type { MeterReading } from '../../../machines/meter-ledger.js';
import { wattsOfLimit } from '../../../machines/units.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { AlarmRecord } from '../../ports/records.js';
import type { LimitPublisher } from '../../ports/telemetry.js';
import { createRareLog } from '../../rare-log.js';
import type { Effect } from '../directory.js';
import { drawnPowerOf } from '../drawn-power.js';
import type { ConnectorEntity, LocationEntity } from '../entities.js';
import { type AlarmBook, connectorKeyOf } from './alarm-book.js';
import { budgetOf } from './budget.js';
import { noteLimit, notePower } from './power-minute.js';
import type { Reservations } from './reservations.js';
import { createWakeups } from './wakeups.js';

export interface Enforcement {
  /** A reading that the meter ledger accepted. */
  hear(connector: ConnectorEntity, reading: MeterReading, nowMs: number): void;
  /** False where nothing of the kind was sent. */
  hearAck(connector: ConnectorEntity, ack: Ack, nowMs: number): boolean;
  /** The connector is in another link mode than `before`. */
  hearLink(connector: ConnectorEntity, before: Link): void;
  /** Something of an actor changed. */
  takeEffect(effect: Effect): void;
  /** An alarm that was open when the service ended is so still, until what it is about says otherwise. */
  openAlarm(location: LocationEntity, alarm: AlarmRecord): void;
  /** Chargers that never report are missed once they had time to: told every so often. */
  missSilent(location: LocationEntity, nowMs: number): void;
  /** The location decides anew, shortly. */
  decideSoon(location: LocationEntity): void;
  start(): void;
  /** From here on nothing leaves. */
  stop(): void;
}

// However much happens, a location decides at most this often: what comes meanwhile is part of the next decision.
const DECIDE_EVERY_MS = 100;
const NOT_CONNECTED = 'The charger is not connected';
const SILENT = 'It sends no meter values';

export function createEnforcement(options: {
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
}): Enforcement {
  const { clock, log, metrics, timing, missedAfterMs, publisher, reservations, alarms, onGrant, onRoomMade } =
    options;
  const horizonMs = horizonMsOf(timing);
  const rareLog = createRareLog(clock);
  let isStopped = false;
  // Looked up once: a limit leaves with every heartbeat.
  const grantsBy = countersBy(LIMIT_REASONS, (reason) => metrics.grants.labels({ reason }));
  const byEnforcement = new WeakMap<object, LocationEntity>();
  const wakeups = createWakeups<LocationEntity['enforcement']>({
    clock,
    onWake(enforcement, nowMs) {
      const location = byEnforcement.get(enforcement);
      if (location !== undefined) decide(location, nowMs);
    },
  });

  function decideSoon(location: LocationEntity): void {
    const { enforcement } = location;
    byEnforcement.set(enforcement, location);
    const nowMs = clock.monotonicMs();
    wakeups.wakeBy(enforcement, Math.max(nowMs, enforcement.decidedAtMs + DECIDE_EVERY_MS));
  }

  /** A defect in a decision is this location's alone: its chargers fall back by themselves. */
  function decide(location: LocationEntity, nowMs: number): void {
    try {
      decideNow(location, nowMs);
    } catch (error) {
      // Nobody is told again what may no longer be right.
      location.enforcement.supervisor.validUntilMs = Number.NEGATIVE_INFINITY;
      metrics.ledgerViolations.inc();
      rareLog(location.record.locationId, () =>
        log.error(
          { err: error, locationId: location.record.locationId },
          'a decision failed; no limit was sent',
        ),
      );
      wakeups.wakeBy(location.enforcement, nowMs + timing.heartbeatMs);
    }
  }

  function decideNow(location: LocationEntity, nowMs: number): void {
    const { enforcement } = location;
    const { supervisor } = enforcement;
    const { context } = location.actor.getSnapshot();
    const horizon = { now: clock.nowMs(), monotonicMs: nowMs, horizonMs };
    const budget = budgetOf(context, horizon);
    enforcement.decidedAtMs = nowMs;
    const gridLimitW = wattsOfLimit(context.limit.limitKw);
    if (gridLimitW !== enforcement.power.limitW) noteLimit(enforcement.power, gridLimitW, nowMs);
    const decision = supervisor.decide(budget, nowMs);
    send(location, decision.grants);
    reservations.tidy(location);
    wakeups.wakeBy(enforcement, Math.max(decision.nextAtMs, nowMs + DECIDE_EVERY_MS));
    alarms.set(location, 'LIMIT_UNATTAINABLE', undefined, decision.unattainable);
    makeRoomKnown(location);
    estimate(location, nowMs);
  }

  /** What a location gives up may be what others of its clusters wait for. */
  function makeRoomKnown(location: LocationEntity): void {
    const { enforcement } = location;
    const { reservedW } = enforcement.supervisor;
    if (reservedW < enforcement.knownReservedW) onRoomMade(location);
    enforcement.knownReservedW = reservedW;
  }

  /** What needs a reservation first leaves once that is on disk, unless it was overtaken meanwhile. */
  function send(location: LocationEntity, grants: readonly DecidedGrant[]): void {
    const stored = grants.filter(({ mustStore }) => mustStore);
    for (const decided of grants) if (!decided.mustStore) publish(location, decided);
    if (stored.length === 0) return;
    reservations.store(location, stored, (isStored) => {
      for (const decided of stored) {
        const isNewest = decided.control.holding.lastSeq === decided.grant.seq;
        if (isStored && isNewest) publish(location, decided);
        else if (!isStored) location.enforcement.supervisor.withdraw(decided, clock.monotonicMs());
      }
      if (!isStored) wakeups.wakeBy(location.enforcement, clock.monotonicMs() + timing.heartbeatMs);
    });
  }

  function publish(location: LocationEntity, decided: DecidedGrant): void {
    if (isStopped) return;
    const connector = location.connectors.get(decided.control.key);
    if (connector === undefined) return;
    const { controllerUuid, connectorId } = connector.record;
    const { tenantUuid } = location.tenant;
    const { locationId } = location.record;
    publisher.publishLimit({ tenantUuid, locationId, controllerUuid, connectorId }, decided.grant);
    grantsBy[decided.grant.reason].inc();
    onGrant(location, decided);
  }

  /** Written down where it is another than it was. */
  function followPower(location: LocationEntity, nowMs: number): void {
    const { power } = location.enforcement;
    const drawn = drawnPowerOf(location);
    const isSame = drawn.actualW === power.actualW && drawn.estimatedW === power.estimatedW;
    if (!isSame || !power.isHeardOf) notePower(power, drawn, nowMs);
  }

  /** What silent connectors count with falls with what they may still be entitled to. */
  function estimate(location: LocationEntity, nowMs: number): void {
    const { enforcement } = location;
    enforcement.estimatedW = estimatedWOf(enforcement.supervisor.controls.values());
    if (enforcement.power.isHeardOf || enforcement.estimatedW !== undefined) followPower(location, nowMs);
  }

  function judge(location: LocationEntity, connector: ConnectorEntity): void {
    const { isNonCompliant } = connector.control.compliance;
    const reason = isNonCompliant
      ? `It drew more than it was allowed: ${connector.control.holding.maxTenthsA / 10} A, its maximum, is reserved for it`
      : undefined;
    alarms.set(location, 'NON_COMPLIANT', connector.record, reason);
  }

  return {
    hear(connector, reading, nowMs) {
      const { location, control } = connector;
      const { supervisor } = location.enforcement;
      followPower(location, nowMs);
      const isNews = supervisor.hear(control, reading, nowMs);
      if (isNews) {
        judge(location, connector);
        decideSoon(location);
      }
      // Before its first decision a location waits for those that report at the same time.
      if (supervisor.validUntilMs === Number.NEGATIVE_INFINITY) return decideSoon(location);
      // What was decided for another budget is renewed for nobody: first the decision, then the answer.
      if (nowMs >= supervisor.validUntilMs) decide(location, nowMs);
      const renewed = nowMs < supervisor.validUntilMs ? supervisor.renew(control, nowMs) : undefined;
      if (renewed === undefined) return;
      if (renewed.mustStore) send(location, [renewed]);
      else publish(location, renewed);
    },
    hearAck({ location, control }, ack, nowMs) {
      const heard = location.enforcement.supervisor.hearAck(control, ack, nowMs);
      if (heard === 'news') decideSoon(location);
      return heard !== 'refused';
    },
    hearLink(connector, before) {
      const { location } = connector;
      const link = linkOf(connector.control);
      if (link !== 'online') location.enforcement.supervisor.lose(connector.control);
      // Whoever just came has had no time to report yet.
      const isAwaited = link === 'stale' && before === 'offline';
      if (isAwaited) connector.control.awaitedSinceMs = clock.monotonicMs();
      const isMissed = connector.control.spec.isActive;
      alarms.set(
        location,
        'STALE',
        connector.record,
        isMissed && link === 'stale' && !isAwaited ? SILENT : undefined,
      );
      alarms.set(
        location,
        'OFFLINE',
        connector.record,
        isMissed && link === 'offline' ? NOT_CONNECTED : undefined,
      );
      estimate(location, clock.monotonicMs());
      decideSoon(location);
    },
    takeEffect({ entity, effect }) {
      if (entity.kind !== 'location') return;
      if (effect.type === 'limitInForce.changed') {
        noteLimit(entity.enforcement.power, wattsOfLimit(effect.limitKw), clock.monotonicMs());
        // A heartbeat that comes first is answered under the new limit too.
        const { supervisor } = entity.enforcement;
        supervisor.validUntilMs = Math.min(supervisor.validUntilMs, clock.monotonicMs());
      }
      decideSoon(entity);
    },
    openAlarm(location, alarm) {
      alarms.restore(location, alarm);
      const key = connectorKeyOf(alarm);
      const connector = key === undefined ? undefined : location.connectors.get(key);
      if (alarm.kind !== 'NON_COMPLIANT' || connector === undefined) return;
      location.enforcement.supervisor.distrust(connector.control);
    },
    missSilent(location, nowMs) {
      for (const connector of location.connectors.values()) {
        const { record, control } = connector;
        const link = linkOf(control);
        // Nobody waits for one that is set INACTIVE, or whose location is.
        const isAwaited = link !== 'online' && control.spec.isActive;
        if (control.spec.isActive && (!isAwaited || nowMs - control.awaitedSinceMs < missedAfterMs)) continue;
        // One that is open since before a restart may be of the other kind.
        const isOffline = link === 'offline';
        // It was promised something before the start and is not heard of since: it is taken to draw all it may.
        if (isAwaited) control.heardBeforeW ??= Number.POSITIVE_INFINITY;
        alarms.set(location, 'STALE', record, isAwaited && !isOffline ? SILENT : undefined);
        alarms.set(location, 'OFFLINE', record, isAwaited && isOffline ? NOT_CONNECTED : undefined);
      }
    },
    decideSoon,
    start: () => wakeups.start(),
    stop() {
      isStopped = true;
      wakeups.stop();
    },
  };
}

function countersBy<K extends string, C>(
  names: readonly K[],
  counterOf: (name: K) => C,
): Readonly<Record<K, C>> {
  return Object.fromEntries(names.map((name) => [name, counterOf(name)])) as Record<K, C>;
}
