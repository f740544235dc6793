// Files, links, commands with their flags, scripts, settings, endpoints and metrics in the documents exist.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/commands.js';
import { statusCommand } from '../../cli/remote.js';
import { ROLLBACK_VARIABLE, SETTINGS } from '../../src/config.js';
import { ENDPOINTS } from '../../src/features/endpoints.js';
import { readSources } from '../architecture/sources.js';
import { type Document, ROOT, readDocuments } from './document.js';

const documents = readDocuments();

/** `place: match` for each match of `pattern` in a document for which `isThere` is false. */
function missing(
  pattern: RegExp,
  isThere: (found: string, document: Document) => boolean,
): readonly string[] {
  return documents.flatMap((document) =>
    [...document.text.matchAll(pattern)]
      .map(([, found = '']) => found)
      .filter((found) => !isThere(found, document))
      .map((found) => `${document.path}: ${found}`),
  );
}

/** The anchor that links use for a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(file: string): readonly string[] {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = '']) => anchorOf(heading.trim()));
}

/** The complete command, built from its parts. */
const program = new Command('headroom').version('any');
for (const { load } of COMMANDS) program.addCommand(await load());

/** The fault of `headroom WORDS`; undefined if it is a valid command. */
function faultOfCommand(words: readonly string[]): string | undefined {
  let command: Command = program;
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) break;
    command = next;
  }
  const flags = command
    .createHelp()
    .visibleOptions(command)
    .map(({ long }) => long);
  const strange = words.find((word) => word.startsWith('--') && !flags.includes(word));
  if (strange !== undefined) return `no ${strange}`;
  return command === program && !words[0]?.startsWith('-') ? 'no such command' : undefined;
}

describe('A reference in the documents', () => {
  it('has a link to an existing file and heading', () => {
    const dead = missing(/\]\((?!https?:)([^)\s]+)\)/g, (link, { path }) => {
      const [target = '', anchor] = link.split('#');
      const file = target === '' ? join(ROOT, path) : join(ROOT, dirname(path), target);
      return existsSync(file) && (anchor === undefined || anchorsOf(file).includes(anchor));
    });
    expect(dead).toEqual([]);
  });

  it('names an existing file or folder', () => {
    const path =
      /(?:`|vitest run )((?:\.ci|bench|client|demo|docs|machines|scenarios|sim|src|test|web)\/[\w./-]*|[a-z][\w-]*\.config\.ts)`/g;
    expect(missing(path, (name) => name.includes('NAME') || existsSync(join(ROOT, name)))).toEqual([]);
  });

  it('names an existing command and its flags', () => {
    const faults = missing(/(?:`|npx |^)headroom ((?:[a-z]|--)[^`\n#]*)/gm, (found) => {
      // Alternatives and placeholders as a table writes them: `feature enable\|disable TENANT [--json]`.
      const words = found.split(/[\s[\]]+/).map((word) => word.replace(/[\\|/].*$/, ''));
      return faultOfCommand(words) === undefined;
    });
    expect(faults).toEqual([]);
  });

  it('has npx before a command in a checkout, and no npx inside a container', () => {
    // The changelog and the decisions keep names of the past.
    const current = documents.filter(({ path }) => !['CHANGELOG.md', 'docs/decisions.md'].includes(path));
    const names = COMMANDS.map(({ name }) => name).join('|');
    const bare = new RegExp(`^.*(?<![\\w./-])(?<!npx |headroom |-- )headroom (?:${names})\\b.*$`, 'gm');
    const typed = current.flatMap(({ path, text }) =>
      [...text.matchAll(bare)].map(([line]) => `${path}: ${line}`),
    );
    expect(typed).toEqual([]);
  });

  it('names an existing npm script', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(missing(/npm run ([\w:-]+)/g, (name) => name in scripts)).toEqual([]);
  });

  it('names an existing setting', () => {
    const ofClients = statusCommand().options.map(({ envVar }) => envVar);
    const ofService = Object.values(SETTINGS).map(({ name }) => `HEADROOM_${name}`);
    const settings = [...ofService, ...ofClients, ROLLBACK_VARIABLE];
    expect(missing(/\b(HEADROOM_[A-Z_]*[A-Z])\b/g, (name) => settings.includes(name))).toEqual([]);
  });

  it('names an existing endpoint', () => {
    const others = ['POST /v1/oauth/token', 'GET /v1/stream', 'GET /v1/health', 'GET /health'];
    const known = ENDPOINTS.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    const patterns = [...known, ...others].map(
      (endpoint) => new RegExp(`^${endpoint.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    );
    const named = /`((?:GET|POST|PUT|PATCH|DELETE) \/v1\/[\w/{}-]+)/g;
    expect(missing(named, (found) => patterns.some((pattern) => pattern.test(found)))).toEqual([]);
  });

  it('names an existing metric', () => {
    const sources = readSources(['src'])
      .map(({ text }) => text)
      .join('\n');
    const isMetric = (name: string) => sources.includes(name.replace(/_(count|sum|bucket)$/, ''));
    expect(missing(/\b(headroom_[a-z_]+[a-z])\b/g, isMetric)).toEqual([]);
  });
});

describe('The check of references', () => {
  it.each([
    [['serve', '--http-port'], undefined],
    [['key', 'issue', 'TENANT', '--scope'], undefined],
    [['charger', 'run', '--no-such-flag'], 'no --no-such-flag'],
    [['sreve'], 'no such command'],
  ])('finds faults in the command %j', (words, fault) => {
    expect(faultOfCommand(words)).toBe(fault);
  });

  it('derives the anchor of a heading', () => {
    expect(anchorOf('As of an instant')).toBe('as-of-an-instant');
    expect(anchorOf('`headroom demo`: what it does')).toBe('headroom-demo-what-it-does');
  });
});
