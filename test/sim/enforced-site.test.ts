// A site of misbehaving virtual chargers on a whole service: physical power keeps to the grid limit, also in
// transitions.
import { afterEach, expect, it } from 'vitest';
import type { ConnectorId, ControllerUuid } from '../../machines/values/ids.js';
import { ChargerLink } from '../../sim/charger/charger-link.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { VirtualCharger } from '../../sim/charger/virtual-charger.js';
import { systemClock } from '../../src/clock.js';
import { hashSecret } from '../../src/secrets.js';
import { toInstant } from '../../src/wire/instants.js';
import {
  CHARGER_PASSWORD,
  HARBOUR,
  type RunningService,
  runService,
  site,
  tenantWith,
} from '../service/running-service.js';

// A fast protocol: a heartbeat each second, leases of 4 s, 2 s to settle.
const TIMING = { HEADROOM_HEARTBEAT_S: '1', HEADROOM_LEASE_TTL_S: '4', HEADROOM_SETTLE_S: '2' };
const SETTLE_MS = 2000;
const HORIZON_MS = 4000 * 1.02 + SETTLE_MS;
const LIMIT_KW = 44;
const LOOK_EVERY_MS = 20;

const CHARGERS = ['q-1', 'q-2', 'q-3', 'q-4'] as ControllerUuid[];
const CONNECTORS = [
  {
    connectorId: '1' as ConnectorId,
    ...({ phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 } as const),
  },
];

let running: RunningService | undefined;
let links: ChargerLink[] = [];

afterEach(async () => {
  await Promise.all(links.map((link) => link.stop()));
  links = [];
  await running?.stop();
});

function connect(service: RunningService, controllerUuid: ControllerUuid, seed: number): VirtualCharger {
  const { locationId } = site('quay');
  const charger = new VirtualCharger({
    address: { tenantUuid: HARBOUR, locationId, controllerUuid },
    connectors: CONNECTORS,
    boot: `boot-${controllerUuid}`,
    seed,
    traffic: HUNGRY,
    startsAtMs: systemClock.monotonicMs(),
    traits: { misbehaviours: ['late-reaction'], settleMs: SETTLE_MS, meterPeriodMs: 1000, driftShare: 0.02 },
  });
  const login = { username: `${HARBOUR}/${controllerUuid}`, password: CHARGER_PASSWORD };
  links.push(new ChargerLink({ url: service.mqttUrl, ...login, charger, clock: systemClock }));
  return charger;
}

/** Passes the physical power, kW, to `check` at each look until `isDone`. */
async function watch(
  chargers: readonly VirtualCharger[],
  check: (drawnKw: number, atMs: number) => void,
  isDone: (drawnKw: number, atMs: number) => boolean,
): Promise<void> {
  for (;;) {
    const nowMs = systemClock.monotonicMs();
    for (const charger of chargers) charger.advance(nowMs);
    const drawnKw = chargers.reduce((sum, charger) => sum + charger.physicalPowerW(), 0) / 1000;
    const atMs = systemClock.nowMs();
    check(drawnKw, atMs);
    if (isDone(drawnKw, atMs)) return;
    await new Promise<void>((done) => void systemClock.after(LOOK_EVERY_MS, done));
  }
}

it('keeps a scheduled decrease without overshoot after a charger is cut off, and uses the available capacity', async () => {
  const quay = site('quay', { permanentLimitKw: LIMIT_KW });
  const mqttSecretHash = hashSecret(CHARGER_PASSWORD);
  const connectors = CONNECTORS.map((connector) => ({ ...connector, status: 'ACTIVE' as const }));
  const chargers = CHARGERS.map((controllerUuid) => ({ controllerUuid, mqttSecretHash, connectors }));
  running = await runService([tenantWith(HARBOUR, [{ ...quay, chargers }])], {}, TIMING);
  const service = running;
  const virtual = CHARGERS.map((controllerUuid, i) => connect(service, controllerUuid, i));

  const within = (limitKw: number) => (drawnKw: number) => expect(drawnKw).toBeLessThanOrEqual(limitKw);
  await watch(virtual, within(LIMIT_KW), (drawnKw) => drawnKw > 0.9 * LIMIT_KW);

  const startsAtMs = systemClock.nowMs() + Math.ceil(HORIZON_MS) + 1000;
  const endsAtMs = startsAtMs + 8000;
  const body = { startTime: toInstant(startsAtMs), endTime: toInstant(endsAtMs), limitKw: 22, priority: 5 };
  expect(await service.call('POST', '/locations/quay/schedules', body)).toMatchObject({ status: 200 });
  links[0]?.cut();
  let highestKw = 0;
  await watch(
    virtual,
    (drawnKw, atMs) => {
      const isLower = atMs >= startsAtMs && atMs < endsAtMs;
      within(isLower ? 22 : LIMIT_KW)(drawnKw);
      if (isLower) highestKw = Math.max(highestKw, drawnKw);
    },
    (_, atMs) => atMs >= endsAtMs - 100,
  );
  // The minimums of all others do not fit beside the running lease of the lost charger, so one may be paused in
  // rotation.
  expect(highestKw).toBeGreaterThan(0.7 * 22);
  expect(virtual[0]?.limits()).toMatchObject([{ reason: 'failsafe' }]);
  await watch(virtual, within(LIMIT_KW), (drawnKw) => drawnKw > 0.8 * LIMIT_KW);
});
