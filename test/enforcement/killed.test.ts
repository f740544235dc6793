// The real process, killed while chargers draw all their power: in real time, with short leases.
import { expect, it, onTestFinished } from 'vitest';
import type { ConnectorId, ControllerUuid, LocationId } from '../../machines/values/ids.js';
import { ChargerLink } from '../../sim/charger/charger-link.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { VirtualCharger } from '../../sim/charger/virtual-charger.js';
import { systemClock } from '../../src/clock.js';
import { loadConfig } from '../../src/config.js';
import { serve, temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { CHARGER_PASSWORD, HARBOUR, provision, site, tenantWith } from '../service/running-service.js';
import { createMeasure } from './measure.js';

const LIMIT_KW = 20;
const FAILSAFES_KW = 3 * 6 * 0.69;
/** An unrenewed lease ends within the test. */
const ENVIRONMENT = { HEADROOM_HEARTBEAT_S: '0.5', HEADROOM_LEASE_TTL_S: '4', HEADROOM_SETTLE_S: '4' };
const TRAFFIC = { ...HUNGRY, reactionS: [0.1, 0.1] } as const;
const TRAITS = { meterPeriodMs: 500, pilotDelayMs: 100 };
const LOOK_EVERY_MS = 50;

it('holds the limit through kill -9 and a new start, and goes on granting once chargers are back', async () => {
  const port = await freePort();
  const environment = { ...ENVIRONMENT, HEADROOM_MQTT_PORT: String(port) };
  const dataDir = temporaryDirectory();
  await provision(loadConfig({}, { HEADROOM_DATA_DIR: dataDir }), tenantWith(HARBOUR, [quay()]));
  const first = await serve(dataDir, environment);
  const chargers = ['quay-a', 'quay-b', 'quay-c'].map((name) => startCharger(name, first.mqttUrl));
  const powerKw = () => chargers.reduce((sum, { charger }) => sum + charger.physicalPowerW(), 0) / 1000;
  const measure = createMeasure(systemClock, 'quay', LIMIT_KW, powerKw);
  const looking = setInterval(() => measure.check(), LOOK_EVERY_MS);
  onTestFinished(() => clearInterval(looking));
  const heard = () => chargers.map(({ limitsHeard }) => limitsHeard());
  const isServed = () => {
    expect(chargers.every(({ charger }) => Number.isFinite(charger.limits()[0]?.endsAtMs))).toBe(true);
    expect(powerKw()).toBeGreaterThan(1.2 * FAILSAFES_KW);
  };
  await eventually(isServed);

  await first.stop('SIGKILL');
  const before = heard();
  await serve(dataDir, environment);
  await eventually(() => {
    for (const [i, count] of heard().entries()) expect(count).toBeGreaterThan(before[i] ?? 0);
  });
  await eventually(isServed);
  expect(measure.overshoots()).toEqual([]);
});

function quay() {
  const { chargers, ...quay } = site('quay', { permanentLimitKw: LIMIT_KW });
  const [charger] = chargers;
  if (charger === undefined) throw new Error('a site has a charger');
  const connectors = charger.connectors.slice(0, 1);
  return {
    ...quay,
    chargers: ['quay-a', 'quay-b', 'quay-c'].map((name) => ({
      ...charger,
      controllerUuid: name as ControllerUuid,
      connectors,
    })),
  };
}

function startCharger(name: string, url: string) {
  const controllerUuid = name as ControllerUuid;
  let count = 0;

  class CountingCharger extends VirtualCharger {
    override receiveLimit(...limit: Parameters<VirtualCharger['receiveLimit']>) {
      count++;
      super.receiveLimit(...limit);
    }
  }

  const charger = new CountingCharger({
    address: { tenantUuid: HARBOUR, locationId: 'quay' as LocationId, controllerUuid },
    connectors: [
      { connectorId: '1' as ConnectorId, phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 },
    ],
    boot: `${name}-boot`,
    seed: 1,
    traffic: TRAFFIC,
    traits: TRAITS,
    startsAtMs: systemClock.monotonicMs(),
  });
  const login = { url, username: `${HARBOUR}/${name}`, password: CHARGER_PASSWORD };
  const link = new ChargerLink({ ...login, charger, clock: systemClock });
  onTestFinished(() => {
    link.cut();
    return link.stop();
  });
  return { charger, limitsHeard: () => count };
}
