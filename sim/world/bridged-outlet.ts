// A connector of a virtual OCPP charger in a world: its physical state, and the grant that the gateway holds for it.
import type { LimitReason } from '../../machines/power/grant.js';
import type { HeldLease } from '../../machines/session/held-lease.js';
import type { PerPhase } from '../charger/car.js';
import type { HeldLimit } from '../charger/grant-holder.js';
import type { OcppEvse } from '../charger/ocpp-evse.js';
import type { OutletState } from '../charger/virtual-charger.js';

/** The gateway's lease for the connector, undefined if the gateway has none now, and the reason of that limit. */
export interface HeldWith {
  readonly held: HeldLease | undefined;
  readonly reason: LimitReason;
}

export class BridgedOutlet implements OutletState {
  readonly #evse: OcppEvse;
  readonly #heldWith: () => HeldWith;
  readonly #monotonicMs: () => number;

  constructor(evse: OcppEvse, heldWith: () => HeldWith, monotonicMs: () => number) {
    this.#evse = evse;
    this.#heldWith = heldWith;
    this.#monotonicMs = monotonicMs;
  }

  get spec() {
    return this.#evse.spec;
  }

  get status() {
    return this.#evse.outlet.status;
  }

  /** Grant that the gateway holds for it. The limit and its end are those of the charger's own profiles. */
  get holder(): { readonly applied: HeldLimit } {
    const nowMs = this.#monotonicMs();
    const limitA = this.#evse.mayDrawA(nowMs);
    const endsAtMs = this.#evse.leaseEndsAtMs(nowMs);
    const { held, reason } = this.#heldWith();
    if (held === undefined || held.seq === 0)
      return { applied: { epoch: 0, seq: 0, limitA, thenA: limitA, reason: 'failsafe', endsAtMs } };
    const { epoch, seq, thenA } = held;
    return { applied: { epoch, seq, limitA, thenA, reason, endsAtMs } };
  }

  physicalPowerW(): number {
    return this.#evse.outlet.powerW;
  }

  physicalCurrentA(): PerPhase {
    const { currentA, phases } = this.#evse.outlet;
    return [phases > 0 ? currentA : 0, phases > 1 ? currentA : 0, phases > 2 ? currentA : 0];
  }
}
