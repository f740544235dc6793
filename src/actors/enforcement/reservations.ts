// The most each connector may have been promised, on disk before it is promised: the first grant after a crash needs no wait.
import type { ConnectorControl } from '../../../machines/connector-control.js';
import type { LeaseKind } from '../../../machines/grant.js';
import type { DecidedGrant } from '../../../machines/location-supervisor.js';
import { wattsOfTenths } from '../../../machines/units.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { ReservationRecord } from '../../ports/records.js';
import { type Store, StoreUnavailableError } from '../../ports/store.js';
import { createRareLog } from '../../rare-log.js';
import type { ConnectorEntity, LocationEntity } from '../entities.js';

export interface Reservations {
  /** Writes what `grants` promise, then says whether it is on disk. Never throws. */
  store(
    location: LocationEntity,
    grants: readonly DecidedGrant[],
    whenDone: (isStored: boolean) => void,
  ): void;
  /**
   * Writes what is promised less than the disk says, where that is too much for the budget, leases that count otherwise
   * than it says, and the maximum of whoever can take it without being told: a start could otherwise let nobody go on as
   * before, or reserve too much for ever, or too little, for somebody who does not come back. Nothing while a write of the
   * location is under way.
   */
  tidy(location: LocationEntity): void;
}

/** Currents in tenths of A per phase. */
type Stored = Pick<ReservationRecord, 'limitTenthsA' | 'thenTenthsA'>;

interface Write {
  readonly connector: ConnectorEntity;
  readonly stored: Stored;
  readonly lease: LeaseKind;
}

const NOTHING: Stored = { limitTenthsA: 0, thenTenthsA: 0 };

export function createReservations(options: {
  readonly store: Pick<Store, 'append'>;
  readonly log: Log;
  readonly clock: Clock;
}): Reservations {
  const { store, log } = options;
  const rareLog = createRareLog(options.clock);
  /** What is surely on disk, and what is on its way there, the oldest first. */
  const onDisk = new WeakMap<ConnectorControl, Stored>();
  const underWay = new WeakMap<ConnectorControl, Stored[]>();
  const busy = new WeakSet<LocationEntity>();

  /** Only what every write on its way leaves standing is surely on disk, whichever of them a crash lets through. */
  function count(control: ConnectorControl): void {
    const before = onDisk.get(control) ?? {
      limitTenthsA: control.storedLimitTenthsA,
      thenTenthsA: control.storedThenTenthsA,
    };
    onDisk.set(control, before);
    const surely = [before, ...(underWay.get(control) ?? [])];
    control.storedLimitTenthsA = Math.min(...surely.map(({ limitTenthsA }) => limitTenthsA));
    control.storedThenTenthsA = Math.min(...surely.map(({ thenTenthsA }) => thenTenthsA));
  }

  function begin({ connector: { control }, stored }: Write): void {
    count(control);
    underWay.set(control, [...(underWay.get(control) ?? []), stored]);
    count(control);
  }

  /** What failed may be on disk all the same: the smaller of both is. */
  function end({ connector: { control }, stored, lease }: Write, isStored: boolean): void {
    control.storedLease = isStored ? lease : undefined;
    underWay.set(control, (underWay.get(control) ?? []).slice(1));
    const before = onDisk.get(control) ?? NOTHING;
    const least = {
      limitTenthsA: Math.min(before.limitTenthsA, stored.limitTenthsA),
      thenTenthsA: Math.min(before.thenTenthsA, stored.thenTenthsA),
    };
    onDisk.set(control, isStored ? stored : least);
    count(control);
  }

  async function write(location: LocationEntity): Promise<boolean> {
    const writes = writesOf(location);
    busy.add(location);
    writes.forEach(begin);
    const changes = writes.map(({ connector: { record }, stored, lease }) => {
      const { controllerUuid, connectorId } = record;
      const reservation = { controllerUuid, connectorId, lease, ...stored };
      return { kind: 'reservation.put', reservation } as const;
    });
    let isStored = true;
    try {
      await store.append(location.tenant.tenantUuid, changes);
    } catch (error) {
      isStored = false;
      const level = error instanceof StoreUnavailableError ? 'warn' : 'error';
      rareLog('reservations', () =>
        log[level]({ err: error }, 'limits were not raised: what they promise could not be written'),
      );
    }
    for (const each of writes) end(each, isStored);
    busy.delete(location);
    return isStored;
  }

  return {
    store(location, grants, whenDone) {
      for (const { control } of grants) control.isStoring = true;
      write(location)
        .then((isStored) => {
          for (const { control } of grants) control.isStoring = false;
          whenDone(isStored);
        })
        .catch((error: unknown) => log.error({ err: error }, 'limits that were written could not be sent'));
    },
    tidy(location) {
      if (busy.has(location) || !(isTooMuchOnDisk(location) || isOtherOnDisk(location))) return;
      write(location).catch((error: unknown) =>
        log.error({ err: error }, 'reservations could not be written'),
      );
    },
  };
}

/** Those that are promised more than is on disk, and, as they cost little more, those of which too much is kept there. */
function writesOf({ connectors }: LocationEntity): readonly Write[] {
  const writes: Write[] = [];
  for (const connector of connectors.values()) {
    const { holding, storedLimitTenthsA, storedThenTenthsA, storedLease } = connector.control;
    const { lease } = holding;
    const stored = { limitTenthsA: holding.boundTenthsA, thenTenthsA: holding.failsafeTenthsA };
    const isSame = stored.limitTenthsA === storedLimitTenthsA && stored.thenTenthsA === storedThenTenthsA;
    if (!isSame || lease !== storedLease) writes.push({ connector, stored, lease });
  }
  return writes;
}

function isOtherOnDisk({ enforcement: { supervisor } }: LocationEntity): boolean {
  for (const { holding, storedLimitTenthsA, storedLease } of supervisor.controls.values()) {
    if (storedLimitTenthsA > 0 && storedLease !== holding.lease) return true;
    if (holding.isWorstCase && storedLimitTenthsA < holding.boundTenthsA) return true;
  }
  return false;
}

function isTooMuchOnDisk({ enforcement: { supervisor } }: LocationEntity): boolean {
  let storedW = 0;
  let isAnyLower = false;
  for (const { holding, storedLimitTenthsA } of supervisor.controls.values()) {
    storedW += wattsOfTenths(storedLimitTenthsA, holding.milliwattsPerTenth);
    isAnyLower ||= storedLimitTenthsA > holding.boundTenthsA;
  }
  return isAnyLower && storedW > supervisor.budgetW;
}
