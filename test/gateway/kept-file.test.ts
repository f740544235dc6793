// What a gateway has to know over its own restarts is on disk, or is not said to be.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ChargerAddress } from '../../machines/values/ids.js';
import { KeptFile } from '../../src/gateway/kept-file.js';
import { temporaryDirectory } from '../cli/headroom.js';

const CHARGER = { tenantUuid: 'harbour', locationId: 'quay', controllerUuid: 'quay-a' } as ChargerAddress;

/** A file as the gateway has it, and as the next one would read it. */
function kept() {
  const path = join(temporaryDirectory(), 'kept.json');
  const file = new KeptFile(path, z.number());
  const onDisk = () => new KeptFile(path, z.number()).get(CHARGER);
  // Its first half cannot be written where something else has its name.
  const fill = () => mkdirSync(`${path}.new`);
  const free = () => rmSync(`${path}.new`, { recursive: true });
  return { file, onDisk, fill, free };
}

describe('What a gateway keeps of a charger', () => {
  it('is what the next gateway reads', () => {
    const { file, onDisk } = kept();
    file.set(CHARGER, 6);
    expect(onDisk()).toBe(6);
    file.set(CHARGER, undefined);
    expect(onDisk()).toBeUndefined();
  });

  it('is not known where the disk did not take it, and is written when it is said again', () => {
    const { file, onDisk, fill, free } = kept();
    file.set(CHARGER, 0);
    fill();
    expect(() => file.set(CHARGER, 6)).toThrow();
    expect(() => file.set(CHARGER, 6)).toThrow();
    expect(file.get(CHARGER)).toBe(0);
    free();
    file.set(CHARGER, 6);
    expect(onDisk()).toBe(6);
  });
});
