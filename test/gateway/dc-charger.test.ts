// A DC charger behind the gateway: charging profiles in W or A at the car, its lease, its fail-safe and its meter values.
import { afterEach, describe, expect, it } from 'vitest';
import { dcWOfAmpere } from '../../sim/charger/direct-current.js';
import type { OcppCharger } from '../../sim/charger/ocpp-charger.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { eventually } from '../eventually.js';
import { DC_CONNECTOR, DC_RATING, type OcppSite, runOcppSite } from './ocpp-site.js';

const PROTOCOLS = ['ocpp1.6', 'ocpp2.0.1', 'ocpp2.1'] as const;
/** Of the site: 11 kW from the grid. */
const GRANTED_W = 11_000 * DC_RATING.efficiency;
/** The provisioned one; the virtual charger's cars have 400 V. */
const MOST_V = 500;
const CAR_V = 400;

let running: OcppSite;

afterEach(() => running.stop());

function dcWOf(charger: OcppCharger): number {
  return dcWOfAmpere(charger.limitA, DC_CONNECTOR);
}

describe.each(PROTOCOLS)('A DC charger with %s', (protocol) => {
  it('keeps to its lease in watts at the car, and falls back to its fail-safe without the gateway', async () => {
    running = await runOcppSite({}, 1, undefined, { isDc: true });
    const charger = running.charger({ protocol, connector: DC_CONNECTOR });
    await eventually(async () => expect((await running.live()).reason).toBe('fairShare'));
    await eventually(() => expect(dcWOf(charger)).toBeGreaterThan(GRANTED_W - 100));
    expect(dcWOf(charger)).toBeLessThanOrEqual(GRANTED_W);
    expect(running.gateway.bridges[0]?.provenCount).toBe(1);
    await running.gateway.stop();
    // The service counts in tenths of an ampere, so a fail-safe of 2 kW is 3.6 A on each phase.
    await eventually(() => expect(dcWOf(charger)).toBe(2_012));
  });
});

it('A DC charger that takes only amperes gets them for its highest voltage, so its power stays below its grant', async () => {
  running = await runOcppSite({}, 1, undefined, { isDc: true });
  const charger = running.charger({ connector: DC_CONNECTOR, behaviours: ['amperes-only'] });
  const expectedW = (GRANTED_W * CAR_V) / MOST_V;
  await eventually(() => expect(dcWOf(charger)).toBeLessThanOrEqual(expectedW));
  await eventually(() => expect(dcWOf(charger)).toBeGreaterThan(expectedW - 200));
  expect(dcWOf(charger)).toBeLessThanOrEqual(expectedW);
  expect(running.gateway.bridges[0]?.provenCount).toBe(1);
});

it('The power of a DC charger counts at the grid, and the state of charge of its car is live', async () => {
  running = await runOcppSite({}, 1, undefined, { isDc: true });
  const traffic = { ...HUNGRY, stateOfCharge: [0.5, 0.5] } as const;
  const charger = running.charger({ connector: DC_CONNECTOR, traffic });
  await eventually(() => expect(dcWOf(charger)).toBeGreaterThan(GRANTED_W - 100));
  await eventually(async () => {
    const { actualKw, isEstimated, socPercent } = await running.live();
    expect(actualKw).toBeGreaterThan(10.5);
    expect(actualKw).toBeLessThanOrEqual(11.05);
    expect(isEstimated).toBe(false);
    expect(socPercent).toBe(50);
  });
});
