// Newest end of the chart's lines: values of events since the page opened.
import { useRef } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationLive } from '../../src/features/live-contract.js';
import { useFeedState } from '../session/session.js';
import type { StepLine } from './step-line.js';

/** Roll-ups cover older times. */
const KEPT_MS = 3_600_000;

export interface LiveLines {
  /** Instant of the last event; undefined before. */
  readonly atMs: EpochMs | undefined;
  readonly powerKw: StepLine;
  readonly inForceKw: StepLine;
  readonly buildingKw: StepLine;
  readonly occupiedKw: StepLine;
  readonly operatorKw: StepLine;
}

const NOTHING: LiveLines = {
  atMs: undefined,
  powerKw: [],
  inForceKw: [],
  buildingKw: [],
  occupiedKw: [],
  operatorKw: [],
};

/** Begins again after a lost connection: only roll-ups cover the time without a connection. */
export function useLiveLines(live: LocationLive | undefined): LiveLines {
  const { epoch } = useFeedState();
  const lines = useRef(NOTHING);
  const seen = useRef<{ readonly live: LocationLive | undefined; readonly epoch: number }>({ live, epoch });
  if (seen.current.epoch !== epoch) {
    lines.current = NOTHING;
    seen.current = { live, epoch };
    return NOTHING;
  }
  if (live === undefined || (seen.current.live === live && lines.current !== NOTHING)) return lines.current;
  seen.current = { live, epoch };
  const atMs = Date.parse(live.at);
  const { powerKw, inForceKw, buildingKw, occupiedKw, operatorKw } = lines.current;
  const { siteMeter, operatorLimit } = live;
  lines.current = {
    atMs,
    powerKw: appended(powerKw, atMs, live.actualKw),
    inForceKw: appended(inForceKw, atMs, live.gridLimitKw),
    buildingKw: siteMeter === null ? [] : appended(buildingKw, atMs, siteMeter.buildingKw),
    occupiedKw:
      siteMeter === null ? [] : appended(occupiedKw, atMs, siteMeter.buildingKw + siteMeter.reserveKw),
    operatorKw: operatorLimit === null ? [] : appended(operatorKw, atMs, operatorLimit.limitKw),
  };
  return lines.current;
}

function appended(line: StepLine, atMs: EpochMs, value: number | null): StepLine {
  const last = line.at(-1);
  if (last !== undefined && (last.value === value || atMs <= last.atMs)) return line;
  const [first] = line;
  const kept = first !== undefined && first.atMs < atMs - KEPT_MS ? line.slice(1) : line;
  return [...kept, { atMs, value }];
}
