// Alarms with a beginning and an end: each is reported once, kept on disk, and open again after a restart. Mutes
// withhold those of a kind and place from webhooks, and end by themselves.
import type { AlarmKind } from '../../machines/ledger/grant.js';
import { connectorKey } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { AlarmCare } from '../actors/core.js';
import type { LocationEntity } from '../actors/directory.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { AlarmMuteRecord, AlarmRecord, ConnectorRecord } from '../ports/records.js';
import type { Change } from '../ports/store.js';

export type AlarmNews = 'began' | 'changed' | 'ended';

interface AlarmBookOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  /** Must write sooner or later, in order, and must not throw. */
  readonly write: (location: LocationEntity, change: Change) => void;
  /** Called for every beginning, change and end; must not throw. */
  readonly onAlarm: (location: LocationEntity, alarm: AlarmRecord, what: AlarmNews) => void;
}

/** A host timer follows the monotonic clock, so a forward jump of the wall clock is noticed within this time. */
const LOOK_EVERY_MS = 60_000;

export class OpenAlarms implements AlarmCare {
  readonly #options: AlarmBookOptions;
  /** Locations with a mute. */
  readonly #muted = new Set<LocationEntity>();
  #cancelLook: Cancel = () => {};
  #isStopped = false;

  constructor(options: AlarmBookOptions) {
    this.#options = options;
  }

  /** No mute ends from now on. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelLook();
  }

  /**
   * Begins or ends the alarm of the location or of one of its connectors, or gives it another reason. Does nothing
   * without a change.
   * @param reason a sentence for the operator; undefined: no alarm
   */
  set(
    location: LocationEntity,
    kind: AlarmKind,
    connector: ConnectorRecord | undefined,
    reason: string | undefined,
  ): void {
    const key = alarmKey(kind, connector === undefined ? undefined : connectorKey(connector));
    const open = location.alarms.get(key);
    if (open?.reason === reason) return;
    if (reason === undefined) this.#end(location, key, open);
    else if (open === undefined) this.#begin(location, key, { kind, connector, reason });
    else this.#change(location, key, { ...open, reason });
  }

  /** Undefined without an open alarm. */
  reasonOf({ alarms }: LocationEntity, kind: AlarmKind, connector: ConnectorRecord): string | undefined {
    return alarms.get(alarmKey(kind, connectorKey(connector)))?.reason;
  }

  /** Takes an alarm that was open at the end of the last service. Its mutes are taken before. */
  restore(location: LocationEntity, alarm: AlarmRecord): void {
    const key = keyOf(alarm);
    location.alarms.set(key, alarm);
    this.#followMutes(location, key, alarm);
  }

  /** Takes a mute from the last service. */
  restoreMute(location: LocationEntity, mute: AlarmMuteRecord): void {
    location.mutes.set(keyOf(mute), mute);
    this.#muted.add(location);
    this.#lookLater();
  }

  /** @returns the alarm as it is now; `alarm` itself if it has ended meanwhile */
  acknowledge(location: LocationEntity, alarm: AlarmRecord): AlarmRecord {
    const key = keyOf(alarm);
    const open = location.alarms.get(key);
    if (open?.alarmId !== alarm.alarmId) return alarm;
    const acknowledged = { ...open, acknowledgement: alarm.acknowledgement };
    location.alarms.set(key, acknowledged);
    this.#options.onAlarm(location, acknowledged, 'changed');
    return acknowledged;
  }

  mute(location: LocationEntity, mute: AlarmMuteRecord): void {
    this.restoreMute(location, mute);
    this.#followAll(location, mute.kind);
  }

  /** No effect on a mute that was replaced or has ended. */
  unmute(location: LocationEntity, mute: AlarmMuteRecord): void {
    const key = keyOf(mute);
    if (location.mutes.get(key)?.muteId !== mute.muteId) return;
    location.mutes.delete(key);
    if (location.mutes.size === 0) this.#muted.delete(location);
    this.#followAll(location, mute.kind);
  }

