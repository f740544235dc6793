// Fuses in the operator's view: the current of each phase, the full phase, and the sentence that names it.
import { afterEach, describe, expect, it } from 'vitest';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { locationPowerSchema } from '../../src/features/power-history/contract.js';
import { bodyOf, refusalOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

const live = async () => bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema);
const SINGLE = { phases: 1, failsafeA: 0 } as const;
const SHARES = 'the connector shares its';

describe('The fuses of a location', () => {
  it('are shown phase by phase, and a connector shows the full one', async () => {
    rig = await createEnforcementRig([
      {
        locationId: 'quay',
        permanentLimitKw: 100,
        connection: { currentA: [63, 40, 63], voltageV: 230 },
        feeders: [{ name: 'hall', currentA: [63, 63, 20], parent: null }],
        chargers: [
          { ...SINGLE, rotation: 'S' },
          { ...SINGLE, rotation: 'S' },
          { ...SINGLE, rotation: 'T', feeder: 'hall' },
          { ...SINGLE, rotation: 'R' },
        ],
      },
    ]);
    await rig.pass(120);
    const { fuses, connectors } = await live();
    expect(fuses.map(({ feeder, parent }) => [feeder, parent])).toEqual([
      [null, null],
      ['hall', null],
    ]);
    const [connection, hall] = fuses;
    expect(connection?.phases).toMatchObject([
      { phase: 'L1', ratedA: 63, measuredA: 32, isFull: false },
      { phase: 'L2', ratedA: 40, isFull: true },
      { phase: 'L3', ratedA: 63, isFull: false },
    ]);
    expect(connection?.phases[1]?.measuredA).toBeGreaterThan(39);
    expect(connection?.phases[1]?.reservedA).toBeLessThanOrEqual(40);
    expect(hall?.phases).toMatchObject([
      { phase: 'L1', measuredA: 0, reservedA: 0, isFull: false },
      { phase: 'L2', measuredA: 0, isFull: false },
      { phase: 'L3', ratedA: 20, measuredA: 20, isFull: true },
    ]);
    const ofConnection = { feeder: null, phase: 'L2' };
    const ofHall = { feeder: 'hall', phase: 'L3' };
    expect(connectors.map(({ fullFuse }) => fullFuse)).toEqual([ofConnection, ofConnection, ofHall, null]);
    expect(connectors.map(({ explanation }) => explanation)).toMatchObject([
      expect.stringContaining(`Phase L2 of the connection is full: ${SHARES} 40 A fairly`),
      expect.stringContaining(`Phase L2 of the connection is full: ${SHARES} 40 A fairly`),
      expect.stringContaining(`Phase L3 of feeder "hall" is full: ${SHARES} 20 A fairly`),
      'The connector is not limited: it may draw its maximum of 32 A.',
    ]);
    const points = bodyOf(await rig.call('GET', '/locations/quay/power'), locationPowerSchema).points;
    // The draw of all chargers, on any feeder.
    expect(points.at(-1)?.phases).toMatchObject([
      { phase: 'L1', maxA: 32 },
      { phase: 'L2', maxA: connection?.phases[1]?.measuredA },
      { phase: 'L3', maxA: 20 },
    ]);
    const past = bodyOf(await rig.call('GET', '/locations/quay/power?feeder=hall'), locationPowerSchema);
    expect(past.feeder).toBe('hall');
    expect(past.points.at(-1)?.phases).toMatchObject([
      { phase: 'L1', maxA: hall?.phases[0]?.measuredA },
      { phase: 'L2', maxA: 0 },
      { phase: 'L3', maxA: 20 },
    ]);
    const unknown = await rig.call('GET', '/locations/quay/power?feeder=roof');
    expect(refusalOf(unknown, 'INVALID_REQUEST_BODY')).toBe(
      'feeder: must be one of this location: hall (query parameter)',
    );
    expect(await rig.counted('fusePhases', { state: 'full' })).toBe(2);
    expect(await rig.counted('fusePhases', { state: 'free' })).toBe(4);
  });

  it('that cannot carry 6 A for every car are named to waiting connectors, and to locks that get none', async () => {
    rig = await createEnforcementRig([
      {
        locationId: 'quay',
        permanentLimitKw: 100,
        connection: { currentA: [10, 63, 63], voltageV: 230 },
        chargers: [
          { ...SINGLE, rotation: 'R' },
          { ...SINGLE, rotation: 'R' },
        ],
      },
    ]);
    await rig.pass(60);
    const told = async () => (await live()).connectors.map(({ explanation }) => explanation);
    expect(await told()).toContain(
      'Phase L1 of the connection is full: its 10 A do not cover 6 A for every car on it. The connector is paused until its turn.',
    );
    await rig.lock('quay-1', 7);
    await rig.lock('quay-2', 7);
    await rig.pass(90);
    expect(await told()).toContain(
      'A profile locks the connector, but phase L1 of the connection is full. Every unlocked connector on it already has 0 A, or only its unavoidable reserve. No fuse is overloaded for a lock.',
    );
    const [alarm] = await rig.alarms('quay', 'LIMIT_UNATTAINABLE');
    expect(alarm?.reason).toContain(
      'The fuse of phase L1 of the connection is overbooked, 12 A of 10 A: 12 A are',
    );
  });
});
