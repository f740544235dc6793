// The service's side of the rig: a supervisor and a disk, connected as in the service, with crashes and restarts.

import { type GrantTiming, horizonMsOf, noticeMsOf } from '../../machines/ledger/grant.js';
import {
  leastOf,
  NOTHING_STORED,
  reservationOf,
  type StoredReservation,
  storedWOf,
} from '../../machines/ledger/ledger.js';
import { mostOnFirst } from '../../machines/ledger/own-phases.js';
import type { Budget } from '../../machines/power/budget.js';
import type { Connector } from '../../machines/power/connector.js';
import type { Fuses } from '../../machines/power/fuses.js';
import type { DecidedGrant } from '../../machines/power/granted.js';
import {
  type Decision,
  fitsStill,
  isNewest,
  LocationSupervisor,
} from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import type { Agenda, Dice } from './agenda.js';
import { createConnectorActor, decideWith, lockAt } from './connector-actor.js';
import type { Acknowledged, ChargerTraits } from './hostile-charger.js';

export const TIMING: GrantTiming = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
export const HORIZON_MS = horizonMsOf(TIMING);
/** A lower limit leaves this long before it must have taken effect. */
export const NOTICE_MS = noticeMsOf(TIMING);
const NOMINAL_V = 230;

export interface SiteOptions {
  readonly agenda: Agenda;
  readonly dice: Dice;
  readonly chargers: readonly ChargerTraits[];
  readonly fuses: Fuses;
  readonly budgetAt: (nowMs: number) => Budget;
  /** Limit of the lock on the connector now, if any. */
  readonly lockKwOf: (key: string) => number | undefined;
  /** Duration of the next write. */
  readonly diskMs: () => number;
  /** The charger's last report of its fail-safe, retained by the broker and possibly old. */
  readonly failsafeOf: (key: string) => number;
  readonly bootOf: (key: string) => string;
  readonly publish: (decided: DecidedGrant) => void;
  /** Called with all grants before they leave. */
  readonly onDecided: (site: SupervisedSite, grants: readonly DecidedGrant[]) => void;
  readonly onDecision: (site: SupervisedSite, decision: Decision) => void;
}

