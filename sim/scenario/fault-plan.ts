// Draws the faults of one run from its seed: strengths and times, as a sequence of episodes.
import type { EpochMs } from '../../machines/values/time.js';
import { createDraw, type Draw, type Range } from './draw.js';
import { type CutDirection, type Fault, type FaultLink, type Scenario, SERVICE_FAULTS } from './scenario.js';

/** A fault from one instant to another. An episode without a duration, such as a reboot, ends at `startsAtMs`. */
export interface FaultEpisode {
  readonly kind: Fault['kind'];
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  /** The affected charger; undefined if the fault affects the service. */
  readonly charger: Fault['chargers'][number] | undefined;
  /**
   * Share of the affected messages. For a drifting clock, the share by which the clock is slow. 0 if the fault has no
   * share.
   */
  readonly share: number;
  /** Longest additional delay of a message. */
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

/** Start of each episode: once at the beginning of the window, or repeatedly. */
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

/** All episodes of `scenario`, in the order of their starts; equal seeds give equal episodes. */
export function faultPlanOf({ faults }: Pick<Scenario, 'faults'>, seed: number): readonly FaultEpisode[] {
  const episodes = faults.flatMap((fault, i) => {
    const targets = SERVICE_FAULTS.includes(fault.kind) ? [undefined] : fault.chargers;
    return targets.flatMap((charger) =>
      episodesOf(fault, charger, createDraw(seed, 'fault', i, charger?.controllerUuid ?? 'service')),
    );
  });
  return episodes.sort((a, b) => a.startsAtMs - b.startsAtMs);
}
