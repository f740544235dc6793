// Twenty minutes of four sites that a grid operator limits, releases and stops contacting, through a crash.
import { toInstant } from '../../src/wire/instants.js';
import { call, type Deed, MINUTE_MS, type Story, sceneOf } from './story.js';

const LASTS_MINUTES = 20;

/** No chargers, because the grid operator's limit does not depend on the draw. */
const SCENE = sceneOf(
  'Four sites of a grid operator',
  LASTS_MINUTES,
  `        - { locationId: alone, name: Alone, permanentLimitKw: 10, operator: { operatorUuid: o1, failsafeKw: 5, heartbeatS: 30 } }
        - { locationId: held, name: Held, permanentLimitKw: 10, operator: { operatorUuid: o2, failsafeKw: 5, heartbeatS: 30 } }
        - { locationId: freed, name: Freed, permanentLimitKw: 10, operator: { operatorUuid: o3, failsafeKw: 5, heartbeatS: 30 } }
        - { locationId: lost, name: Lost, permanentLimitKw: 10, operator: { operatorUuid: o4, failsafeKw: 5, heartbeatS: 30 } }`,
);

const READS = [
  '/locations',
  ...['alone', 'held', 'freed', 'lost'].map((id) => `/locations/${id}/operator-limit`),
];

/** The grid operator's message to a location at this minute. Without `order`, it is a heartbeat. */
function operatorSays(locationId: string, minute: number, order: object = {}): readonly [number, Deed] {
  const sentAt = toInstant(SCENE.startsAtMs + minute * MINUTE_MS);
  const body = { source: 'grid', sentAt, ...order };
  return [minute, call('PUT', `/locations/${locationId}/operator-limit`, body)];
}

/** Each state of the operator's limit, before and after the restart at minute 13. */
const DEEDS: Story['deeds'] = [
  [13, (world) => world.crash(3_000)],
  operatorSays('held', 12.5, { isActive: true, limitKw: 4 }),
  operatorSays('freed', 12.5, { isActive: false }),
  operatorSays('freed', 16),
  operatorSays('lost', 2, { isActive: true, limitKw: 3 }),
  operatorSays('lost', 2.5),
  operatorSays('lost', 15),
  operatorSays('lost', 15.5, { isActive: true, limitKw: 2, durationS: 30 }),
  operatorSays('lost', 16.5),
];

export const OPERATOR_STORY: Story = {
  name: 'a grid operator',
  scene: SCENE,
  lastsMinutes: LASTS_MINUTES,
  deeds: DEEDS,
  reads: READS,
};
