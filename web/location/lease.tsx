// How long a connector's limit holds without being renewed, counted down.
import { type ServerClock, useEverySecond } from './server-clock.js';

export function Lease({
  leftSeconds,
  readAtMs,
  clock,
}: {
  readonly leftSeconds: number | null;
  /** The instant at which `leftSeconds` were left. */
  readonly readAtMs: number;
  readonly clock: ServerClock;
}) {
  useEverySecond();
  if (leftSeconds === null) return <>–</>;
  const left = Math.round(leftSeconds - (clock.nowMs() - readAtMs) / 1000);
  return <>{Math.max(0, left)} s</>;
}
