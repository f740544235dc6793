// The sample charger of the documentation, unchanged: on a whole service, and against limits that a charger must
// refuse.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { z } from 'zod';
import type { ConnectorId, ControllerUuid } from '../../machines/values/ids.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { hashSecret } from '../../src/secrets.js';
import { ackSchema, type LimitMessage, meterSchema, stateSchema } from '../../src/wire/mqtt.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { type BrokerRig, startBroker, topicOf } from '../outbound/mqtt/broker-rig.js';
import { bodyOf } from '../service/answers.js';
import { CHARGER_PASSWORD, HARBOUR, runService, site, tenantWith } from '../service/running-service.js';

const SAMPLE = fileURLToPath(new URL('../../docs/sample-charger.js', import.meta.url));
const TIMING = { HEADROOM_HEARTBEAT_S: '1', HEADROOM_LEASE_TTL_S: '3', HEADROOM_SETTLE_S: '1' };

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-sample-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** `lines` is its whole output; `kill` ends it as a power failure would. */
function startSample(directory: string, environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [SAMPLE], {
    cwd: directory,
    env: { TENANT: HARBOUR, HEARTBEAT_S: '1', CAR_A: '32', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const exited = once(child, 'exit');
  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await exited;
  }
  onTestFinished(kill);
  return { lines, kill, isRunning: () => child.exitCode === null };
}

it('The sample charger follows the service, falls back without a broker, and follows again after its return', async () => {
  const controllerUuid = 'q.1' as ControllerUuid;
  const connectors = [
    {
      connectorId: '1' as ConnectorId,
      voltageV: 230,
      maxCurrentA: 32,
      failsafeA: 6,
      ...({ phases: 3, status: 'ACTIVE' } as const),
    },
  ];
  const charger = { controllerUuid, mqttSecretHash: hashSecret(CHARGER_PASSWORD), connectors };
  const quay = { ...site('quay', { permanentLimitKw: 15 }), chargers: [charger] };
  const environment = { ...TIMING, HEADROOM_MQTT_PORT: String(await freePort()) };
  let running = await runService([tenantWith(HARBOUR, [quay])], {}, environment);
  onTestFinished(() => running.stop());
  const liveKw = async () =>
    bodyOf(await running.call('GET', '/locations/quay/live'), locationLiveSchema).actualKw;

  const { lines } = startSample(newDirectory(), {
    MQTT_URL: running.mqttUrl,
    LOCATION: 'quay',
    CHARGER: controllerUuid,
    PASSWORD: CHARGER_PASSWORD,
  });
  // 15 kW over three phases of 230 V and 10 %.
  await eventually(() => expect(lines.at(-1)).toMatch(/^held to 19\.7 A: /));
  await eventually(async () => expect(await liveKw()).toBe(13.593));
  await running.call('PUT', '/locations/quay/limit', { limitKw: 10 });
  await eventually(() => expect(lines.at(-1)).toMatch(/^held to 13\.1 A: /));
  await eventually(async () => expect(await liveKw()).toBe(9.039));

  await running.service.stop();
  await eventually(() => expect(lines).toContain('held to 6 A: the lease is over'));
  running = await running.restart();
  await eventually(() => expect(lines.at(-1)).toMatch(/^held to 13\.1 A: /));
  await eventually(async () => expect(await liveKw()).toBe(9.039));
});

it('The sample charger with DC_W takes no more power from the grid than the limit', async () => {
  const controllerUuid = 'q.1' as ControllerUuid;
  const dc = { maxPowerKw: 150, minPowerKw: 1, efficiency: 0.8 };
  const connectors = [
    {
      connectorId: '1' as ConnectorId,
      voltageV: 230,
      maxCurrentA: 302,
      failsafeA: 0,
      dc,
      ...({ phases: 3, status: 'ACTIVE' } as const),
    },
  ];
  const charger = { controllerUuid, mqttSecretHash: hashSecret(CHARGER_PASSWORD), connectors };
  const quay = { ...site('quay', { permanentLimitKw: 15 }), chargers: [charger] };
  const running = await runService([tenantWith(HARBOUR, [quay])], {}, TIMING);
  onTestFinished(() => running.stop());
  const { lines } = startSample(newDirectory(), {
    MQTT_URL: running.mqttUrl,
    LOCATION: 'quay',
    CHARGER: controllerUuid,
    PASSWORD: CHARGER_PASSWORD,
    DC_W: '150000',
  });
  // 24.1 A of each phase at 207 V are 14,966 W from the grid, of which 80 % arrive.
  await eventually(() => expect(lines.at(-1)).toMatch(/^held to 11972 W: /));
  await eventually(async () => {
    const { actualKw, connectors } = bodyOf(
      await running.call('GET', '/locations/quay/live'),
      locationLiveSchema,
    );
    expect(actualKw).toBe(14.965);
    expect(connectors).toMatchObject([{ powerType: 'DC', limitA: 24.1 }]);
  });
});

const PATTERN = { state: stateSchema, meter: meterSchema, ack: ackSchema };

/** The sample as `q1-a` on its own broker; the test sends the messages of the service. */
async function onBroker() {
  const rig: BrokerRig = await startBroker();
  onTestFinished(() => rig.stop());
  const directory = newDirectory();
  const environment = {
    MQTT_URL: rig.url,
    LOCATION: 'quay-1',
    CHARGER: 'q1-a',
    PASSWORD: 'password of q1-a',
  };
  let sample = startSample(directory, environment);
  let seq = 0;

  /** All messages of a kind so far, oldest first. */
  function said<K extends keyof typeof PATTERN>(kind: K): z.output<(typeof PATTERN)[K]>[] {
    const schema: z.ZodType = PATTERN[kind];
    const topic = topicOf(kind === 'state' ? 'state' : `c/1/${kind}`);
    return rig.received
      .filter((message) => message.topic === topic)
      .map(({ text }) => schema.parse(JSON.parse(text)) as z.output<(typeof PATTERN)[K]>);
  }

  return {
    rig,
    directory,
    said,
    lines: () => sample.lines,
    isRunning: () => sample.isRunning(),
    /** Its newest messages, once its state and a heartbeat of the same boot have arrived. */
    async present() {
      await eventually(() => {
        expect(said('state').at(-1)?.online).toBe(true);
        expect(said('meter').at(-1)?.boot).toBe(said('state').at(-1)?.boot);
      });
      return { boot: said('state').at(-1)?.boot ?? '', hb: said('meter').at(-1)?.hb ?? 0 };
    },
    /** Sends a limit that answers the newest heartbeat, and returns the ack. */
    async limit(fields: Partial<LimitMessage>) {
      const before = said('ack').length;
      const { boot, hb: ref = 0 } = said('meter').at(-1) ?? {};
      const limit = { v: 1, epoch: 4, seq: ++seq, boot, ref, ttlS: 60, limitA: 10, limitW: 6900, thenA: 6 };
      const text = JSON.stringify({ ...limit, reason: 'fairShare', ...fields });
      rig.bus.publish(topicOf('c/1/limit'), text, { qos: 1, retain: false });
      await eventually(() => expect(said('ack').length).toBe(before + 1));
      return said('ack').at(-1);
    },
    publish: (rest: string, text: string) => rig.bus.publish(topicOf(rest), text, { qos: 1, retain: false }),
    async restart() {
      await sample.kill();
      await eventually(() => expect(said('state').at(-1)?.online).toBe(false));
      sample = startSample(directory, environment);
    },
  };
}

it('The sample charger stores thenA before it applies a limit, and reports both in its next heartbeat', async () => {
  const { present, limit, said, rig, directory } = await onBroker();
  const { boot } = await present();
  expect(await limit({ seq: 9, limitA: 10.9, thenA: 0 })).toEqual({
    v: 1,
    boot,
    epoch: 4,
    seq: 9,
    result: 'APPLIED',
    appliedA: 10.9,
  });
  expect(readFileSync(join(directory, 'q1-a.then'), 'utf8')).toBe('0');
  expect(said('state').map(({ connectors }) => connectors?.[0])).toMatchObject([
    { failsafeA: 6 },
    { failsafeA: 0 },
  ]);
  const kinds = rig.received.map(({ topic }) => topic.split('/').at(-1));
  expect(kinds.lastIndexOf('state')).toBeLessThan(kinds.indexOf('ack'));
  await eventually(() =>
    expect(said('meter').at(-1)).toMatchObject({ epoch: 4, seq: 9, limitA: 10.9, powerW: 7521 }),
  );
});

it('The sample charger answers STALE, EXPIRED and REJECTED, and keeps its previous limit', async () => {
  const { present, limit, said, publish, lines, isRunning } = await onBroker();
  const { boot } = await present();
  expect(await limit({ seq: 9, limitA: 12 })).toMatchObject({ result: 'APPLIED', appliedA: 12 });
  for (const [fields, result] of [
    [{ seq: 9 }, 'STALE'],
    [{ seq: 8 }, 'STALE'],
    [{ epoch: 3, seq: 50 }, 'STALE'],
    [{ seq: 50, boot: 'another' }, 'STALE'],
    [{ seq: 50, limitA: 3 }, 'REJECTED'],
    [{ seq: 50, thenA: 5.9 }, 'REJECTED'],
    [{ seq: 50, limitA: -6 }, 'REJECTED'],
    [{ seq: 50, ref: 10_000 }, 'REJECTED'],
    [{ seq: 50, ttlS: 0 }, 'EXPIRED'],
    [{ seq: 50, ref: 0 }, 'EXPIRED'],
  ] as const) {
    expect([fields, await limit(fields)]).toMatchObject([fields, { boot, result, appliedA: 12 }]);
  }
  // The lease counts from the sending of that heartbeat (R4), about a second before the next regular one.
  const ref = (said('meter').at(-1)?.hb ?? 0) + 1;
  await eventually(() => expect(said('meter').at(-1)?.hb).toBeGreaterThan(ref));
  expect(await limit({ seq: 50, ref, ttlS: 0.5 })).toMatchObject({ result: 'EXPIRED' });
  for (const text of ['no JSON', 'null']) publish('c/1/limit', text);
  await eventually(() => expect(lines().filter((line) => line.startsWith('not under'))).toHaveLength(2));
  // A refused limit does not raise the highest accepted sequence number.
  expect(await limit({ seq: 10, limitA: 14 })).toMatchObject({ result: 'APPLIED', appliedA: 14 });
  expect(isRunning()).toBe(true);
});

it('The sample charger falls back after its lease ends, and keeps the fail-safe over a restart', async () => {
  const { present, limit, said, restart } = await onBroker();
  const { boot } = await present();
  await limit({ limitA: 16, thenA: 0, ttlS: 3 });
  await eventually(() =>
    expect(said('meter').at(-1)).toMatchObject({ epoch: 0, seq: 0, limitA: 0, status: 'SuspendedEVSE' }),
  );
  await restart();
  const after = await present();
  expect(after.boot).not.toBe(boot);
  expect(said('state').at(-1)?.connectors?.[0]).toMatchObject({ failsafeA: 0, keepsThen: true });
  expect(said('meter').at(-1)).toMatchObject({ limitA: 0, powerW: 0 });
});

it('The sample charger sends its state at a sync request', async () => {
  const { present, said, publish } = await onBroker();
  await present();
  const before = said('state').length;
  publish('sync', '{"v":1,"epoch":5}');
  await eventually(() => expect(said('state').length).toBe(before + 1));
});