/** The service from one start to the next crash. */
export class SupervisedSite {
  readonly supervisor: LocationSupervisor;
  readonly ownerTerm: number;
  isAlive = true;
  readonly #options: SiteOptions;
  readonly #disk: Map<string, StoredReservation>;
  readonly #pending: { readonly key: string; readonly reserved: StoredReservation }[] = [];
  #wakeAtMs = Number.POSITIVE_INFINITY;
  #decidedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: SiteOptions, ownerTerm: number, disk: Map<string, StoredReservation>) {
    this.#options = options;
    this.#disk = disk;
    this.ownerTerm = ownerTerm;
    this.supervisor = new LocationSupervisor({
      timing: TIMING,
      ownerTerm,
    });
    this.supervisor.rewire(options.fuses);
    for (const traits of options.chargers) this.#add(traits);
    this.decideSoon();
    this.#watchForSilence();
  }

  /** Writes in progress reach the disk in order, up to a random one. The others are lost. */
  crash(): void {
    this.isAlive = false;
    const { dice } = this.#options;
    while (this.#pending.length > 0 && !dice.isOneIn(2)) this.#writeOldest();
  }

  hear(key: string, reading: MeterReading): void {
    const { nowMs } = this.#options.agenda;
    const connector = this.#connector(key);
    const result = this.supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
    if (result === 'refused') return;
    if (result === 'resumed') connector.actor.send({ type: 'meter.received' });
    if (this.supervisor.receive(connector, reading, { now: nowMs, nowMs }) || result === 'resumed')
      this.decideSoon();
    const isOutdated = nowMs >= this.supervisor.validUntilMs;
    if (isOutdated) this.decideSoon();
    const renewed = isOutdated ? undefined : this.supervisor.renew(connector, nowMs);
    if (renewed === undefined) return;
    this.#options.onDecided(this, [renewed]);
    this.#send([renewed]);
  }

  applyAck(key: string, ack: Acknowledged): void {
    const heard = this.supervisor.applyAck(this.#connector(key), ack, this.#options.agenda.nowMs);
    if (heard === 'news') this.decideSoon();
  }

  /** Delivers the charger's state message with its fail-safe. */
  describe(key: string): void {
    const { chargers, failsafeOf, bootOf } = this.#options;
    const traits = chargers.find((each) => each.key === key);
    if (traits === undefined) return;
    const { lease, keepsThen, endsWithSession, switchesPhases } = traits;
    const failsafeA = failsafeOf(key) / 10;
    const boot = bootOf(key);
    const own = { lease, keepsThen, failsafeA, endsWithSession, switchesPhases, boot };
    this.supervisor.describe(this.#connector(key), own, this.#options.agenda.nowMs);
    this.decideSoon();
  }

  /** Called after a change of profiles or locks, and at the beginning and end of a window. */
  decideSoon(): void {
    for (const connector of this.supervisor.connectors.values()) {
      lockAt(connector.actor, this.#options.lockKwOf(connector.key));
    }
    this.#wakeBy(Math.max(this.#options.agenda.nowMs, this.#decidedAtMs + 100));
  }

  #connector(key: string): Connector {
    const connector = this.supervisor.connectors.get(key);
    if (connector === undefined) throw new Error(`no connector ${key}`);
    return connector;
  }

  #add({
    key,
    phases,
    maxTenthsA,
    failsafeTenthsA,
    lease,
    rotation,
    feeder,
    neverPause = false,
  }: ChargerTraits): void {
    const { agenda, dice } = this.#options;
    const spec = {
      neverPause,
      phases,
      voltageV: NOMINAL_V,
      maxCurrentA: maxTenthsA / 10,
      rotation: rotation ?? null,
      feeder: feeder ?? null,
      isActive: true,
      failsafeA: failsafeTenthsA / 10,
    };
    const reserved = this.#disk.get(key);
    const promised = reserved && { ...reserved, lease };
    this.supervisor.place({ key, spec, promised }, createConnectorActor(key), agenda.nowMs);
    agenda.after(dice.below(2_000), () => {
      if (this.isAlive) this.describe(key);
    });
  }

  #watchForSilence(): void {
    this.#options.agenda.after(1_000, () => {
      if (!this.isAlive) return;
      this.supervisor.meters.expire(this.#options.agenda.nowMs, ({ key }) => {
        const connector = this.#connector(key);
        connector.actor.send({ type: 'meter.missed' });
        this.supervisor.lose(connector);
        this.decideSoon();
      });
      this.#watchForSilence();
    });
  }

  #wakeBy(atMs: number): void {
    if (atMs >= this.#wakeAtMs) return;
    this.#wakeAtMs = atMs;
    this.#options.agenda.after(atMs - this.#options.agenda.nowMs, () => {
      if (!this.isAlive || this.#wakeAtMs !== atMs) return;
      this.#wakeAtMs = Number.POSITIVE_INFINITY;
      this.#decide();
    });
  }

  #decide(): void {
    const { agenda, budgetAt, onDecided, onDecision } = this.#options;
    this.#decidedAtMs = agenda.nowMs;
    const decision = decideWith(this.supervisor, budgetAt(agenda.nowMs), agenda.nowMs);
    onDecided(this, decision.grants);
    onDecision(this, decision);
    this.#send(decision.grants);
    this.#wakeBy(Math.max(decision.nextAtMs, agenda.nowMs + 100));
  }

  /** A grant above the stored entitlement is stored before it leaves (R6). */
  #send(grants: readonly DecidedGrant[]): void {
    const { agenda, publish } = this.#options;
    const stored = grants.filter(({ mustStore }) => mustStore);
    for (const decided of grants) if (!decided.mustStore) publish(decided);
    if (stored.length === 0 && !this.#isTooMuchOnDisk()) return;
    for (const { connector } of stored) this.supervisor.setStoring(connector, true);
    const before = this.#pending.length;
    for (const connector of this.supervisor.connectors.values()) this.#reserve(connector);
    const writes = this.#pending.length - before;
    // Writes reach the disk in order.
    this.#diskFreeAtMs = Math.max(agenda.nowMs, this.#diskFreeAtMs) + this.#options.diskMs();
    agenda.after(this.#diskFreeAtMs - agenda.nowMs, () => {
      if (!this.isAlive) return;
      for (let i = 0; i < writes; i++) this.#writeOldest();
      for (const decided of stored) {
        this.supervisor.setStoring(decided.connector, false);
        if (!isNewest(decided)) continue;
        if (!fitsStill(decided, this.supervisor, agenda.nowMs)) {
          this.supervisor.withdraw(decided, agenda.nowMs);
          continue;
        }
        this.supervisor.noteLeft(decided);
        publish(decided);
      }
    });
  }

  /**
   * True if the stored entitlements exceed the budget and one of them has fallen. The next start could not renew limits
   * within the budget.
   */
  #isTooMuchOnDisk(): boolean {
    let storedW = 0;
    let isAnyLower = false;
    for (const { account, granted } of this.supervisor.connectors.values()) {
      const { stored } = granted;
      storedW += storedWOf(account, stored);
      isAnyLower ||= stored.limitTenthsA > mostOnFirst(account.entitled, stored.phases);
    }
    return isAnyLower && this.#pending.length === 0 && storedW > this.supervisor.budgetW;
  }

  #diskFreeAtMs = 0;

  #reserve(connector: Connector): void {
    const { entitledTenthsA } = connector.account;
    const reserved = reservationOf(connector.account, this.#options.agenda.nowMs);
    this.#pending.push({ key: connector.key, reserved: { ...reserved, limitTenthsA: entitledTenthsA } });
    this.#countStored(connector);
  }

  #writeOldest(): void {
    const write = this.#pending.shift();
    if (write === undefined) return;
    this.#disk.set(write.key, write.reserved);
    const connector = this.supervisor.connectors.get(write.key);
    if (connector !== undefined) this.#countStored(connector);
  }

  /** Only the lowest of the stored row and all writes in progress is surely on disk. */
  #countStored(connector: Connector): void {
    const surely = this.#pending.filter(({ key }) => key === connector.key).map(({ reserved }) => reserved);
    const onDisk = this.#disk.get(connector.key);
    this.supervisor.setStored(connector, leastOf([...surely, onDisk ?? NOTHING_STORED]));
  }
}
