// What is done to a location under attack: faults of links, reboots, crashes, and what people do meanwhile.
import { expect } from 'vitest';
import type { ChargerTraits } from './hostile-charger.js';
import type { SupervisorRig } from './supervisor-rig.js';

export const ATTACKED_UNTIL_MS = 600_000;

export interface Attack {
  readonly chargers: number;
  readonly hasCrashes: boolean;
  readonly hasLocks: boolean;
  /** All chargers keep what they are told to fall back to; otherwise half of them. */
  readonly isFailsafeKept: boolean;
  /** Half of them count leases from receipt: their grants may outlive any look-ahead, so the limit stays as it is. */
  readonly hasReceipts: boolean;
}

/** W at nominal voltage and a tenth, as the service reckons before it knows better. */
export function sumW(
  chargers: readonly ChargerTraits[],
  tenthsAOf: (traits: ChargerTraits) => number,
): number {
  return chargers.reduce((sum, each) => sum + (tenthsAOf(each) * 253 * each.phases) / 10, 0);
}

/** Faults until {@link ATTACKED_UNTIL_MS}, then all links whole: every charger has a lease again. @throws naming the seed */
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

/** A fault, or something that people do, every few seconds. */
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
