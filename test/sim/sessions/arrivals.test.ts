// Given visits at a virtual charger: each car arrives, gets its energy and leaves. An ideal car keeps to the
// millisecond.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ConnectorId, connectorKey } from '../../../machines/values/ids.js';
import type { CarNote } from '../../../sim/charger/car.js';
import { VirtualCharger } from '../../../sim/charger/virtual-charger.js';
import type { Visit } from '../../../sim/sessions/visit.js';
import { createArrivals } from '../../../sim/sessions/visit.js';
import { ADDRESS } from '../charger-rig.js';

const ZERO_AT_MS = Date.UTC(2026, 5, 1);
const HOUR_MS = 3_600_000;
const KEY = connectorKey({ controllerUuid: ADDRESS.controllerUuid, connectorId: '1' as ConnectorId });
/** 31.73 A at 208 V. */
const MODEL_W = 6600;

function visit(from: number, to: number, requestedWh: number, car: Partial<Visit['car']> = {}): Visit {
  return {
    connectorKey: KEY,
    sessionId: `s${from}`,
    requestedWh,
    vehicle: 'model',
    arrivesAtMs: ZERO_AT_MS + from,
    leavesAtMs: ZERO_AT_MS + to,
    car: {
      phases: 1,
      maxCurrentA: MODEL_W / 208,
      batteryWh: requestedWh,
      storedWh: 0,
      reactionMs: 0,
      isStubborn: false,
      isIdeal: true,
      ...car,
    },
  };
}

/** Records of `visits` at a connector without a limit, read every `stepMs` until `untilMs`. */
function notesOf(visits: readonly Visit[], untilMs: number, stepMs: number): readonly CarNote[] {
  const notes: CarNote[] = [];
  const arrivals = createArrivals(visits, ZERO_AT_MS);
  const charger = new VirtualCharger({
    address: ADDRESS,
    boot: 'boot-1',
    seed: 1,
    startsAtMs: 0,
    traits: { lease: 'none' },
    connectors: [
      { connectorId: '1' as ConnectorId, phases: 1, voltageV: 208, maxCurrentA: 32, failsafeA: 6 },
    ],
    traffic: (connectorId) => arrivals(connectorKey({ controllerUuid: ADDRESS.controllerUuid, connectorId })),
    onCar: (_, note) => notes.push(note),
  });
  for (let ms = 0; ms <= untilMs; ms += stepMs) charger.advance(ms);
  return notes;
}

const told = ({ what, atMs, car }: CarNote) => `${car.sessionId} ${what} ${atMs}`;

describe('Cars of given visits', () => {
  it('arrive and leave on time, with no car after the last', () => {
    const notes = notesOf(
      [visit(60_000, HOUR_MS, 1000), visit(2 * HOUR_MS, 3 * HOUR_MS, 1000)],
      24 * HOUR_MS,
      60_000,
    );
    expect(notes.map(told)).toEqual([
      ...[
        's60000 arrived 60000',
        's60000 left 3600000',
        's7200000 arrived 7200000',
        's7200000 left 10800000',
      ],
    ]);
  });

  it('wait for the cable if the car before leaves at their arrival', () => {
    const real = { isIdeal: false };
    const notes = notesOf(
      [visit(0, HOUR_MS, 1000, real), visit(HOUR_MS, 2 * HOUR_MS, 1000, real)],
      3 * HOUR_MS,
      10_000,
    );
    expect(notes.map(told)[2]).toBe('s3600000 arrived 3602000');
  });

  it('do not arrive if they would leave before they could be plugged in', () => {
    const real = { isIdeal: false };
    const visits = [
      visit(0, HOUR_MS, 1000, real),
      visit(HOUR_MS, HOUR_MS + 1000, 5, real),
      visit(2 * HOUR_MS, 3 * HOUR_MS, 9, real),
    ];
    expect(notesOf(visits, 4 * HOUR_MS, 10_000).map(({ car }) => car.sessionId)).toEqual([
      's0',
      's0',
      's7200000',
      's7200000',
    ]);
  });

  it('get their requested energy if time allows, and later with a taper', () => {
    const visits = (car: Partial<Visit['car']>) => [
      visit(0, 1.5 * HOUR_MS, 6600, { isIdeal: false, ...car }),
    ];
    const [, plain] = notesOf(visits({ taperFrom: 1 }), 3 * HOUR_MS, 60_000);
    const [, tapering] = notesOf(visits({ taperFrom: 0.5 }), 3 * HOUR_MS, 60_000);
    expect(plain?.deliveredWh).toBeCloseTo(6600, -1);
    expect(tapering?.deliveredWh).toBeLessThan(6600);
    expect(tapering?.deliveredWh).toBeGreaterThan(5000);
  });
});

describe('An ideal car', () => {
  it('gets the energy of its power and stay to the watt-second, at any query rate', () => {
    const stay = fc.integer({ min: 1, max: 5 * HOUR_MS });
    fc.assert(
      fc.property(
        stay,
        fc.integer({ min: 1, max: 30_000 }),
        fc.integer({ min: 700, max: HOUR_MS }),
        (stayMs, requestedWh, stepMs) => {
          const [, left] = notesOf([visit(1000, 1000 + stayMs, requestedWh)], 6 * HOUR_MS + stepMs, stepMs);
          const expectedWh = Math.min(requestedWh, (MODEL_W * stayMs) / HOUR_MS);
          // The millisecond in which the car fills up counts in full.
          expect(Math.abs((left?.deliveredWh ?? 0) - expectedWh)).toBeLessThan(MODEL_W / HOUR_MS + 1e-6);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('arrives in the millisecond in which the car before leaves', () => {
    const notes = notesOf([visit(0, HOUR_MS, 9000), visit(HOUR_MS, 2 * HOUR_MS, 9000)], 3 * HOUR_MS, 60_000);
    expect(notes.map(({ atMs }) => atMs)).toEqual([0, HOUR_MS, HOUR_MS, 2 * HOUR_MS]);
    expect(notes[3]?.deliveredWh).toBeCloseTo(6600, 3);
  });
});
