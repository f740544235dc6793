// A quarter of an hour of chargers behind a gateway on a small site: they start, prove their leases, lose their links and
// their gateway, forget their profiles, and set their clocks.
import type { World } from '../../sim/world/world.js';
import { call, MINUTE_MS, type Story, sceneOf } from './story.js';

const LASTS_MINUTES = 16;

const SCENE = sceneOf(
  'A site behind a gateway',
  LASTS_MINUTES,
  `        - locationId: yard
          name: Yard
          permanentLimitKw: 50
          chargers:
            - { controllerUuid: plain, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 16, failsafeA: 6 }] }
            - { controllerUuid: forgetful, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 16, failsafeA: 6 }] }
            - { controllerUuid: hidden, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 16, failsafeA: 6 }] }
            - { controllerUuid: watts, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 16, failsafeA: 6 }] }
            - { controllerUuid: losing, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 16, failsafeA: 6 }] }
            - { controllerUuid: native, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32, failsafeA: 6 }] }`,
  `ocpp:
  - { chargers: [plain] }
  - { chargers: [forgetful], protocol: ocpp2.0.1, behaviours: [forgets-profiles] }
  - { chargers: [hidden], behaviours: [hides-idle] }
  - { chargers: [watts], protocol: ocpp2.1, behaviours: [watts-only, sets-clock] }
  - { chargers: [losing], behaviours: [loses-periods] }
vehicles:
  - { name: van, maxKw: 22, phases: 3, taper: none }
sessions:
  visits:
    - { connector: native/1, vehicle: van, arrives: +10s, energyKwh: 500 }
    - { connector: plain/1, vehicle: van, arrives: +50s, leaves: +12m, energyKwh: 500 }
    - { connector: forgetful/1, vehicle: van, arrives: +20s, energyKwh: 500 }
    - { connector: hidden/1, vehicle: van, arrives: +2m, energyKwh: 500 }
    - { connector: watts/1, vehicle: van, arrives: +30s, leaves: +9m, energyKwh: 500 }
    - { connector: losing/1, vehicle: van, arrives: +3m, energyKwh: 500 }
`,
);

function runOf(world: World, controllerUuid: string) {
  return world.runs.find(({ charger }) => charger.address.controllerUuid === controllerUuid);
}

const rebootOf = (controllerUuid: string) => (world: World) => {
  const run = runOf(world, controllerUuid);
  if (run !== undefined) world.reboot(run);
};

const lossOf = (controllerUuid: string, minutes: number) => (world: World) => {
  const run = runOf(world, controllerUuid);
  if (run !== undefined) world.disconnect(run, minutes * MINUTE_MS);
};

const limit = (limitKw: number) => call('PUT', '/locations/yard/limit', { limitKw });

const DEEDS: Story['deeds'] = [
  [4, limit(30)],
  [5, limit(50)],
  [5.5, rebootOf('plain')],
  [6.5, lossOf('watts', 0.5)],
  [7, rebootOf('forgetful')],
  [8, (world) => world.crashGateway(10_000)],
  [10, rebootOf('hidden')],
  [10.5, lossOf('plain', 2)],
  [11, (world) => world.crash(3_000)],
  [12, rebootOf('forgetful')],
  [12.5, limit(35)],
  [13.5, lossOf('forgetful', 0.25)],
  [14, limit(50)],
];

export const OCPP_STORY: Story = {
  name: 'a gateway',
  scene: SCENE,
  lastsMinutes: LASTS_MINUTES,
  deeds: DEEDS,
  reads: [],
};
