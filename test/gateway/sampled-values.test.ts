// Meter values of OCPP, as the power of one connector.
import { expect, it } from 'vitest';
import { meteredValues, type Sampled } from '../../src/gateway/ocpp/sampled-values.js';

function sampled(value: number, phase: string | undefined, location: string | undefined): Sampled {
  return { value, measurand: 'Power.Active.Import', phase, location, unit: undefined };
}

it.each([
  ['at the inlet first', ['Inlet', 'Outlet']],
  ['at the outlet first', ['Outlet', 'Inlet']],
  ['at the inlet first, and at the outlet without saying where', ['Inlet', undefined]],
])('Power that is measured %s is the power of the outlet, and not the sum', (_, locations) => {
  const of = (location: string | undefined) => (location === 'Inlet' ? 1_010 : 1_000);
  const [phases, totals] = [['L1', 'L2', 'L3'], [undefined]].map((each) =>
    locations.flatMap((location) => each.map((phase) => sampled(of(location), phase, location))),
  );
  expect(meteredValues(0, undefined, phases ?? []).powerW).toBe(3_000);
  expect(meteredValues(0, undefined, totals ?? []).powerW).toBe(1_000);
});

it('Power that is measured only at the inlet counts', () => {
  expect(meteredValues(0, undefined, [sampled(1_010, 'L1', 'Inlet')]).powerW).toBe(1_010);
});

it('The state of charge is that of the car', () => {
  const soc = { ...sampled(63, undefined, 'EV'), measurand: 'SoC' };
  expect(meteredValues(0, undefined, [soc]).socPercent).toBe(63);
});

it('A voltage without a phase is that of a DC output, and is on no phase', () => {
  const voltage = { ...sampled(400, undefined, undefined), measurand: 'Voltage' };
  expect(meteredValues(0, undefined, [voltage])).toMatchObject({ totalVoltageV: 400, voltageV: undefined });
});

it.each([
  ['of power', { measurand: 'Power.Active.Import', value: 1e300 }],
  ['of power by its multiplier', { measurand: 'Power.Active.Import', value: 0, multiplier: 400 }],
  ['of energy', { measurand: 'Energy.Active.Import.Register', value: 1e20, unit: 'kWh' }],
  ['of current', { measurand: 'Current.Import', value: -1e9 }],
  ['of voltage', { measurand: 'Voltage', value: Number.POSITIVE_INFINITY }],
  ['of the state of charge', { measurand: 'SoC', value: 6_300 }],
])('An absurd value %s is left out, so that the service receives the others', (_, absurd) => {
  const good = [
    { ...sampled(11_000, undefined, undefined) },
    { ...sampled(16, undefined, undefined), measurand: 'Current.Import' },
    { ...sampled(230, undefined, undefined), measurand: 'Voltage' },
    { ...sampled(5, undefined, undefined), measurand: 'Energy.Active.Import.Register', unit: 'kWh' },
    { ...sampled(63, undefined, undefined), measurand: 'SoC' },
  ];
  const bad = { ...sampled(0, undefined, undefined), ...absurd };
  expect(meteredValues(0, undefined, [bad, ...good])).toMatchObject({
    powerW: 11_000,
    currentA: [16, 16, 16],
    totalVoltageV: 230,
    energyWh: 5_000,
    socPercent: 63,
  });
});
