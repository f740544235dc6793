// Limits in the trace: every change of a limit in force, and of its sources as far as a reader needs them.
import { expect, it } from 'vitest';
import type { TraceEvent } from '../../../sim/log/trace-event.js';
import type { Limits, SourceReading } from '../../../sim/world/limit-readings.js';
import { Tracer } from '../../../sim/world/world-record.js';

const CALM: Limits = {
  locationId: 'yard',
  limitW: 20_000,
  cause: 'permanentLimit',
  rule: '',
  effectiveW: 20_000,
  operator: 'none',
  buildingW: 4_000,
  reserveW: 500,
};

function rig() {
  const traced: string[] = [];
  let nowS = 0;
  const describe = (event: TraceEvent) => {
    if (event.kind === 'limits') return `limits ${event.limitW}`;
    if (event.kind === 'limitSource') return `${event.source} ${event.limitW}`;
    return event.kind;
  };
  const tracer = new Tracer(
    (event) => traced.push(describe(event)),
    () => 1000 * nowS,
  );
  /** Events for a reading of these limits at that second; a negative limit is decided by somebody. */
  return (atS: number, changed: Partial<Limits>, sources: Readonly<Record<string, number>>) => {
    nowS = atS;
    const readings = Object.entries(sources).map(([name, limitW]): [string, SourceReading] => [
      name,
      { limitW: Math.abs(limitW), isDecided: limitW < 0 },
    ]);
    tracer.limits({ ...CALM, ...changed }, new Map(readings));
    return traced.splice(0);
  };
}

it('traces each source by its name, and none that sets no limit yet', () => {
  const read = rig();
  const sources = { transformer: 30_000, idle: Number.MAX_SAFE_INTEGER };
  expect(read(0, {}, sources)).toEqual(['limits 20000', 'transformer 30000']);
  expect(read(60, {}, sources)).toEqual([]);
});

it('traces a measured limit every ten seconds, separately from those of other sources', () => {
  const read = rig();
  read(0, {}, { one: 30_000, other: 40_000 });
  expect(read(9, {}, { one: 31_000, other: 40_000 })).toEqual([]);
  expect(read(10, {}, { one: 32_000, other: 40_000 })).toEqual(['one 32000']);
  expect(read(15, {}, { one: 33_000, other: 41_000 })).toEqual(['other 41000']);
  expect(read(20, {}, { one: 33_000, other: 42_000 })).toEqual(['one 33000']);
});

it('traces every changed limit at once if the limit in force changes', () => {
  const read = rig();
  read(0, {}, { one: 30_000, other: 40_000, third: 50_000 });
  const limited = read(
    1,
    { limitW: 10_000, cause: 'building' },
    { one: 10_000, other: 39_000, third: 50_000 },
  );
  expect(limited).toEqual(['limits 10000', 'one 10000', 'other 39000']);
});

it('traces the building every ten seconds, and changed limits with it', () => {
  const read = rig();
  read(0, {}, { one: 30_000 });
  expect(read(9, { buildingW: 5_000 }, { one: 30_000 })).toEqual([]);
  expect(read(10, { buildingW: 5_000 }, { one: 29_000 })).toEqual(['limits 20000', 'one 29000']);
  expect(read(20, { buildingW: 6_000 }, { one: 28_000 })).toEqual(['limits 20000', 'one 28000']);
});

it('traces at once a limit that somebody decides, and the loss of a source', () => {
  const read = rig();
  read(0, {}, { decided: -30_000, measured: 40_000 });
  expect(read(1, {}, { decided: -31_000, measured: 41_000 })).toEqual(['decided 31000']);
  expect(read(2, {}, { decided: -32_000, measured: 41_000 })).toEqual(['decided 32000']);
  expect(read(3, {}, { measured: 40_000 })).toEqual([`decided ${Number.MAX_SAFE_INTEGER}`]);
  expect(read(60, {}, { measured: 40_000 })).toEqual([]);
});
