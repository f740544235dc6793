// Converts instants from and to the format of a datetime-local input: in the viewer's zone, to the second.
import type { EpochMs } from '../../machines/values/time.js';

export function toLocalInput(atMs: EpochMs): string {
  const date = new Date(Math.floor(atMs / 1000) * 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Undefined for incomplete or invalid text. */
export function fromLocalInput(text: string): EpochMs | undefined {
  const atMs = new Date(text).getTime();
  return text === '' || Number.isNaN(atMs) ? undefined : atMs;
}
