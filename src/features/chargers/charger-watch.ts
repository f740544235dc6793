// Chargers that are offline for long, and online again: changes for the event log. Short losses are in the alarms.
import { linkOf } from '../../../machines/power/connector.js';
import type { ControllerUuid, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import type { ConnectorEntity, Directory, LocationEntity } from '../../actors/directory.js';
import type { BatchedWrites } from '../../enforcement/batched-writes.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { OfflineChargerRecord } from '../../ports/records.js';

const LOOK_EVERY_MS = 5_000;

/** A charger that is out of reach. */
interface Loss {
  readonly sinceMs: EpochMs;
  /** First look that found it out of reach, by the monotonic clock. */
  readonly seenAtMs: number;
  /** The log has it as offline. */
  readonly isLogged: boolean;
}

interface ChargerWatchOptions {
  readonly clock: Clock;
  readonly directory: Directory;
  readonly bookkeeping: Pick<BatchedWrites, 'write'>;
  /** Shortest loss that is logged. */
  readonly offlineAfterMs: number;
}

export class ChargerWatch {
  readonly #options: ChargerWatchOptions;
  readonly #lost = new Map<TenantUuid, Map<ControllerUuid, Loss>>();
  #cancel: Cancel = () => {};

  constructor(options: ChargerWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(LOOK_EVERY_MS, () => {
      this.#look();
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
  }

  /** Takes the chargers that the log has as offline from before the start. */
  restore(tenantUuid: TenantUuid, offline: readonly OfflineChargerRecord[]): void {
    const seenAtMs = this.#options.clock.monotonicMs();
    this.#lost.set(
      tenantUuid,
      new Map(
        offline.map(({ controllerUuid, sinceMs }) => [controllerUuid, { sinceMs, seenAtMs, isLogged: true }]),
      ),
    );
  }

  #look(): void {
    for (const { tenantUuid, locations } of this.#options.directory.tenants.values()) {
      const lost = this.#lost.get(tenantUuid) ?? new Map<ControllerUuid, Loss>();
      this.#lost.set(tenantUuid, lost);
      const expected = new Set<ControllerUuid>();
      for (const location of locations.values())
        for (const [controllerUuid, isReached] of reachOf(location.connectors.values())) {
          expected.add(controllerUuid);
          this.#follow(lost, location, controllerUuid, isReached);
        }
      // The loss of one that is INACTIVE meanwhile begins anew.
      for (const [controllerUuid, { isLogged }] of lost)
        if (!isLogged && !expected.has(controllerUuid)) lost.delete(controllerUuid);
    }
  }

  #follow(
    lost: Map<ControllerUuid, Loss>,
    location: LocationEntity,
    controllerUuid: ControllerUuid,
    isReached: boolean,
  ): void {
    const { clock, offlineAfterMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const loss = lost.get(controllerUuid);
    if (isReached) {
      if (loss === undefined) return;
      lost.delete(controllerUuid);
      if (loss.isLogged) this.#log('charger.online', location, controllerUuid, loss.sinceMs);
    } else if (loss === undefined) {
      const sinceMs = lossBeganAtMs(location, controllerUuid) ?? clock.nowMs();
      lost.set(controllerUuid, { sinceMs, seenAtMs: nowMs, isLogged: false });
    } else if (!loss.isLogged && nowMs - loss.seenAtMs >= offlineAfterMs) {
      lost.set(controllerUuid, { ...loss, isLogged: true });
      this.#log('charger.offline', location, controllerUuid, loss.sinceMs);
    }
  }

  #log(
    kind: 'charger.offline' | 'charger.online',
    { tenant, record }: LocationEntity,
    controllerUuid: ControllerUuid,
    sinceMs: EpochMs,
  ): void {
    const { clock, bookkeeping } = this.#options;
    const { locationId } = record;
    const charger = { controllerUuid, sinceMs };
    bookkeeping.write(tenant.tenantUuid, { kind, locationId, charger, atMs: clock.nowMs() });
  }
}

/** True for a charger with a connector that reports. INACTIVE ones are not expected to report. */
function reachOf(connectors: Iterable<ConnectorEntity>): ReadonlyMap<ControllerUuid, boolean> {
  const reach = new Map<ControllerUuid, boolean>();
  for (const { record, control } of connectors) {
    if (!control.provisioned.spec.isActive) continue;
    const { controllerUuid } = record;
    reach.set(controllerUuid, reach.get(controllerUuid) === true || linkOf(control) === 'online');
  }
  return reach;
}

/** Begin of its oldest open alarm, which may be from before the start. */
function lossBeganAtMs({ alarms }: LocationEntity, controllerUuid: ControllerUuid): EpochMs | undefined {
  const begins = [...alarms.values()]
    .filter(({ kind }) => kind === 'OFFLINE' || kind === 'STALE')
    .filter((alarm) => alarm.controllerUuid === controllerUuid)
    .map(({ beganAtMs }) => beganAtMs);
  return begins.length === 0 ? undefined : Math.min(...begins);
}
