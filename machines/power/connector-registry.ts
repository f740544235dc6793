// Connectors of a location. A known connector keeps all its reservations when its location is rebuilt.

import type { LeaseKind, LeaseTiming } from '../ledger/grant.js';
import type { Ledger } from '../ledger/ledger.js';
import { ALL_PHASES, type PhaseCount } from '../ledger/own-phases.js';
import {
  type Connector,
  type ConnectorSpec,
  createConnector,
  reserveWorstCase,
  rewire,
  type StoredNeeds,
  type Writing,
} from './connector.js';
import type { ConnectorActor } from './connector.machine.js';
import { followDepartures } from './declared-cars.js';
import { provisionFailsafe } from './failsafes.js';
import { type Fuses, NO_FUSES } from './fuses.js';
import { setStored, setStoredLease } from './granted.js';
import type { MeterLedger } from './meter-ledger.js';

/** A connector of the location from provisioning and database rows. Currents in tenths of an ampere per phase. */
export interface ProvisionedConnector {
  readonly key: string;
  readonly spec: ConnectorSpec;
  /** The largest grant before the service start; undefined without a record. */
  readonly promised?: GrantBeforeStart | undefined;
  /** The connector did not comply before the service start, and is not trusted until it complies. */
  readonly isDistrusted?: boolean | undefined;
  /** Declared needs of its car before the service start; undefined without a record. */
  readonly needs?: StoredNeeds | undefined;
}

export interface GrantBeforeStart {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  readonly lease: LeaseKind;
  /** Lease length of those grants; the current length if unknown. */
  readonly ttlMs?: number | null;
  /** Phase count of those grants; all phases if unknown. */
  readonly phases?: PhaseCount | null;
}

/** A connector without a value for this many heartbeats is stale. */
const STALE_AFTER_HEARTBEATS = 3;

/** Longest permitted silence for that heartbeat interval, ms. */
export function staleAfterMsOf({ heartbeatMs }: Pick<LeaseTiming, 'heartbeatMs'>): number {
  return STALE_AFTER_HEARTBEATS * heartbeatMs;
}

type Written = Writing<'provisioned'> & { actor: ConnectorActor };

export class ConnectorRegistry {
  readonly #ledger: Ledger;
  readonly #meters: MeterLedger;
  readonly #timing: LeaseTiming;
  readonly #connectors = new Map<string, Written>();
  #fuses = NO_FUSES;

  /** @param timing for chargers without their own timing */
  constructor(ledger: Ledger, meters: MeterLedger, timing: LeaseTiming) {
    this.#ledger = ledger;
    this.#meters = meters;
    this.#timing = timing;
  }

  /** By `connectorKey`. */
  get connectors(): ReadonlyMap<string, Connector> {
    return this.#connectors;
  }

