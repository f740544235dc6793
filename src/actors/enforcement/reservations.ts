// The most each connector may have been promised, on disk before it is promised: the first grant after a crash needs no wait.
import type { ConnectorControl } from '../../../machines/connector-control.js';
import type { DecidedGrant } from '../../../machines/location-supervisor.js';
import type { Log } from '../../ports/log.js';
import type { ReservationRecord } from '../../ports/records.js';
import { type Change, type Store, StoreUnavailableError } from '../../ports/store.js';
import type { LocationEntity } from '../entities.js';

export interface Reservations {
  /** Writes what `grants` promise, then says whether it is on disk. Never throws. */
  store(
    location: LocationEntity,
    grants: readonly DecidedGrant[],
    whenDone: (isStored: boolean) => void,
  ): void;
}

export function createReservations(options: {
  readonly store: Pick<Store, 'append'>;
  readonly log: Log;
}): Reservations {
  const { store, log } = options;
  return {
    store(location, grants, whenDone) {
      for (const { control } of grants) control.isStoring = true;
      const written = recordsToWrite(location);
      const changes: Change[] = written.map(({ reservation }) => ({ kind: 'reservation.put', reservation }));
      store
        .append(location.tenant.tenantUuid, changes)
        .then(
          () => {
            for (const { control, reservation } of written) {
              control.storedLimitTenthsA = reservation.limitTenthsA;
              control.storedThenTenthsA = reservation.thenTenthsA;
            }
            return true;
          },
          (error: unknown) => {
            const level = error instanceof StoreUnavailableError ? 'warn' : 'error';
            log[level]({ err: error }, 'limits were not raised: what they promise could not be written');
            return false;
          },
        )
        .then((isStored) => {
          for (const { control } of grants) control.isStoring = false;
          whenDone(isStored);
        })
        .catch((error: unknown) => log.error({ err: error }, 'limits that were written could not be sent'));
    },
  };
}

/** Those that are promised more than is on disk, and, as they cost little more, those of which too much is kept there. */
function recordsToWrite(
  location: LocationEntity,
): readonly { readonly control: ConnectorControl; readonly reservation: ReservationRecord }[] {
  const records = [];
  for (const { control, record } of location.connectors.values()) {
    const { entitledTenthsA, failsafeTenthsA, lease } = control.holding;
    const isSame =
      control.storedLimitTenthsA === entitledTenthsA && control.storedThenTenthsA === failsafeTenthsA;
    if (isSame) continue;
    const { controllerUuid, connectorId } = record;
    const reservation = {
      ...{ controllerUuid, connectorId, lease },
      limitTenthsA: entitledTenthsA,
      thenTenthsA: failsafeTenthsA,
    };
    records.push({ control, reservation });
  }
  return records;
}
