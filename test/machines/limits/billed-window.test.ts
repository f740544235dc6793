// The average import that a tariff bills: the energy used in its window, and the remaining power that keeps the
// average.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BilledWindow, type SiteImport } from '../../../machines/limits/billed-window.js';

const S = 1_000;
const WINDOW_MS = 900 * S;
/** The beginning of a window. */
const START = 1_780_300_800_000;
const RULE = { limitKw: 40, windowMs: WINDOW_MS };
const MOST_W = 120_000;

const windowAt = (second: number, before?: ConstructorParameters<typeof BilledWindow>[3]) =>
  new BilledWindow(RULE, MOST_W, START + second * S, before);

/** Values as just reported: this power is imported, and no more is possible. */
function imports(powerW: number, second: number, more: Partial<SiteImport> = {}): [SiteImport, number] {
  const now = START + second * S;
  return [{ measuredW: powerW, reportedSinceMs: now, mostW: powerW, ...more }, now];
}

describe('The window that a tariff bills', () => {
  it('begins at whole multiples of its length, and leaves its average then', () => {
    const window = windowAt(0);
    expect(START % WINDOW_MS).toBe(0);
    expect(window.follow(0, START)).toBe(40_000);
    expect([window.startsAtMs, window.endsAtMs]).toEqual([START, START + WINDOW_MS]);
  });

  it('leaves more towards its end where less was used, and the average again in the next', () => {
    const window = windowAt(0);
    for (let second = 0; second <= 600; second += 10) window.note(...imports(10_000, second));
    // For 10 min, 30 kW less than allowed. This energy is spread over the remaining 5 min.
    expect(window.follow(0, START + 600 * S)).toBe(100_000);
    expect(window.usedWs).toBe(6_000_000);
    for (let second = 610; second <= 900; second += 10) window.note(...imports(90_000, second));
    expect(window.follow(0, START + 900 * S)).toBe(40_000);
    expect(window.usedWs).toBe(0);
  });

  it('leaves the power beside the building and its reserve', () => {
    const window = windowAt(0);
    expect(window.follow(15_050, START)).toBe(24_900);
    expect(window.leavesAtFirstW(15_000)).toBe(25_000);
    expect(window.follow(50_000, START + S)).toBe(0);
  });

  it('never leaves more than the site can import', () => {
    const window = windowAt(0);
    for (let second = 0; second <= 890; second += 10) window.note(...imports(0, second));
    expect(window.follow(20_000, START + 890 * S)).toBe(MOST_W - 20_000);
  });

  it('counts unreported import with its highest possible value, and by the reports once they come', () => {
    const window = windowAt(0);
    window.note(...imports(10_000, 10, { mostW: 30_000 }));
    window.note(...imports(10_000, 20, { reportedSinceMs: START + 10 * S, mostW: 30_000 }));
    expect(window.usedWs).toBe(10 * MOST_W + 10 * 30_000);
    window.note(...imports(10_000, 30, { reportedSinceMs: START + 20 * S, mostW: 30_000 }));
    expect(window.usedWs).toBe(10 * MOST_W + 10 * 10_000 + 10 * 30_000);
  });

  it('counts the higher of two reports between them', () => {
    const window = windowAt(0);
    window.note(...imports(0, 0));
    window.note(...imports(20_000, 10));
    window.note(...imports(5_000, 20));
    expect(window.usedWs).toBe(400_000);
  });

  it('counts the most that it can be where reports are more than a minute apart', () => {
    const window = windowAt(0);
    window.note(...imports(5_000, 1, { mostW: 50_000 }));
    window.note(...imports(5_000, 62, { mostW: 50_000 }));
    expect(window.usedWs).toBe(MOST_W + 61 * 50_000);
  });

  it('does not count export against import: a tariff does not either', () => {
    const window = windowAt(0);
    window.note(...imports(-50_000, 1, { mostW: 0 }));
    window.note(...imports(-50_000, 30, { mostW: 0 }));
    expect(window.usedWs).toBe(MOST_W);
  });

  it('raises the possible import of the site every 30 s at most, and lowers it at once', () => {
    const window = windowAt(0);
    window.follow(0, START);
    window.note(...imports(0, 0));
    window.note(...imports(0, 60, { mostW: 0 }));
    const raisedW = window.follow(0, START + 60 * S);
    expect(raisedW).toBeGreaterThan(40_000);
    expect(window.follow(0, START + 85 * S)).toBe(raisedW);
    // A lower draw of the building is no such raise.
    expect(window.follow(10_000, START + 86 * S)).toBe(raisedW - 10_000);
    expect(window.follow(5_000, START + 87 * S)).toBe(raisedW - 5_000);
    window.note(...imports(90_000, 88));
    expect(window.follow(0, START + 88 * S)).toBeLessThan(raisedW);
  });
});

