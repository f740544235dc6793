// docs/operations.md and the files beside it: the settings of the code, only existing metrics, configurations that
// load.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { SETTINGS } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import { freePort } from '../free-port.js';
import { missingPrograms, needing } from '../needs.js';
import { runService } from '../service/running-service.js';
import { blocksOf, ROOT } from './document.js';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const text = read('docs/operations.md');

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      name: z.string(),
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(['warning', 'critical']) }),
          annotations: z.object({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});
const panelSchema = z.object({
  id: z.number(),
  type: z.string(),
  title: z.string().min(1),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(z.object({ refId: z.string(), expr: z.string() })).optional(),
});
const boardSchema = z.object({ title: z.string(), panels: z.array(panelSchema) });

const alerts = rulesSchema
  .parse(parse(read('deploy/prometheus/headroom-rules.yml')))
  .groups.flatMap(({ rules }) => rules);
const board = boardSchema.parse(JSON.parse(read('deploy/grafana/headroom.json')));
const expressions = [
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
  ...board.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** The metrics of a running service, each with its labels, under all its names in Prometheus. */
async function servedMetrics(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const metrics = createMetrics({ processMetrics: true });
  const running = await runService([], { metrics });
  const scraped = await (await fetch(`${running.httpUrl}/metrics`)).text();
  await running.stop();
  const served = new Map<string, Set<string>>();
  for (const [, name = '', type] of scraped.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    const own = Reflect.get(metrics.registry.getSingleMetric(name) ?? {}, 'labelNames');
    const labels = z.array(z.string()).catch([]).parse(own);
    const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => `${name}${end}`) : [name];
    for (const each of names) served.set(each, new Set([...labels, 'job', 'instance', 'le']));
  }
  return served;
}

/** Metrics and the labels that `expression` requires of them. */
function metricsIn(
  expression: string,
): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  const names = /\b((?:headroom|process|nodejs)_\w+)(?:\{([^}]*)\})?/g;
  return [...expression.matchAll(names)].map(([, name = '', selector = '']) => ({
    name,
    labels: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }));
}

describe('The settings in docs/operations.md', () => {
  it('are the settings of the code, with their defaults and descriptions', () => {
    const expected = Object.values(SETTINGS).map(({ name, schema, about }) => {
      const fallback: unknown = schema.safeParse(undefined).data;
      return `| \`HEADROOM_${name}\` | ${fallback ?? ''} | ${about} |`;
    });
    const shown = text.split('\n').filter((line) => line.startsWith('| `HEADROOM_'));
    expect(shown).toEqual(expected);
  });
});

describe('The metrics in docs/operations.md, the alert rules and the dashboard', () => {
  let served: ReadonlyMap<string, ReadonlySet<string>>;

  beforeAll(async () => {
    served = await servedMetrics();
  });

  it('are explained for every metric of the service, and for no other', () => {
    const explained = [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name);
    const own = [...served.keys()].map((name) => name.replace(/_(bucket|sum)$/, ''));
    const ofService = new Set(own.filter((name) => name.startsWith('headroom_') && !name.endsWith('_count')));
    expect(explained.filter((name) => name.startsWith('headroom_')).sort()).toEqual([...ofService].sort());
    for (const [, name = ''] of text.matchAll(/`((?:nodejs|process)_\w+\w)`/g)) {
      expect([...served.keys()].some((each) => each.startsWith(name))).toBe(true);
    }
  });

  it.each(expressions)('%s uses existing metrics and labels: %s', (_, expression) => {
    const used = metricsIn(expression);
    expect(used.length > 0 || /\bup\b/.test(expression)).toBe(true);
    for (const { name, labels } of used) {
      expect([name, served.has(name)]).toEqual([name, true]);
      expect(labels.filter((label) => !served.get(name)?.has(label))).toEqual([]);
    }
  });

  it('start with 0 for each kind of alarm, so that the first alarm is an increase', async () => {
    const running = await runService([]);
    const { values } = await running.metrics.alarms.get();
    await running.stop();
    expect(values.map(({ labels, value }) => [labels.kind, value])).toEqual([
      ['LIMIT_UNATTAINABLE', 0],
      ['NON_COMPLIANT', 0],
      ['OFFLINE', 0],
      ['STALE', 0],
      ['SITE_METER_STALE', 0],
      ['SITE_METER_IMPLAUSIBLE', 0],
      ['NO_LEASE', 0],
      ['DEPARTURE_AT_RISK', 0],
    ]);
  });

  it('have unique alert names and panel ids, and no overlapping panels', () => {
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of board.panels) {
      expect([title, gridPos.x + gridPos.w <= 24]).toEqual([title, true]);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, taken.has(`${x}/${y}`)]).toEqual([title, false]);
          taken.add(`${x}/${y}`);
        }
      }
    }
  });
});

describe('The configuration', () => {
  let directory: string;

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'headroom-operations-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** The file that the page shows, with free ports and an existing certificate. */
  async function written(name: string): Promise<string> {
    const block = blocksOf(text).find(({ info }) => info === `file=${name}`);
    if (block === undefined) throw new Error(`the page shows no ${name}`);
    const options = ['-newkey', 'rsa:2048', '-nodes', '-keyout', 'headroom.key', '-out', 'headroom.crt'];
    execFileSync('openssl', ['req', '-x509', ...options, '-subj', '/CN=localhost', '-days', '2'], {
      cwd: directory,
      stdio: 'pipe',
    });
    const both = ['crt', 'key'].map((end) => readFileSync(join(directory, `headroom.${end}`), 'utf8'));
    writeFileSync(join(directory, 'headroom.pem'), both.join(''));
    const own = block.text
      .replaceAll(/\/etc\/(haproxy|nginx)/g, directory)
      // These names do not resolve.
      .replaceAll(/\S+\.example(?=:\d)/g, '127.0.0.1')
      .replace(/bind :1883\b/, `bind :${await freePort()}`)
      .replace(/\b443\b/, String(await freePort()))
      .replace(/\b8883\b/, String(await freePort()));
    const file = join(directory, name);
    writeFileSync(file, own);
    return file;
  }

  it.each(['haproxy.cfg', 'haproxy-nodes.cfg', 'haproxy-fronts.cfg'])(
    'for HAProxy is valid: %s',
    needing(missingPrograms('haproxy')),
    async (name) => {
      execFileSync('haproxy', ['-c', '-f', await written(name)], { stdio: 'pipe' });
    },
  );

  it('for nginx is valid', needing(missingPrograms('nginx')), async () => {
    const file = await written('nginx.conf');
    const log = join(directory, 'error.log');
    const paths = `pid ${directory}/nginx.pid;`;
    execFileSync('nginx', ['-t', '-c', file, '-p', directory, '-e', log, '-g', paths], { stdio: 'pipe' });
  });

  describe('for Prometheus', needing(missingPrograms('promtool')), () => {
    it('is valid, and its alerts pass their tests', () => {
      const cwd = join(ROOT, 'deploy/prometheus');
      execFileSync('promtool', ['check', 'rules', 'headroom-rules.yml'], { cwd, stdio: 'pipe' });
      execFileSync('promtool', ['test', 'rules', 'headroom-rules.test.yml'], { cwd, stdio: 'pipe' });
    });

    it('accepts every expression of the dashboard', () => {
      const rules = expressions.map(([, expression], index) => ({
        record: `panel:${index}`,
        expr: expression.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*'),
      }));
      const file = join(directory, 'board.yml');
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'board', rules }] }));
      execFileSync('promtool', ['check', 'rules', file], { stdio: 'pipe' });
    });
  });
});
