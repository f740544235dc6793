// The charging profiles of one virtual OCPP connector, and their limit at an instant of its own clock.
import type { GatewayRequest, ProfileSlot } from '../../machines/session/gateway-request.js';
import type { CompositeSchedule, LeaseSchedule, RateUnit } from '../../machines/session/lease-schedule.js';

interface Step {
  readonly atOwnMs: number;
  readonly limit: number;
}

interface Profile {
  readonly unit: RateUnit;
  readonly steps: readonly Step[];
}

type SetFailsafe = Extract<GatewayRequest, { kind: 'setFailsafe' }>;

/** Faults in the use of accepted profiles; an honest charger has none. */
export interface ProfileFaults {
  /** It keeps only the first period. */
  readonly losesPeriods: boolean;
  /** The first period begins on receipt, regardless of `startSchedule`. */
  readonly ignoresStart: boolean;
}

const PRECEDENCE: readonly ProfileSlot[] = ['transaction', 'default', 'failsafe'];

/** Limits are in the unit of their profile; all profiles of one connector have the same unit. */
export class ProfileStore {
  readonly #profiles = new Map<ProfileSlot, Profile>();
  readonly #faults: ProfileFaults;

  constructor(faults: ProfileFaults) {
    this.#faults = faults;
  }

  setFailsafe({ unit, limit }: SetFailsafe): void {
    this.#profiles.set('failsafe', { unit, steps: [{ atOwnMs: Number.NEGATIVE_INFINITY, limit }] });
  }

  setLease(
    slot: 'default' | 'transaction',
    schedule: Omit<LeaseSchedule, 'phases' | 'counted'>,
    ownMs: number,
  ): void {
    const { unit, limit, endsAfterS, thenLimit } = schedule;
    const fromMs = this.#faults.ignoresStart ? ownMs : schedule.startsAtOwnMs;
    const first = { atOwnMs: fromMs, limit };
    const second = { atOwnMs: fromMs + 1000 * endsAfterS, limit: thenLimit };
    this.#profiles.set(slot, { unit, steps: this.#faults.losesPeriods ? [first] : [first, second] });
  }

  clear(slot: ProfileSlot): void {
    this.#profiles.delete(slot);
  }

  clearAll(): void {
    this.#profiles.clear();
  }

  /**
   * Instant, of its own clock, at which the deciding lease reaches its last period. Infinite for a lease with one
   * period. Undefined if no lease decides, or if the lease does not end with less.
   */
  leaseEndsMs(ownMs: number): number | undefined {
    for (const slot of ['transaction', 'default'] as const) {
      const steps = this.#profiles.get(slot)?.steps ?? [];
      if (!steps.some(({ atOwnMs }) => atOwnMs <= ownMs)) continue;
      const [first, last] = [steps[0], steps.at(-1)];
      if (steps.length === 1) return Number.POSITIVE_INFINITY;
      // A lease that ends with more than before may last for any time.
      return (last?.limit ?? 0) < (first?.limit ?? 0) ? last?.atOwnMs : undefined;
    }
    return undefined;
  }

  /** Undefined if no profile limits the connector. */
  limitAt(ownMs: number): { readonly unit: RateUnit; readonly limit: number } | undefined {
    for (const slot of PRECEDENCE) {
      const profile = this.#profiles.get(slot);
      const step = profile?.steps.findLast(({ atOwnMs }) => atOwnMs <= ownMs);
      if (profile !== undefined && step !== undefined) return { unit: profile.unit, limit: step.limit };
    }
    return undefined;
  }

  /** Next instant, of its own clock, at which the limit may change; infinite if it never changes by itself. */
  nextChangeMs(ownMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { steps } of this.#profiles.values())
      for (const { atOwnMs } of steps) if (atOwnMs > ownMs) nextMs = Math.min(nextMs, atOwnMs);
    return nextMs;
  }

  /** Schedule from `ownMs` on, in whole seconds. */
  composite(ownMs: number, durationS: number, unit: RateUnit): CompositeSchedule {
    const periods: { startS: number; limit: number }[] = [];
    const untilMs = ownMs + 1000 * durationS;
    for (let atMs = ownMs; atMs < untilMs; atMs = this.nextChangeMs(atMs)) {
      const startS = Math.ceil((atMs - ownMs) / 1000);
      periods.push({ startS, limit: this.limitAt(atMs)?.limit ?? -1 });
    }
    return { unit: this.limitAt(ownMs)?.unit ?? unit, startsAtOwnMs: ownMs, durationS, periods };
  }
}
