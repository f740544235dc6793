// Connectors of a location. A known connector keeps all its reservations when its location is rebuilt.

import { tenthsAOf } from '../values/units.js';
import { distrust } from './compliance.js';
import type { ConnectorActor } from './connector.machine.js';
import {
  type ConnectorControl,
  type ConnectorSpec,
  createControl,
  reserveWorstCase,
  rewire,
  type Writing,
} from './connector-control.js';
import { type Fuses, NO_FUSES } from './fuses.js';
import type { LeaseKind, LeaseTiming } from './grant.js';
import { setStored, setStoredLease } from './granted.js';
import type { Ledger } from './ledger.js';
import type { MeterLedger } from './meter-ledger.js';
import { ALL_PHASES, type PhaseCount } from './own-phases.js';

/** A connector of the location from provisioning and database rows. Currents in tenths of an ampere per phase. */
export interface ProvisionedConnector {
  readonly key: string;
  readonly spec: ConnectorSpec;
  /** The largest grant before the service start; undefined without a record. */
  readonly promised?: GrantBeforeStart | undefined;
  /** The connector did not comply before the service start, and is not trusted until it complies. */
  readonly isDistrusted?: boolean | undefined;
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
  readonly #controls = new Map<string, Written>();
  #fuses = NO_FUSES;

  /** @param timing for chargers without their own timing */
  constructor(ledger: Ledger, meters: MeterLedger, timing: LeaseTiming) {
    this.#ledger = ledger;
    this.#meters = meters;
    this.#timing = timing;
  }

  /** By `connectorKey`. */
  get controls(): ReadonlyMap<string, ConnectorControl> {
    return this.#controls;
  }

  /** The longest lease of any connector, ms. */
  get longestTtlMs(): number {
    let longestMs = this.#controls.size === 0 ? this.#timing.ttlMs : 0;
    for (const { provisioned } of this.#controls.values())
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
    for (const control of this.#controls.values()) {
      control.provisioned.fuses = fuses;
      rewire(control);
    }
  }

  /**
   * Adds or updates a connector. With the same rating it keeps all its state, also after its location and machine are
   * rebuilt.
   * @param actor machine with lock, throttle and link
   */
  place(connector: ProvisionedConnector, actor: ConnectorActor, nowMs: number): ConnectorControl {
    const { key, spec, promised, isDistrusted } = connector;
    const held = this.#controls.get(key);
    if (held !== undefined && isSameRating(held.provisioned.spec, spec)) {
      held.actor = actor;
      this.#respecify(held, spec);
      return held;
    }
    if (held !== undefined) this.#meters.removeConnector(held.telemetry.slot);
    const timing = spec.timing ?? this.#timing;
    const slot = this.#meters.addConnector(key, staleAfterMsOf(timing));
    const isNew = held === undefined && promised === undefined;
    const lastWBeforeStart = isNew ? 0 : undefined;
    const leased = { lease: promised?.lease ?? 'receipt', timing, lastWBeforeStart } as const;
    const control = createControl(this.#ledger, this.#fuses, key, slot, actor, spec, leased, nowMs);
    this.#controls.set(key, control);
    if (held !== undefined) this.#succeed(held, control, nowMs);
    else if (promised !== undefined) this.#restore(control, promised, nowMs);
    if (isDistrusted === true) this.#distrust(control);
    return control;
  }

  /** Removes all other connectors. */
  keepOnly(keys: { has(key: string): boolean }): void {
    for (const [key, control] of this.#controls) {
      if (keys.has(key)) continue;
      this.#meters.removeConnector(control.telemetry.slot);
      this.#ledger.remove(control.account);
      this.#controls.delete(key);
    }
  }

  /** Applies changed provisioning with the same rating. */
  #respecify(control: Written, spec: ConnectorSpec): void {
    const { account, provisioned, telemetry } = control;
    provisioned.spec = spec;
    provisioned.timing = spec.timing ?? this.#timing;
    provisioned.fuses = this.#fuses;
    this.#meters.setStaleAfter(telemetry.slot, staleAfterMsOf(provisioned.timing));
    account.describe({ ttlMs: provisioned.timing.ttlMs });
    rewire(control);
    // A charger's own report of its fail-safe takes precedence over provisioning.
    if (account.isDescribed) return;
    account.describe({ failsafeTenthsA: Math.min(tenthsAOf(spec.failsafeA), account.maxTenthsA) });
  }

  /**
   * `control` replaces `gone`: the same connector with another rating. Earlier grants may still be in force, and the
   * charger rejects lower grant numbers than before.
   */
  #succeed(gone: ConnectorControl, control: ConnectorControl, nowMs: number): void {
    const { boundTenthsA, failsafeTenthsA, lastSeq } = gone.account;
    const ttlMs = gone.account.coveringTtlMs(nowMs);
    this.#ledger.remove(gone.account);
    this.#restore(control, { limitTenthsA: boundTenthsA, thenTenthsA: failsafeTenthsA, ttlMs }, nowMs);
    control.account.continueAfter(lastSeq);
    const { storedLimitTenthsA: limitTenthsA, storedThenTenthsA: thenTenthsA, ...stored } = gone.granted;
    setStored(control, { limitTenthsA, thenTenthsA, ttlMs: stored.storedTtlMs, phases: stored.storedPhases });
    setStoredLease(control, stored.storedLease);
    if (gone.car.compliance.isNonCompliant) this.#distrust(control);
  }

  /** Restores the reservation on disk at the service start. */
  #restore(
    control: ConnectorControl,
    { limitTenthsA, thenTenthsA, ttlMs: knownTtlMs, phases: knownPhases }: Omit<GrantBeforeStart, 'lease'>,
    nowMs: number,
  ): void {
    const { maxTenthsA } = control.account;
    const [ttlMs, phases] = [knownTtlMs ?? control.provisioned.timing.ttlMs, knownPhases ?? ALL_PHASES];
    const restored = {
      limitTenthsA: Math.min(limitTenthsA, maxTenthsA),
      thenTenthsA: Math.min(thenTenthsA, maxTenthsA),
    };
    control.account.restore({ ...restored, ttlMs, phases }, nowMs);
    setStored(control, { limitTenthsA, thenTenthsA, ttlMs, phases });
    reserveWorstCase(control);
  }

  #distrust(control: ConnectorControl): void {
    distrust(control.car.compliance);
    reserveWorstCase(control);
  }
}

function isSameRating(a: ConnectorSpec, b: ConnectorSpec): boolean {
  const isSameDc = JSON.stringify(a.dc ?? null) === JSON.stringify(b.dc ?? null);
  return isSameDc && a.maxCurrentA === b.maxCurrentA && a.phases === b.phases && a.voltageV === b.voltageV;
}