describe('A window after a restart', () => {
  const soFar = { startsAtMs: START, usedWs: 1_000_000, countedUntilMs: START + 300 * S };

  it('goes on from the counted import, and counts the time without readings with the highest import of the site', () => {
    const window = windowAt(330, soFar);
    expect(window.usedWs).toBe(1_000_000 + 30 * MOST_W);
    window.note(...imports(1_000, 330));
    window.note(...imports(1_000, 340));
    expect(window.usedWs).toBe(1_000_000 + 30 * MOST_W + 10_000);
    expect(window.soFar).toEqual({ ...soFar, usedWs: 4_610_000, countedUntilMs: START + 340 * S });
  });

  it('takes all of the window for the most where nothing of it was counted', () => {
    const before = { startsAtMs: START - WINDOW_MS, usedWs: 5, countedUntilMs: START - 10 * S };
    expect(windowAt(60, before).usedWs).toBe(60 * MOST_W);
  });

  it('takes the window to have kept to its average where nothing was ever counted, or by another clock or length', () => {
    const keptWs = 40_000 * 300;
    expect(windowAt(300).usedWs).toBe(keptWs);
    expect(windowAt(300, { ...soFar, countedUntilMs: START + 301 * S }).usedWs).toBe(keptWs);
    expect(windowAt(300, { ...soFar, startsAtMs: START + 60 * S }).usedWs).toBe(keptWs);
    const set = windowAt(0);
    set.note(...imports(90_000, 200));
    set.restart(START + 300 * S);
    expect(set.usedWs).toBe(keptWs);
  });
});

describe('Chargers that draw all the remaining power', () => {
  const FOLLOWED_S = 15;
  const seconds = 1_800;
  const steps = fc.array(fc.record({ from: fc.nat(seconds), w: fc.nat(100_000) }), { maxLength: 12 });
  const at = (list: readonly { from: number; w: number }[], second: number) =>
    list.reduce((best, each) => (each.from <= second && each.from >= best.from ? each : best), {
      from: -1,
      w: 0,
    }).w;

  it('keep the average, but for peaks between two readings, at any demand of cars and building within its load', () => {
    fc.assert(
      fc.property(
        steps,
        steps,
        fc.nat(40_000),
        fc.integer({ min: 1, max: 20 }),
        (wanted, built, besideW, everyS) => {
          const window = windowAt(0);
          const given: number[] = [];
          let usedWs = 0;
          let drawnW = 0;
          let reportedW = 0;
          let sinceReportW: number[] = [];
          for (let second = 0; second < seconds; second++) {
            const now = START + second * S;
            const mostW = besideW + Math.max(0, ...given.slice(-FOLLOWED_S));
            if (second % everyS === 0) {
              const buildingW = Math.min(at(built, second), besideW);
              const measuredW = buildingW + drawnW;
              window.note({ measuredW, reportedSinceMs: now, mostW }, now);
              // No meter with readings this far apart shows a peak that begins and ends between two of them.
              for (const powerW of sinceReportW)
                usedWs -= Math.max(0, powerW - Math.max(reportedW, measuredW));
              reportedW = measuredW;
              sinceReportW = [];
            }
            const leavesW = window.follow(besideW, now);
            // The budget looks ahead into the next window.
            const isNear = window.endsAtMs - now <= 71_200;
            given.push(isNear ? Math.min(leavesW, window.leavesAtFirstW(besideW)) : leavesW);
            drawnW = Math.min(at(wanted, second), Math.max(...given.slice(-FOLLOWED_S)));
            const importW = Math.min(at(built, second), besideW) + drawnW;
            usedWs += importW;
            sinceReportW.push(importW);
            if ((second + 1) % 900 !== 0) continue;
            expect(usedWs / 900).toBeLessThanOrEqual(40_000 * 1.0001);
            usedWs = 0;
            sinceReportW = [];
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('draw nearly all of it where they want more than there is', () => {
    const window = windowAt(0);
    let usedWs = 0;
    for (let second = 0; second < 900; second++) {
      const now = START + second * S;
      const importW = 8_000 + window.follow(14_000, now);
      window.note({ measuredW: importW, reportedSinceMs: now, mostW: importW }, now);
      usedWs += importW;
    }
    expect(usedWs / 900).toBeGreaterThan(39_500);
  });
});