  /** The longest lease of any connector, ms. */
  get longestTtlMs(): number {
    let longestMs = this.#connectors.size === 0 ? this.#timing.ttlMs : 0;
    for (const { provisioned } of this.#connectors.values())
      longestMs = Math.max(longestMs, provisioned.timing.ttlMs);
    return longestMs;
  }

  get fuses(): Fuses {
    return this.#fuses;
  }

  /** Replaces the fuses or changes their ratings. */
  rewire(fuses: Fuses): void {
    this.#fuses = fuses;
    this.#ledger.rewire(fuses.capacitiesTenthsA);
    for (const connector of this.#connectors.values()) {
      connector.provisioned.fuses = fuses;
      rewire(connector);
    }
  }

  /**
   * Adds or updates a connector. With the same rating it keeps all its state, also after its location and machine are
   * rebuilt.
   * @param actor machine with lock, throttle and link
   */
  place(provisioned: ProvisionedConnector, actor: ConnectorActor, nowMs: number): Connector {
    const { key, spec, promised, isDistrusted, needs } = provisioned;
    const held = this.#connectors.get(key);
    if (held !== undefined && isSameRating(held.provisioned.spec, spec)) {
      held.actor = actor;
      this.#respecify(held, spec);
      return held;
    }
    if (held !== undefined) this.#meters.removeConnector(held.telemetry.slot);
    const timing = spec.timing ?? this.#timing;
    const slot = this.#meters.addConnector(key, staleAfterMsOf(timing));
    const before = {
      lease: promised?.lease ?? 'receipt',
      isNonCompliant: isDistrusted === true || held?.car.compliance.isNonCompliant === true,
      lastW: held === undefined && promised === undefined ? 0 : undefined,
      needs: held === undefined ? needs : { ...held.needs, energy: held.energy.stored },
    };
    const wired = { spec, timing, fuses: this.#fuses };
    const connector = createConnector(this.#ledger, key, slot, actor, wired, before, nowMs);
    this.#connectors.set(key, connector);
    followDepartures(connector);
    if (held !== undefined) this.#succeed(held, connector, nowMs);
    else if (promised !== undefined) this.#restore(connector, promised, nowMs);
    reserveWorstCase(connector);
    return connector;
  }

  /** Removes all other connectors. */
  keepOnly(keys: { has(key: string): boolean }): void {
    for (const [key, connector] of this.#connectors) {
      if (keys.has(key)) continue;
      this.#meters.removeConnector(connector.telemetry.slot);
      this.#ledger.remove(connector.account);
      this.#connectors.delete(key);
    }
  }

  /** Applies changed provisioning with the same rating. */
  #respecify(connector: Written, spec: ConnectorSpec): void {
    const { account, provisioned, telemetry } = connector;
    provisioned.spec = spec;
    provisionFailsafe(connector, spec);
    provisioned.timing = spec.timing ?? this.#timing;
    provisioned.fuses = this.#fuses;
    this.#meters.setStaleAfter(telemetry.slot, staleAfterMsOf(provisioned.timing));
    account.describe({ ttlMs: provisioned.timing.ttlMs });
    rewire(connector);
    followDepartures(connector);
    // A charger's own report of its fail-safe takes precedence over provisioning.
    if (account.isDescribed) return;
    account.describe({ failsafeTenthsA: connector.failsafe.provisionedTenthsA });
  }

  /**
   * `connector` replaces `gone`: the same connector with another rating. Earlier grants may still be in force, and the
   * charger rejects lower grant numbers than before.
   */
  #succeed(gone: Connector, connector: Connector, nowMs: number): void {
    const { boundTenthsA, failsafeTenthsA, lastSeq } = gone.account;
    const ttlMs = gone.account.coveringTtlMs(nowMs);
    this.#ledger.remove(gone.account);
    this.#restore(connector, { limitTenthsA: boundTenthsA, thenTenthsA: failsafeTenthsA, ttlMs }, nowMs);
    connector.account.continueAfter(lastSeq);
    setStored(connector, gone.granted.stored);
    setStoredLease(connector, gone.granted.storedLease);
  }

  /** Restores the reservation on disk at the service start. */
  #restore(
    connector: Connector,
    { limitTenthsA, thenTenthsA, ttlMs: knownTtlMs, phases: knownPhases }: Omit<GrantBeforeStart, 'lease'>,
    nowMs: number,
  ): void {
    const { maxTenthsA } = connector.account;
    const [ttlMs, phases] = [knownTtlMs ?? connector.provisioned.timing.ttlMs, knownPhases ?? ALL_PHASES];
    const restored = {
      limitTenthsA: Math.min(limitTenthsA, maxTenthsA),
      thenTenthsA: Math.min(thenTenthsA, maxTenthsA),
    };
    connector.account.restore({ ...restored, ttlMs, phases }, nowMs);
    setStored(connector, { limitTenthsA, thenTenthsA, ttlMs, phases });
  }
}

function isSameRating(a: ConnectorSpec, b: ConnectorSpec): boolean {
  const isSameDc = JSON.stringify(a.dc ?? null) === JSON.stringify(b.dc ?? null);
  return isSameDc && a.maxCurrentA === b.maxCurrentA && a.phases === b.phases && a.voltageV === b.voltageV;
}
