// The provisioning file of a gateway on a real file system; the test decides when the gateway looks at it.
import {
  closeSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FollowedProvisioning, LOOKS_EVERY_MS } from '../../cli/followed-provisioning.js';
import { systemClock } from '../../src/clock.js';
import { createGatewayMetrics } from '../../src/gateway/gateway-metrics.js';
import { eventually } from '../eventually.js';
import { missingFile, needing } from '../needs.js';
import { silentLog } from '../service/running-service.js';
import { temporaryDirectory, writeFile } from './headroom.js';
import { siteYaml } from './site.js';

const WITH_PROC = needing(missingFile('/proc/self/fd'));

const contentOf = (permanentLimitKw: number) => siteYaml({ secrets: true, permanentLimitKw });

/** `applied` are the limits of the applied contents, in order. */
function following(path: string, text: string) {
  const due: (() => void)[] = [];
  const applied: (number | undefined)[] = [];
  const refused: { file: string; count: number; problems: readonly string[] }[] = [];
  const log = { ...silentLog, error: (fields: object) => void refused.push(fields as (typeof refused)[0]) };
  const metrics = createGatewayMetrics({ processMetrics: false });
  const clock = {
    ...systemClock,
    after(delayMs: number, callback: () => void) {
      if (delayMs !== LOOKS_EVERY_MS) return systemClock.after(delayMs, callback);
      due.push(callback);
      return () => {};
    },
  };
  const followed = new FollowedProvisioning({
    path,
    text,
    apply: ({ tenants }) => void applied.push(tenants[0]?.locations[0]?.permanentLimitKw),
    clock,
    log,
    metrics,
    memoryMb: 32,
  });
  onTestFinished(() => followed.stop());
  return {
    followed,
    applied,
    refused,
    beginLook() {
      due.shift()?.();
    },
    /** Looks so often at the file, each after the one before. */
    async look(times: number) {
      for (let i = 0; i < times; i++) {
        due.shift()?.();
        await eventually(() => expect(due).toHaveLength(1));
      }
    },
    async isRefused() {
      const { values } = await metrics.fileRefused.get();
      return values[0]?.value === 1;
    },
  };
}

function site() {
  const directory = temporaryDirectory();
  const path = writeFile(directory, 'sites.yaml', contentOf(1));
  return { directory, path, ...following(path, contentOf(1)) };
}

describe('A changed provisioning file', () => {
  it.each([
    ['is written in place', (path: string) => writeFileSync(path, contentOf(2))],
    [
      'takes the place of the earlier one',
      (path: string) => {
        writeFileSync(`${path}.new`, contentOf(2));
        renameSync(`${path}.new`, path);
      },
    ],
    [
      'is written with the time and length of the earlier one',
      (path: string) => {
        writeFileSync(path, contentOf(2));
        utimesSync(path, 1, 1);
      },
    ],
  ])('that %s is applied within two looks, and once', async (_, write) => {
    const { path, look, applied } = site();
    utimesSync(path, 1, 1);
    await look(2);
    expect(applied).toEqual([]);
    write(path);
    await look(2);
    expect(applied).toEqual([2]);
    await look(3);
    expect(applied).toEqual([2]);
  });

  it('that changed between the start and the first look is applied', async () => {
    const { path, look, applied } = site();
    writeFileSync(path, contentOf(2));
    await look(2);
    expect(applied).toEqual([2]);
  });

  it('behind exchanged symbolic links is applied, as in a volume of Kubernetes', async () => {
    const directory = temporaryDirectory();
    writeFile(directory, 'first', contentOf(1));
    writeFile(directory, 'second', contentOf(2));
    symlinkSync('first', join(directory, '..data'));
    symlinkSync('..data', join(directory, 'sites.yaml'));
    const { look, applied } = following(join(directory, 'sites.yaml'), contentOf(1));
    await look(2);
    symlinkSync('second', join(directory, '..new'));
    renameSync(join(directory, '..new'), join(directory, '..data'));
    await look(2);
    expect(applied).toEqual([2]);
  });

  it('that is still being written is not read, even if its beginning is valid', async () => {
    const { path, look, applied, refused } = site();
    const text = `${contentOf(2)}# the end\n`;
    for (const length of [text.length - 9, text.length - 5, text.length]) {
      writeFileSync(path, text.slice(0, length));
      await look(1);
      expect(applied).toEqual([]);
    }
    await look(1);
    expect({ applied, refused }).toEqual({ applied: [2], refused: [] });
  });
});

