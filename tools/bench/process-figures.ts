// Memory and open files of a running process on Linux.
import { readdirSync, readFileSync } from 'node:fs';

/** Resident memory of a process in bytes (Linux). */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? Number.NaN) * 1024;
}

/** Number of open files, sockets and pipes of a process (Linux). */
export function openFilesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
