// What Linux knows of a process that runs: its memory and its open files.
import { readdirSync, readFileSync } from 'node:fs';

/** Resident memory of a process in bytes (Linux). */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? Number.NaN) * 1024;
}

/** How many files, sockets and pipes a process has open (Linux). */
export function openFilesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
