// Twenty minutes of a site with a metered building, of one with a limited average import, and of one with both. The
// meters are read while cars come and go, late, not at all, and after a crash.
import { toInstant } from '../../src/wire/instants.js';
import { type Deed, type Story, sceneOf } from './story.js';

const LASTS_MINUTES = 20;
const READ_EVERY_MS = 2_000;

const SCENE = sceneOf(
  'A metered site',
  LASTS_MINUTES,
  `        - locationId: tower
          name: Tower
          permanentLimitKw: 100
          gridLimitKw: 60
          siteMeter: { meterUuid: m1, maxBuildingKw: 40, reserveKw: [1, 4] }
          chargers:
            - { controllerUuid: t1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
        - locationId: stall
          name: Stall
          permanentLimitKw: 100
          peakShaving: { limitKw: 8, windowS: 300 }
          chargers:
            - { controllerUuid: s1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32, failsafeA: 0 }] }
        - locationId: market
          name: Market
          permanentLimitKw: 100
          gridLimitKw: 60
          siteMeter: { meterUuid: m2, maxBuildingKw: 10, reserveKw: [1, 2] }
          peakShaving: { limitKw: 12, windowS: 300 }
          chargers:
            - { controllerUuid: k1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32, failsafeA: 0 }] }`,
  `vehicles:
  - { name: scooter, maxKw: 5, phases: 3, taper: none }
sessions:
  visits:
    - { connector: k1/1, vehicle: scooter, arrives: +100s, energyKwh: 500 }
    - { connector: s1/1, vehicle: scooter, arrives: +200s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +123s, leaves: +138s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +153s, leaves: +168s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +183s, leaves: +198s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +213s, leaves: +228s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +243s, leaves: +258s, energyKwh: 500 }
    - { connector: t1/1, vehicle: scooter, arrives: +273s, leaves: +288s, energyKwh: 500 }
`,
);

const READS = [
  '/locations',
  '/locations/tower/site-meter',
  '/locations/tower/live',
  '/locations/stall/live',
  '/alarms',
];

/** Successive readings of the location's meter from this minute on, kW. */
function reads(
  locationId: 'tower' | 'market',
  minute: number,
  ...readingsKw: readonly number[]
): readonly [number, Deed] {
  const read: Deed = async (world, ask, { clock }) => {
    for (const readKw of readingsKw) {
      await ask('PUT', `/locations/${locationId}/site-meter`, {
        at: toInstant(clock.nowMs()),
        powerW: readKw * 1000,
      });
      await world.advance(READ_EVERY_MS);
    }
  };
  return [minute, read];
}

const DEEDS: Story['deeds'] = [
  reads('tower', 2, 20, 20, 20, 31, 31, 31, 31, 20, 20, 20),
  // The service builds everything again from rows.
  [13, (world) => world.crash(3_000)],
  // Implausible readings come last.
  reads('market', 7, 2, 2, 6, 6, 9, 2),
  // Chargers report in between, so that each reading completes a span of known import.
  reads('market', 9, ...Array.from({ length: 40 }, (_, i) => (i % 7 === 0 ? 8 : 2))),
  reads('tower', 17, 30, 30, -500),
];

export const METER_STORY: Story = {
  name: 'a meter',
  scene: SCENE,
  lastsMinutes: LASTS_MINUTES,
  deeds: DEEDS,
  reads: READS,
};
