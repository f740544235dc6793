// Persisted worst-case grant per connector, on disk before the grant leaves: the first grant after a crash needs no
// wait.

import type { LeaseKind } from '../../machines/ledger/grant.js';
import {
  leaseToStore,
  leastOf,
  NOTHING_STORED,
  reservationOf,
  type StoredReservation,
  storedWOf,
} from '../../machines/ledger/ledger.js';
import { mostOnFirst } from '../../machines/ledger/own-phases.js';
import type { Connector } from '../../machines/power/connector.js';
import type { DecidedGrant } from '../../machines/power/granted.js';
import { type ConnectorEntity, type LocationEntity, supervisorOf } from '../actors/directory.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { type Store, StoreUnavailableError } from '../ports/store.js';
import { createRareLog, type RareLog } from '../rare-log.js';

interface Write {
  readonly connector: ConnectorEntity;
  readonly stored: StoredReservation;
  readonly lease: LeaseKind;
}

interface ReservationsOptions {
  readonly store: Pick<Store, 'append'>;
  readonly log: Log;
  readonly clock: Clock;
}

export class Reservations {
  readonly #store: Pick<Store, 'append'>;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #rareLog: RareLog;
  /** Rows that are surely on disk, and rows on their way there, oldest first. */
  readonly #onDisk = new WeakMap<Connector, StoredReservation>();
  readonly #underWay = new WeakMap<Connector, StoredReservation[]>();
  readonly #busy = new WeakSet<LocationEntity>();

  constructor({ store, log, clock }: ReservationsOptions) {
    this.#store = store;
    this.#log = log;
    this.#clock = clock;
    this.#rareLog = createRareLog(clock);
  }

  /** Writes the reservations for `grants`, then reports if they are on disk. Never throws. */
  store(
    location: LocationEntity,
    grants: readonly DecidedGrant[],
    whenDone: (isStored: boolean) => void,
  ): void {
    const supervisor = supervisorOf(location);
    for (const { connector } of grants) supervisor.setStoring(connector, true);
    this.#write(location)
      .then((isStored) => {
        for (const { connector } of grants) supervisor.setStoring(connector, false);
        whenDone(isStored);
      })
      .catch((error: unknown) => this.#log.error({ err: error }, 'written limits could not be sent'));
  }

  /**
   * Corrects the rows on disk, because a start relies on them. There are three cases: grants lower than their rows, if
   * the rows exceed the budget; leases that count otherwise; and the maximum of chargers that can take it without a
   * grant. Does nothing while a write of the location is under way.
   * @param whenFailed called if the database did not take the write, which must be repeated
   */
  tidy(location: LocationEntity, whenFailed: () => void): void {
    if (this.#busy.has(location) || !(isTooMuchOnDisk(location) || isOtherOnDisk(location))) return;
    this.#write(location)
      .then((isStored) => {
        if (!isStored) whenFailed();
      })
      .catch((error: unknown) => this.#log.error({ err: error }, 'entitlements could not be written'));
  }

  async #write(location: LocationEntity): Promise<boolean> {
    const writes = writesOf(location, this.#clock.monotonicMs());
    this.#busy.add(location);
    for (const each of writes) this.#begin(each);
    const changes = writes.map(({ connector: { record }, stored, lease }) => {
      const { controllerUuid, connectorId } = record;
      const reservation = { controllerUuid, connectorId, lease, ...stored };
      return { kind: 'reservation.put', reservation } as const;
    });
    let isStored = true;
    try {
      await this.#store.append(location.tenant.tenantUuid, changes);
    } catch (error) {
      isStored = false;
      const level = error instanceof StoreUnavailableError ? 'warn' : 'error';
      this.#rareLog('reservations', () =>
        this.#log[level]({ err: error }, 'limits were not raised: their entitlements could not be written'),
      );
    }
    for (const each of writes) this.#end(each, isStored);
    this.#busy.delete(location);
    return isStored;
  }

  #begin({ connector, stored }: Write): void {
    const { control } = connector;
    this.#count(connector);
    this.#underWay.set(control, [...(this.#underWay.get(control) ?? []), stored]);
    this.#count(connector);
  }

  /** A failed write may be on disk all the same, so the smaller of both counts. */
  #end({ connector, stored, lease }: Write, isStored: boolean): void {
    const { control, location } = connector;
    supervisorOf(location).setStoredLease(control, isStored ? lease : undefined);
    this.#underWay.set(control, (this.#underWay.get(control) ?? []).slice(1));
    const before = this.#onDisk.get(control) ?? NOTHING_STORED;
    this.#onDisk.set(control, isStored ? stored : leastOf([before, stored]));
    this.#count(connector);
  }

  /** Only the smallest of all writes under way is surely on disk, for any of them that a crash lets through. */
  #count({ control, location }: ConnectorEntity): void {
    const before = this.#onDisk.get(control) ?? control.granted.stored;
    this.#onDisk.set(control, before);
    const surely = leastOf([before, ...(this.#underWay.get(control) ?? [])]);
    supervisorOf(location).setStored(control, surely);
  }
}

/**
 * Rows of connectors with a higher or longer grant than on disk. Rows that hold too much are added, as they cost little
 * more.
 */
function writesOf(location: LocationEntity, nowMs: number): readonly Write[] {
  const writes: Write[] = [];
  for (const connector of location.connectors.values()) {
    const { control } = connector;
    const { account, granted } = control;
    const lease = leaseToStore(account);
    const stored = reservationOf(account, nowMs);
    const isSame =
      stored.limitTenthsA === granted.stored.limitTenthsA &&
      stored.thenTenthsA === granted.stored.thenTenthsA &&
      stored.phases === granted.stored.phases;
    if (!isSame || stored.ttlMs > granted.stored.ttlMs || lease !== granted.storedLease)
      writes.push({ connector, stored, lease });
  }
  return writes;
}

function isOtherOnDisk(location: LocationEntity): boolean {
  for (const { account, granted } of supervisorOf(location).connectors.values()) {
    const { stored, storedLease } = granted;
    if (stored.limitTenthsA > 0 && storedLease !== leaseToStore(account)) return true;
    if (account.isWorstCase && stored.limitTenthsA < account.boundTenthsA) return true;
  }
  return false;
}

function isTooMuchOnDisk(location: LocationEntity): boolean {
  const supervisor = supervisorOf(location);
  let storedW = 0;
  let isAnyLower = false;
  for (const { account, granted } of supervisor.connectors.values()) {
    const { stored } = granted;
    storedW += storedWOf(account, stored);
    isAnyLower ||= stored.limitTenthsA > mostOnFirst(account.bounds, stored.phases);
  }
  return isAnyLower && storedW > supervisor.budgetW;
}
