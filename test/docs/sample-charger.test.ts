// The sample charger of the documentation, run as it stands: on a whole service, and against limits that nobody should take.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { z } from 'zod';
import type { AckResult } from '../../machines/grant.js';
import type { LocationId } from '../../machines/ids.js';
import {
  type AckMessage,
  ackSchema,
  type LimitMessage,
  meterSchema,
  stateSchema,
} from '../../src/wire/mqtt.js';
import { locationLiveSchema } from '../../src/wire/operator-locations.js';
import { freePort } from '../enforcement/free-port.js';
import { type BrokerRig, HARBOUR, startBroker, topicOf } from '../outbound/mqtt/broker-rig.js';
import { bodyOf } from '../service/answers.js';
import { eventually } from '../service/eventually.js';
import {
  CHARGER_PASSWORD,
  type RunningService,
  runService,
  site,
  tenantWith,
} from '../service/running-service.js';

const SAMPLE = fileURLToPath(new URL('../../docs/sample-charger.js', import.meta.url));
const TIMING = { HEARTBEAT_S: '1', LEASE_TTL_S: '3', SETTLE_S: '1' };

interface Sample {
  /** Everything it printed. */
  readonly lines: string[];
  readonly directory: string;
  /** As when its power fails. */
  kill(): Promise<void>;
}

function startSample(environment: Readonly<Record<string, string>>, directory = newDirectory()): Sample {
  const child: ChildProcess = spawn(process.execPath, [SAMPLE], {
    cwd: directory,
    env: { TENANT: HARBOUR, HEARTBEAT_S: '1', CAR_A: '32', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const exited = once(child, 'exit');
  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await exited;
  }
  onTestFinished(kill);
  return { lines, directory, kill };
}

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-sample-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describe('the sample charger on a whole service', () => {
  const quay = site('quay' as LocationId, { permanentLimitKw: 15 });

  async function start(): Promise<{ running: () => RunningService; restart: () => Promise<void> }> {
    let running = await runService(
      [tenantWith(HARBOUR as never, [{ ...quay, chargers: quay.chargers }])],
      {},
      {
        HEADROOM_MQTT_PORT: String(await freePort()),
        ...Object.fromEntries(Object.entries(TIMING).map(([name, value]) => [`HEADROOM_${name}`, value])),
      },
    );
    onTestFinished(() => running.stop());
    return {
      running: () => running,
      restart: async () => {
        running = await running.restart();
      },
    };
  }

  it('draws what its limit allows, falls back when the broker is gone, and comes back', {
    timeout: 60_000,
  }, async () => {
    const { running } = await start();
    const live = async () => bodyOf(await running().call('GET', '/locations/quay/live'), locationLiveSchema);
    const { lines } = startSample({
      ...{ MQTT_URL: running().mqttUrl, LOCATION: 'quay', CHARGER: 'quay-a', PASSWORD: CHARGER_PASSWORD },
    });
    await eventually(() => expect(lines).toEqual(['later']));
    await live();
  });
});
