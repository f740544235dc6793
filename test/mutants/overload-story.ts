// Eight minutes of a service that is late for its due work: briefly, too little to matter, and for long. Its limit falls
// and rises, because only raises wait.
import { call, type Deed, type Story, sceneOf } from './story.js';

const LASTS_MINUTES = 8;
/** Later than the service's own work can make it. */
const LATE_MS = 800;
const LOOK_MS = 1_000 + LATE_MS;

const SCENE = sceneOf(
  'A site of a starved service',
  LASTS_MINUTES,
  `        - locationId: quay
          name: Quay
          permanentLimitKw: 20
          chargers:
            - { controllerUuid: q1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }`,
  `vehicles:
  - { name: van, maxKw: 22, phases: 3, taper: none }
sessions:
  visits:
    - { connector: q1/1, vehicle: van, arrives: +10s, energyKwh: 500 }
`,
);

const LOW_KW = 8;
const HIGH_KW = 20;
const limit = (limitKw: number) => call('PUT', '/locations/quay/limit', { limitKw });

/** Makes `count` looks at the clock late. */
const lateLooks =
  (count: number): Deed =>
  async (world, _, { starve }) => {
    starve(LATE_MS);
    await world.advance(count * LOOK_MS);
  };

/** Makes all looks of these seconds punctual. */
const punctual =
  (seconds: number): Deed =>
  async (world, _, { starve }) => {
    starve(0);
    await world.advance(seconds * 1_000);
  };

const DEEDS: Story['deeds'] = [
  [0.5, limit(LOW_KW)],
  // Two late looks in succession, twice, are no overload.
  [1, lateLooks(2)],
  [1, punctual(5)],
  [1, lateLooks(2)],
  [1, limit(HIGH_KW)],
  [1, punctual(5)],
  [1.5, limit(LOW_KW)],
  // Raises wait, and reads are answered.
  [2, lateLooks(4)],
  [2, punctual(1)],
  [2, limit(HIGH_KW)],
  [2.5, limit(LOW_KW)],
  [3, limit(HIGH_KW)],
  [3.5, limit(LOW_KW)],
  // Reads are refused. Later they are answered again, and only after that limits rise.
  [4, lateLooks(12)],
  [4.5, punctual(12)],
  [4.5, limit(HIGH_KW)],
  [5.5, limit(LOW_KW)],
  [6, limit(HIGH_KW)],
];

export const OVERLOAD_STORY: Story = {
  name: 'a starved service',
  scene: SCENE,
  lastsMinutes: LASTS_MINUTES,
  deeds: DEEDS,
  reads: ['/locations/quay/limits'],
};