describe('A provisioning file that cannot be used', () => {
  const USELESS: readonly [string, (path: string) => void, RegExp][] = [
    [
      'is empty',
      (path) => truncateSync(path),
      /^.*sites\.yaml:1:1 file: is empty; must be a group of fields/,
    ],
    [
      'names no tenant',
      (path) => writeFileSync(path, 'tenants: []\n'),
      /tenants: .*must name at least one tenant/,
    ],
    [
      'has an id twice',
      (path) => writeFileSync(path, contentOf(2).replace('gatewayId: quay-gateway', 'gatewayId: q1-a')),
      /"q1-a" is already used by .*; it must be unique inside the tenant/,
    ],
    ['is missing', (path) => rmSync(path), /ENOENT/],
    ['is too large', (path) => truncateSync(path, 16_000_001), /must be at most 16 MB/],
    [
      'needs too much memory',
      (path) => writeFileSync(path, `a: [${'1,'.repeat(500_000)}]`),
      /it cannot be parsed: .*memory/,
    ],
    [
      'is a folder',
      (path) => {
        rmSync(path);
        symlinkSync('.', path);
      },
      /must be a regular file/,
    ],
  ];
  it.each(USELESS)(
    'because it %s is logged once and changes nothing, until it is valid again',
    async (_, spoil, why) => {
      const { path, look, applied, refused, isRefused } = site();
      await look(2);
      spoil(path);
      await look(4);
      expect(applied).toEqual([]);
      expect(refused).toMatchObject([{ file: path, problems: [expect.stringMatching(why)] }]);
      expect(await isRefused()).toBe(true);
      rmSync(path, { force: true });
      writeFileSync(path, contentOf(1));
      await look(2);
      expect(applied).toEqual([]);
      expect(await isRefused()).toBe(false);
      writeFileSync(path, contentOf(3));
      await look(2);
      expect(applied).toEqual([3]);
    },
  );

  it(
    'because it was replaced out of sight, as behind a mount of one file, is logged with the way out',
    WITH_PROC,
    async () => {
      const directory = temporaryDirectory();
      const mounted = writeFile(directory, 'sites.yaml', contentOf(1));
      const descriptor = openSync(mounted, 'r');
      onTestFinished(() => closeSync(descriptor));
      const { look, applied, refused } = following(`/proc/self/fd/${descriptor}`, contentOf(1));
      await look(2);
      writeFileSync(`${mounted}.new`, contentOf(2));
      renameSync(`${mounted}.new`, mounted);
      await look(3);
      expect(applied).toEqual([]);
      expect(refused).toMatchObject([
        { problems: [expect.stringMatching(/mount its folder, or restart the gateway/)] },
      ]);
    },
  );

  it('is refused again after each change, and no problem shows a password', async () => {
    const { path, look, refused } = site();
    await look(2);
    for (const length of [3, 4]) {
      writeFileSync(path, contentOf(1).replace('charger-secret-q1', 'x'.repeat(length)));
      await look(2);
    }
    expect(refused).toHaveLength(2);
    expect(JSON.stringify(refused)).not.toContain('xxx');
  });
});

it('A gateway that stops while it parses the file ends the parser, and applies nothing', async () => {
  const { path, look, beginLook, followed, applied, refused } = site();
  await look(1);
  writeFileSync(path, contentOf(2));
  await look(1);
  beginLook();
  await followed.stop();
  expect({ applied, refused }).toEqual({ applied: [], refused: [] });
});
