// The power that § 14a EnWG guarantees to a site, by the formula of the Bundesnetzagentur.
import { describe, expect, it } from 'vitest';
import { guaranteedPowerKw } from '../../../machines/limits/guaranteed-power.js';

describe('The guaranteed power of a site', () => {
  it.each([
    [0, 0],
    [1, 4.2],
    [2, 7.56],
    [3, 10.5],
    [4, 13.02],
    [5, 15.12],
    [6, 16.8],
    [7, 18.06],
    [8, 18.9],
    [9, 19.32],
    [12, 24.99],
    [100, 191.31],
  ])('with %i charging points is %f kW', (devices, limitKw) => {
    expect(guaranteedPowerKw(devices)).toBe(limitKw);
  });
});
