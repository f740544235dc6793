// The tables of a run as CSV: no name breaks a row, and the legend names every invariant.
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { connectorsCsv, sessionsCsv } from '../../../cli/sim-tables.js';
import { invariantName, LEGEND } from '../../../sim/report/legend.js';
import { SummaryFold } from '../../../sim/report/summary.js';

const START_MS = Date.parse('2026-06-01T12:00:00Z');
const NAMES = ['plain', 'a,b', 'say "hi"', 'two\nlines', 'Größe', ''];

function runOf(names: readonly string[]) {
  const fold = new SummaryFold(START_MS);
  for (const [i, controllerUuid] of names.entries())
    fold.add({
      kind: 'session',
      atMs: START_MS + i,
      locationId: 'yard',
      controllerUuid,
      connectorId: '1',
      what: 'arrived',
      sessionId: `session of ${controllerUuid}`,
      requestedWh: 1234,
      deliveredWh: 0,
    });
  return { seed: 3, locations: fold.finish(START_MS + 1000).locations };
}

describe('The tables of a run', () => {
  it('are CSV by RFC 4180 with any characters in names', () => {
    const texts = [connectorsCsv([runOf(NAMES)]), sessionsCsv([runOf(NAMES)])];
    for (const text of texts) {
      const rows: readonly Record<string, string>[] = parse(text, {
        columns: true,
        record_delimiter: '\r\n',
      });
      expect(rows.map(({ charger }) => charger).toSorted()).toEqual(NAMES.toSorted());
      expect(new Set(rows.map(({ requested_kWh }) => requested_kWh))).toEqual(new Set(['1.234']));
    }
  });

  it('name the seed of each run', () => {
    const runs = [runOf(['a']), { ...runOf(['a']), seed: 4 }];
    expect(connectorsCsv(runs).split('\r\n').slice(1, 3)).toEqual([
      expect.stringMatching(/^3,yard,a,1,/),
      expect.stringMatching(/^4,yard,a,1,/),
    ]);
  });
});

describe('The legend of a run', () => {
  it('has five lines, and names each documented invariant', () => {
    expect(LEGEND).toHaveLength(5);
    const table = readFileSync('docs/simulation.md', 'utf8').matchAll(/^\| (P\d+(?:, P\d+)*) \|/gm);
    const documented = [...table].flatMap(([, numbers = '']) => numbers.split(', '));
    expect(documented.length).toBeGreaterThan(19);
    const words = LEGEND.map(([, meaning]) => meaning).join(' ');
    for (const number of documented) expect(words).toContain(`${number} `);
    expect(invariantName('P17')).toBe('P17 (import of a site with a building)');
  });
});
