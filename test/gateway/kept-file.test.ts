// State that a gateway keeps over its restarts is on disk before the gateway reports it.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ChargerAddress, ControllerUuid } from '../../machines/values/ids.js';
import { KeptFile, KeptFolder } from '../../src/gateway/gateway-memory.js';
import { temporaryDirectory } from '../cli/headroom.js';

const CHARGER = { tenantUuid: 'harbour', locationId: 'quay', controllerUuid: 'quay-a' } as ChargerAddress;

/** The file as the running gateway has it; a new instance reads it as the next gateway would. */
const KINDS = {
  'in one file with all others': (folder: string) => ({
    open: () => new KeptFile(join(folder, 'kept.json'), z.number()),
    writes: join(folder, 'kept.json.new'),
  }),
  'in a file of its own': (folder: string) => ({
    open: () => new KeptFolder(join(folder, 'kept'), z.number()),
    writes: join(folder, 'kept', 'harbour', 'quay-a.json.new'),
  }),
};

function kept(kind: keyof typeof KINDS) {
  const { open, writes } = KINDS[kind](temporaryDirectory());
  // A directory with the file's name makes every write fail.
  const fill = () => mkdirSync(writes, { recursive: true });
  const free = () => rmSync(writes, { recursive: true });
  return { file: open(), onDisk: (charger = CHARGER) => open().get(charger), fill, free };
}

describe.each(Object.keys(KINDS) as (keyof typeof KINDS)[])('Stored state of a charger %s', (kind) => {
  it('is read by the next gateway', () => {
    const { file, onDisk } = kept(kind);
    file.set(CHARGER, 6);
    expect(onDisk()).toBe(6);
    file.set(CHARGER, undefined);
    expect(onDisk()).toBeUndefined();
  });

  it('is unchanged after a failed write, and is written at the next attempt', () => {
    const { file, onDisk, fill, free } = kept(kind);
    file.set(CHARGER, 0);
    fill();
    expect(() => file.set(CHARGER, 6)).toThrow();
    expect(() => file.set(CHARGER, 6)).toThrow();
    expect(file.get(CHARGER)).toBe(0);
    free();
    file.set(CHARGER, 6);
    expect(onDisk()).toBe(6);
  });

  it('belongs to that charger only, for any charger name', () => {
    const { file, onDisk } = kept(kind);
    const names = ['../quay-a', '..', '.', 'a/b', 'A', 'a', '%2e', '__proto__'];
    const chargers = names.map((name) => ({ ...CHARGER, controllerUuid: name as ControllerUuid }));
    for (const [i, charger] of chargers.entries()) file.set(charger, i);
    expect(chargers.map((charger) => onDisk(charger))).toEqual(names.map((_, i) => i));
  });

  it('is reported as unreadable if the file has other contents', () => {
    const { file, fill, free, onDisk } = kept(kind);
    file.set(CHARGER, 6);
    fill();
    free();
    file.set(CHARGER, 'x' as unknown as number);
    expect(() => onDisk()).toThrow(/cannot be read: move it away/);
  });
});
