// Eight minutes of a service that is late for its due work: briefly, too little to matter, and for long.
import { type Deed, type Story, sceneOf } from './story.js';

const LASTS_MINUTES = 8;
/** Later than the service's own work can make it. */
const LATE_MS = 800;
const LOOK_MS = 1_000 + LATE_MS;

const SCENE = sceneOf(
  'A site of a starved service',
  LASTS_MINUTES,
  `        - { locationId: quay, name: Quay, permanentLimitKw: 20 }`,
);

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
  // Two late looks in succession, twice, are no overload.
  [1, lateLooks(2)],
  [1, punctual(5)],
  [1, lateLooks(2)],
  [1, punctual(5)],
  // Raises wait, and reads are answered.
  [2, lateLooks(4)],
  [2, punctual(1)],
  // Reads are refused. Later they are answered again, and only after that limits rise.
  [4, lateLooks(12)],
  [4.5, punctual(12)],
];

export const OVERLOAD_STORY: Story = {
  name: 'a starved service',
  scene: SCENE,
  lastsMinutes: LASTS_MINUTES,
  deeds: DEEDS,
  reads: ['/locations/quay/limits'],
};
