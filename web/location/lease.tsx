// Counts down the remaining time of a connector's lease.
import { type ServerClock, useEverySecond } from './server-clock.js';

export function Lease({
  leftSeconds,
  readAtMs,
  clock,
}: {
  readonly leftSeconds: number | null;
  /** The instant at which `leftSeconds` was correct. */
  readonly readAtMs: number;
  readonly clock: ServerClock;
}) {
  useEverySecond();
  if (leftSeconds === null) return <>–</>;
  const left = Math.round(leftSeconds - (clock.nowMs() - readAtMs) / 1000);
  return <>{Math.max(0, left)} s</>;
}
