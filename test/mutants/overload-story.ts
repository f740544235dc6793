// Eight minutes of a service that comes late to what is due: a little, too little to matter, and for long.
import { type Deed, type Story, sceneOf } from './story.js';

const LASTS_MINUTES = 8;
/** Later than the service takes for other work of its own. */
const LATE_MS = 800;
const LOOK_MS = 1_000 + LATE_MS;

const SCENE = sceneOf(
  'A site of a starved service',
  LASTS_MINUTES,
  `        - { locationId: quay, name: Quay, permanentLimitKw: 20 }`,
);

/** So many looks at the clock come late. */
const lateLooks =
  (count: number): Deed =>
  async (world, _, { starve }) => {
    starve(LATE_MS);
    await world.advance(count * LOOK_MS);
  };

/** So many seconds of looks that come in time. */
const punctual =
  (seconds: number): Deed =>
  async (world, _, { starve }) => {
    starve(0);
    await world.advance(seconds * 1_000);
  };

const DEEDS: Story['deeds'] = [
  // Twice two in succession are no overload.
  [1, lateLooks(2)],
  [1, punctual(5)],
  [1, lateLooks(2)],
  [1, punctual(5)],
  // Raises wait, and reads are answered.
  [2, lateLooks(4)],
  [2, punctual(1)],
  // Reads are refused; later they are answered again, and only then are limits raised.
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
