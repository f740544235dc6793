// An attack on a location: faults of links, reboots, crashes, and actions of people in between.
import { expect } from 'vitest';
import type { ChargerTraits } from './hostile-charger.js';
import type { SupervisorRig } from './supervisor-rig.js';

export const ATTACKED_UNTIL_MS = 600_000;

export interface Attack {
  readonly chargers: number;
  readonly hasCrashes: boolean;
  readonly hasLocks: boolean;
  /** All chargers keep `thenA`. Otherwise, half of them do. */
  readonly isFailsafeKept: boolean;
  /**
   * Half of the chargers count leases from receipt. Their grants may outlive any look-ahead, so the limit stays
   * constant.
   */
  readonly hasReceipts: boolean;
}

/** W at 10 % above nominal voltage, as the service counts an unmeasured current. */
export function sumW(
  chargers: readonly ChargerTraits[],
  tenthsAOf: (traits: ChargerTraits) => number,
): number {
  return chargers.reduce((sum, each) => sum + (tenthsAOf(each) * 253 * each.phases) / 10, 0);
}

/**
 * Runs faults until {@link ATTACKED_UNTIL_MS}, then only whole links, and expects a lease for every charger at the end.
 * @throws an error that names the seed
 */
export function surviveAttack(rig: SupervisorRig, seed: number, attack: Attack): void {
  try {
    rig.run(90_000);
    attackOn(rig, attack);
    for (const { up, down } of rig.places) {
      up.isNoisy = down.isNoisy = false;
      up.open();
      down.open();
    }
    rig.run(ATTACKED_UNTIL_MS + 132_000);
    for (const { charger } of rig.places) expect(charger.hasLease, charger.traits.key).toBe(true);
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** Causes a fault or an action of people every few seconds. */
export function attackOn(rig: SupervisorRig, attack: Attack): void {
  const { dice } = rig;
  const mostW = sumW(
    rig.places.map(({ charger }) => charger.traits),
    ({ maxTenthsA }) => maxTenthsA,
  );
  rig.isDiskSlow = true;
  for (const { up, down } of rig.places) up.isNoisy = down.isNoisy = dice.isOneIn(2);
  while (rig.agenda.nowMs < ATTACKED_UNTIL_MS) {
    rig.run(rig.agenda.nowMs + dice.below(6_000));
    const place = rig.places[dice.below(rig.places.length)];
    if (place === undefined) continue;
    const link = dice.oneOf<Pick<typeof place.up, 'mode' | 'open'>>(place.up, place.down);
    const limitW = Math.max(rig.lowestW, Math.round((mostW * dice.below(100)) / 100));
    const deeds: (() => void)[] = [
      () => (link.mode === 'open' ? undefined : link.open()),
      () => {
        link.mode = dice.oneOf('held', 'cut');
      },
      () => {
        place.up.mode = place.down.mode = dice.oneOf('held', 'cut');
      },
      () => {
        place.up.open();
        place.down.open();
      },
      () => rig.restart(place),
      () =>
        attack.hasReceipts || rig.limitFrom(rig.agenda.nowMs + dice.oneOf(0, 20_000, 80_000, 90_000), limitW),
      () => {
        const { charger } = place;
        const wantsTenthsA = dice.oneOf(undefined, charger.traits.maxTenthsA, 100, 0);
        if (charger.traits.endsWithSession === true)
          charger.plugIn(wantsTenthsA, dice.oneOf(1, 1, 2, 3), rig.agenda.nowMs);
        else charger.wantsTenthsA = wantsTenthsA;
      },
    ];
    if (place.charger.traits.endsWithSession === true)
      deeds.push(() => place.charger.useMore(rig.agenda.nowMs));
    if (attack.hasCrashes) deeds.push(() => rig.crash(dice.oneOf(0, 100, 5_000, 20_000)));
    const lock = () => rig.lock(place, dice.oneOf(undefined, 4, 11, 22));
    if (attack.hasLocks) deeds.push(lock);
    if (attack.hasLocks && place.charger.isLent) deeds.push(lock, lock);
    deeds[dice.below(deeds.length)]?.();
  }
}
