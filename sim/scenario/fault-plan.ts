// The faults of one run: strengths and times drawn from its seed, as episodes to be played one after another.
import type { EpochMs } from '../../machines/values/time.js';
import { createDraw, type Draw, type Range } from './draw.js';
import { type CutDirection, type Fault, type FaultLink, type Scenario, SERVICE_FAULTS } from './scenario.js';

/** A fault from one instant to another; `endsAtMs` of a reboot is when it begins. */
export interface FaultEpisode {
  readonly kind: Fault['kind'];
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  /** The charger it befalls; undefined where it befalls the service. */
  readonly charger: Fault['chargers'][number] | undefined;
  /** Of its messages; of a clock that drifts, how much it is slow. 0 where the fault knows none. */
  readonly share: number;
  /** Messages come up to this much later. */
  readonly upToMs: number;
  readonly direction: CutDirection;
  readonly link: FaultLink;
}

const WHOLE_WINDOW: ReadonlySet<Fault['kind']> = new Set([
  'loss',
  'duplication',
  'delay',
  'hold',
  'clockDrift',
]);
const NOTHING: Range = [0, 0];

/** When its episodes begin: once, at the beginning of the window, or again and again. */
function beginnings({ kind, fromMs, untilMs, everyMs }: Fault, draw: Draw): readonly EpochMs[] {
  if (everyMs === undefined || WHOLE_WINDOW.has(kind)) return [fromMs];
  const instants: EpochMs[] = [];
  // Starts at a random time within the period, so that chargers with the same period do not fail together.
  let atMs = fromMs + draw.whole([0, everyMs[1]]);
  while (atMs < untilMs) {
    instants.push(atMs);
    atMs += draw.whole(everyMs);
  }
  return instants;
}

function episodesOf(fault: Fault, charger: FaultEpisode['charger'], draw: Draw): readonly FaultEpisode[] {
  const { kind, untilMs, direction, link, share = NOTHING, upToMs = NOTHING, lengthMs = NOTHING } = fault;
  return beginnings(fault, draw).map((startsAtMs) => ({
    kind,
    startsAtMs,
    charger,
    direction,
    link,
    endsAtMs: WHOLE_WINDOW.has(kind) ? untilMs : Math.min(untilMs, startsAtMs + draw.whole(lengthMs)),
    share: draw.between(share),
    upToMs: draw.whole(upToMs),
  }));
}

/** All episodes of `scenario`, in the order in which they begin: the same for the same seed. */
export function faultPlanOf({ faults }: Pick<Scenario, 'faults'>, seed: number): readonly FaultEpisode[] {
  const episodes = faults.flatMap((fault, i) => {
    const targets = SERVICE_FAULTS.includes(fault.kind) ? [undefined] : fault.chargers;
    return targets.flatMap((charger) =>
      episodesOf(fault, charger, createDraw(seed, 'fault', i, charger?.controllerUuid ?? 'service')),
    );
  });
  return episodes.sort((a, b) => a.startsAtMs - b.startsAtMs);
}
