// The visits of cars as a virtual charger tells them apart, and the limits that end with them.
import type { AckResult } from '../../machines/power/grant.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { CarNote } from './car.js';
import type { GrantHolder } from './grant-holder.js';
import type { Outlet } from './outlet.js';
import type { ChargerTraits } from './traits.js';

export interface CarSession {
  readonly id: string | undefined;
  readonly onCar: (note: CarNote) => void;
  readonly onMorePhases: () => void;
  /** Why a limit for a session is not taken; undefined where nothing speaks against it. */
  refuses(limit: Pick<LimitMessage, 'session' | 'phases'>): AckResult | undefined;
  restart(boot: string): void;
}

export function createCarSession(
  holder: GrantHolder,
  {
    traits: { endsWithSession, switchesPhases },
    onCar,
    ...options
  }: {
    readonly traits: ChargerTraits;
    readonly boot: string;
    readonly onCar: (note: CarNote) => void;
  },
  outlet: () => Outlet,
): CarSession {
  let { boot } = options;
  let visits = 0;
  let isCarThere = false;
  const current = () => (endsWithSession && isCarThere ? `${boot.slice(0, 40)}-${visits}` : undefined);
  /** What was for it is over: the contactor opens, whether anybody hears of it or not. */
  const end = () => {
    if (holder.endSession()) outlet().cut();
  };
  return {
    get id() {
      return current();
    },
    onCar(note) {
      isCarThere = note.what === 'arrived';
      if (isCarThere) visits++;
      else end();
      onCar(note);
    },
    onMorePhases: () => {
      if ((holder.applied.lent?.phases ?? 3) < outlet().phases) end();
    },
    refuses(limit) {
      if (limit.session === undefined) return undefined;
      if (limit.session !== current()) return 'STALE';
      return !switchesPhases && (limit.phases ?? 3) < outlet().phases ? 'REJECTED' : undefined;
    },
    restart(newBoot) {
      boot = newBoot;
      visits++;
    },
  };
}