  #begin(
    location: LocationEntity,
    key: string,
    { kind, connector, reason }: { kind: AlarmKind; connector: ConnectorRecord | undefined; reason: string },
  ): void {
    const { clock, log, newId, write, onAlarm } = this.#options;
    const now = clock.nowMs();
    const mutedUntilMs = mutedUntil(location, kind, key, now);
    const alarm: AlarmRecord = {
      alarmId: newId(),
      kind,
      locationId: location.record.locationId,
      controllerUuid: connector?.controllerUuid ?? null,
      connectorId: connector?.connectorId ?? null,
      reason,
      firstReason: reason,
      beganAtMs: now,
      endedAtMs: null,
      acknowledgement: null,
      isWithheld: mutedUntilMs !== null,
      mutedUntilMs,
    };
    write(location, { kind: 'alarm.begin', alarm });
    location.alarms.set(key, alarm);
    log.warn({ tenantUuid: location.tenant.tenantUuid, ...alarm }, 'alarm began');
    onAlarm(location, alarm, 'began');
  }

  #change(location: LocationEntity, key: string, alarm: AlarmRecord): void {
    const { log, write, onAlarm } = this.#options;
    const { alarmId, reason } = alarm;
    location.alarms.set(key, alarm);
    write(location, { kind: 'alarm.change', alarmId, reason });
    log.info({ tenantUuid: location.tenant.tenantUuid, ...alarm }, 'alarm changed its reason');
    onAlarm(location, alarm, 'changed');
  }

  #end(location: LocationEntity, key: string, open: AlarmRecord | undefined): void {
    if (open === undefined) return;
    const { clock, log, write, onAlarm } = this.#options;
    const alarm = { ...open, endedAtMs: clock.nowMs() };
    location.alarms.delete(key);
    write(location, { kind: 'alarm.end', alarm });
    log.info({ tenantUuid: location.tenant.tenantUuid, ...alarm }, 'alarm ended');
    onAlarm(location, alarm, 'ended');
  }

  #followAll(location: LocationEntity, kind: AlarmKind): void {
    for (const [key, alarm] of [...location.alarms])
      if (alarm.kind === kind) this.#followMutes(location, key, alarm);
  }

  /** An open alarm without a mute is withheld no longer. */
  #followMutes(location: LocationEntity, key: string, open: AlarmRecord): void {
    const { clock, write, onAlarm } = this.#options;
    const now = clock.nowMs();
    const mutedUntilMs = mutedUntil(location, open.kind, key, now);
    const isWithheld = open.isWithheld && mutedUntilMs !== null;
    if (open.mutedUntilMs === mutedUntilMs && open.isWithheld === isWithheld) return;
    const alarm = { ...open, mutedUntilMs, isWithheld };
    location.alarms.set(key, alarm);
    if (open.isWithheld && !isWithheld) write(location, { kind: 'alarm.announce', alarm, atMs: now });
    onAlarm(location, alarm, 'changed');
  }

  #lookLater(): void {
    this.#cancelLook();
    const { clock } = this.#options;
    let nextAtMs: EpochMs = Number.POSITIVE_INFINITY;
    for (const { mutes } of this.#muted)
      for (const { untilMs } of mutes.values()) nextAtMs = Math.min(nextAtMs, untilMs);
    if (this.#isStopped || nextAtMs === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.min(Math.max(0, nextAtMs - clock.nowMs()), LOOK_EVERY_MS);
    this.#cancelLook = clock.after(delayMs, () => this.#endDue());
  }

  #endDue(): void {
    const { clock, write } = this.#options;
    const now = clock.nowMs();
    for (const location of [...this.#muted])
      for (const mute of [...location.mutes.values()]) {
        if (mute.untilMs > now) continue;
        write(location, { kind: 'mute.end', mute, atMs: now });
        this.unmute(location, mute);
      }
    this.#lookLater();
  }
}

function alarmKey(kind: AlarmKind, connectorKey: string | undefined): string {
  return `${kind} ${connectorKey ?? ''}`;
}

function keyOf({ kind, controllerUuid, connectorId }: AlarmRecord | AlarmMuteRecord): string {
  const isOfLocation = controllerUuid === null || connectorId === null;
  return alarmKey(kind, isOfLocation ? undefined : connectorKey({ controllerUuid, connectorId }));
}

/** The later end of the mutes of its place and of the whole location; null without one. */
function mutedUntil({ mutes }: LocationEntity, kind: AlarmKind, key: string, now: EpochMs): EpochMs | null {
  const ends = [mutes.get(key), mutes.get(alarmKey(kind, undefined))]
    .flatMap((mute) => mute?.untilMs ?? [])
    .filter((untilMs) => untilMs > now);
  return ends.length === 0 ? null : Math.max(...ends);
}
