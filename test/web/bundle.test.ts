// A browser fetches little for the dashboard, and nothing of the service but types.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { missingFile, needing } from '../needs.js';

const ASSETS = fileURLToPath(new URL('../../dist/web/assets/', import.meta.url));
const COMPRESSED_AT_MOST_BYTES = 150_000;

describe('The built dashboard', needing(missingFile(ASSETS)), () => {
  const scripts = (existsSync(ASSETS) ? readdirSync(ASSETS) : []).filter((name) => name.endsWith('.js'));

  it('has at most 150 kB of compressed JavaScript for all pages', () => {
    const bytes = scripts.reduce((sum, name) => sum + readFileSync(`${ASSETS}${name}.gz`).length, 0);
    expect(scripts.length).toBeGreaterThan(4);
    expect(bytes).toBeLessThanOrEqual(COMPRESSED_AT_MOST_BYTES);
  });

  it('contains no schemas, only the types derived from them', () => {
    const account = scripts.filter((name) => /ZodError|_zod\b/.test(readFileSync(ASSETS + name, 'utf8')));
    expect(account).toEqual([]);
  });

  it('has a compressed copy of every script', () => {
    for (const name of scripts) {
      expect(gunzipSync(readFileSync(`${ASSETS}${name}.gz`)).equals(readFileSync(ASSETS + name))).toBe(true);
    }
  });
});
