// Rules for the dashboard alone: allowed imports, and banned words that would turn a name into markup or leak a key.
import { describe, expect, it } from 'vitest';
import { misnamedFiles } from './rules.js';
import { importsOf, readSources, type Source, withoutComments } from './sources.js';

const sources = readSources(['web'], /\.tsx?$/);

const PACKAGES = /^(preact|preact\/hooks|uplot|uplot\/dist\/uPlot\.min\.css)$/;
const IN_TREE = /^(web|machines)\//;
/** The way to the service, for the files that give it the words of the pages. */
const CLIENT = 'client/headroom.ts';
const OF_CLIENT = /^web\/api\//;
const TYPES_ONLY = /^src\/(wire\/|features\/.*contract\.ts$)/;
/** The data of reports, for their page alone: it belongs to no service. */
const OF_REPORTS = /^sim\/report\/(compared-figures|connector-account|legend|report-data|summary)\.ts$/;
const VALUES_OF_WIRE = /(?:^|\n)import (?!type )[^;]*?from '[^']*\/src\/(?:wire|features)\//;

function importBreaches(files: readonly Source[]): readonly string[] {
  return files.flatMap((file) => {
    const breaches = importsOf(file)
      .filter((target) => !PACKAGES.test(target) && !IN_TREE.test(target) && !TYPES_ONLY.test(target))
      .filter((target) => target !== CLIENT || !OF_CLIENT.test(file.path))
      .filter((target) => !file.path.startsWith('web/report/') || !OF_REPORTS.test(target))
      .map((target) => `${file.path} imports ${target}`);
    return VALUES_OF_WIRE.test(file.text) ? [...breaches, `${file.path} imports more than types`] : breaches;
  });
}

/**
 * These turn names into markup, run answers of strangers, keep the credential longer than the tab, or read the clock of
 * the viewer instead of the service's.
 */
const BANNED =
  /\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|EventSource|eval|document\.cookie|Date\.now|as any)\b|@ts-(ignore|expect-error|nocheck)|biome-ignore|https?:\/\//;

function bannedWords(files: readonly Source[]): readonly string[] {
  return files.flatMap((file) => {
    const found = BANNED.exec(withoutComments(file))?.[0];
    return found === undefined ? [] : [`${file.path} says ${found}`];
  });
}

describe('The dashboard', () => {
  it('was read', () => {
    expect(sources.length).toBeGreaterThan(30);
  });

  it('imports itself, the domain, and nothing of the service but types', () => {
    expect(importBreaches(sources)).toEqual([]);
  });

  it('says no banned word', () => {
    expect(bannedWords(sources)).toEqual([]);
  });

  it('names each file by its content', () => {
    const named = sources.map(({ path, text }) => ({ path: path.replace(/x$/, ''), text }));
    expect(misnamedFiles(named)).toEqual([]);
  });
});

describe('The rules of the dashboard', () => {
  it.each([
    "import { z } from 'zod';",
    "import { toInstant } from '../../src/wire/rest.js';",
    "import { type ProfileView, profileViewSchema } from '../../src/features/profiles/contract.js';",
    "import type { Core } from '../../src/actors/core.js';",
    "import { Service } from '../../src/service.js';",
    "import { createHeadroom } from '../../client/headroom.js';",
  ])('refuse %s', (text) => {
    expect(importBreaches([{ path: 'web/ui/a.tsx', text }])).not.toEqual([]);
  });

  it.each([
    "import { useState } from 'preact/hooks';",
    "import type { ProfileView } from '../../src/features/profiles/contract.js';",
    "import { statusAt } from '../../machines/values/time.js';",
    "import './locations.css';",
  ])('let in %s', (text) => {
    expect(importBreaches([{ path: 'web/ui/a.tsx', text }])).toEqual([]);
  });

  it.each([
    '<b dangerouslySetInnerHTML={x} />',
    'cell.innerHTML = name',
    "fetch('https://elsewhere.example')",
    'const nowMs = Date.now();',
  ])('find %s', (text) => {
    expect(bannedWords([{ path: 'web/ui/a.tsx', text }])).toHaveLength(1);
  });
});
