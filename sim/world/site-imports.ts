// The imports of a world's sites: buildings with their meters, and the checks against connection and tariff.
import type { LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Change } from '../../src/ports/store.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { siteTopicOf } from '../../src/wire/topics.js';
import { BilledWatch } from '../checks/billed-watch.js';
import { ImportWatch } from '../checks/import-watch.js';
import type { Reached } from '../checks/reached.js';
import type { Building } from '../scenario/scenario.js';
import type { Agenda } from './agenda.js';
import { BuildingRun } from './building.js';
import type { Report } from './power-watch.js';

const LOOK_EVERY_MS = 1_000;

interface SiteImportsOptions {
  readonly tenants: readonly TenantEntry[];
  readonly buildings: readonly Building[];
  readonly seed: number;
  readonly agenda: Agenda;
  readonly nowMs: () => EpochMs;
  readonly monotonicMs: () => number;
  /** Draw of a location's chargers, W. */
  readonly drawnW: (locationId: string) => number;
  /** Longest time that a lease may last. */
  readonly horizonMs: number;
  /** True if the meter's message reaches the service. */
  readonly say: (topic: string, message: string) => boolean;
  readonly reached: Pick<Reached, 'note'>;
  readonly report: Report;
}

export class SiteImports {
  readonly connection: ImportWatch;
  readonly billed: BilledWatch;
  readonly #options: SiteImportsOptions;

  constructor(options: SiteImportsOptions) {
    this.#options = options;
    this.connection = new ImportWatch(options);
    this.billed = new BilledWatch({
      ...options,
      buildingW: (locationId) => this.connection.buildingW(locationId),
    });
  }

  begin(): void {
    for (const building of this.#options.buildings) this.#run(building).begin();
    if (this.billed.isNeeded) this.#lookAtBilled();
  }

  /** A fault affects chargers or the service now: leases may end unseen. */
  disturbed(): void {
    this.connection.disturbed();
    this.billed.disturbed();
  }

  written(changes: readonly Change[]): void {
    for (const change of changes)
      if (change.kind === 'alarm.begin' && change.alarm.kind === 'SITE_METER_IMPLAUSIBLE')
        this.connection.doubted(change.alarm.locationId);
  }

  #lookAtBilled(): void {
    const { agenda, monotonicMs } = this.#options;
    this.billed.look();
    agenda.at(monotonicMs() + LOOK_EVERY_MS, () => this.#lookAtBilled());
  }

  #run(building: Building): BuildingRun {
    const { drawnW, say, ...options } = this.#options;
    const { tenantUuid, locationId } = building;
    const topic = siteTopicOf({
      kind: 'siteMeter',
      tenantUuid: tenantUuid as TenantUuid,
      locationId: locationId as LocationId,
    });
    return new BuildingRun(building, {
      ...options,
      watch: this.connection,
      drawnW: () => drawnW(locationId),
      say: (message) => say(topic, JSON.stringify(message)),
    });
  }
}
