// The recording of a running service, and a replay that makes the same decisions.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startFleet } from '../../../sim/charger/fleet.js';
import { HUNGRY } from '../../../sim/charger/traffic.js';
import { Recorder } from '../../../sim/log/recorder.js';
import { replayRecording } from '../../../sim/log/replay-recording.js';
import { systemClock } from '../../../src/clock.js';
import type { Clock } from '../../../src/ports/clock.js';
import { type Store, StoreUnavailableError } from '../../../src/ports/store.js';
import type { Seams } from '../../../src/service.js';
import { toInstant } from '../../../src/wire/instants.js';
import { eventually } from '../../eventually.js';
import {
  apiKeyOf,
  CHARGER_PASSWORD,
  HARBOUR,
  type RunningService,
  runService,
  site,
  tenantWith,
} from '../../service/running-service.js';
import { appendLines, linesIn } from './recording-lines.js';

/** With leases of seconds, the run reaches every case within seconds. */
const BRISK = { HEADROOM_HEARTBEAT_S: '1', HEADROOM_LEASE_TTL_S: '4', HEADROOM_SETTLE_S: '1' };
const SETTINGS = {
  heartbeatS: 1,
  databaseUrl: 'postgres://u:database-secret@h/d',
  mqttUrl: 'mqtt://u:broker-secret@h',
};

const directory = mkdtempSync(join(tmpdir(), 'headroom-recording-'));
const path = join(directory, 'service.recording');

async function recordingOf(name: string, lines: readonly string[]): Promise<string> {
  const file = join(directory, name);
  await appendLines(file, lines);
  return file;
}

/** A host whose wall clock the test sets. */
function steppingClock() {
  let stepMs = 0;
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + stepMs };
  return {
    clock,
    step(byMs: number) {
      stepMs += byMs;
    },
  };
}

function fleetOf({ mqttUrl }: RunningService, locations: readonly string[]) {
  const members = locations.map((locationId) => {
    const { chargers } = site(locationId);
    const [charger] = chargers;
    if (charger === undefined) throw new Error('a site has a charger');
    const { controllerUuid, connectors } = charger;
    const address = { tenantUuid: HARBOUR, locationId: site(locationId).locationId, controllerUuid };
    return { address, connectors, username: `${HARBOUR}/${controllerUuid}`, password: CHARGER_PASSWORD };
  });
  return startFleet({
    url: mqttUrl,
    members,
    seed: 1,
    clock: systemClock,
    traffic: HUNGRY,
    traits: { meterPeriodMs: 1_000, pilotDelayMs: 100 },
  });
}

async function limitsTold(atLeast: number): Promise<void> {
  await eventually(() => expect(linesOf('limit').length).toBeGreaterThanOrEqual(atLeast));
}

function linesOf(kind: string): readonly string[] {
  return linesIn(path).filter((line) => line.startsWith(`{"kind":"${kind}"`));
}

/** Some seconds of two sites under one cap, with concurrent calls, a failing database and a step of the wall clock. */
async function live(service: RunningService, step: (byMs: number) => void, failing: { isFailing: boolean }) {
  const before = linesOf('limit').length;
  const fleet = fleetOf(service, ['quay', 'dock']);
  try {
    await eventually(() => expect(fleet.summary().leased).toBe(4));
    await service.call('PUT', '/locations/quay/limit', { limitKw: 24 });
    const cluster = await service.call('POST', '/clusters', {
      name: 'both',
      locationIds: ['quay', 'dock'],
      limitKw: 40,
    });
    const webhook = await service.call('POST', '/webhooks', { url: 'https://receiver.invalid/events' });
    await service.call('POST', `/webhooks/${webhook.body.webhookId}/secret`, {});
    step(-3_000);
    const inMs = (ms: number) => toInstant(systemClock.nowMs() - 3_000 + ms);
    const profile = (priority: number) => ({
      priority,
      limitKw: 10 + priority,
      startTime: inMs(600),
      endTime: inMs(2_000),
    });
    await Promise.all([
      ...[1, 2, 3, 4].map((priority) => service.call('POST', '/locations/dock/schedules', profile(priority))),
      service.call('POST', '/chargers/quay-a/connectors/1/schedules', profile(5)),
      service.call('PATCH', `/clusters/${cluster.body.clusterId}`, { limitKw: 30 }),
      service.call('GET', '/locations/quay/live'),
    ]);
    await limitsTold(before + 12);
    failing.isFailing = true;
    await service.call('PUT', '/locations/dock/limit', { limitKw: 31 });
    await limitsTold(before + 20);
    failing.isFailing = false;
    step(3_000);
    await service.call('DELETE', `/clusters/${cluster.body.clusterId}`);
    await limitsTold(before + 40);
  } finally {
    await fleet.stop();
  }
}

describe('A recording of a running service', () => {
  beforeAll(async () => {
    const host = steppingClock();
    const failing = { isFailing: false };
    const wrapStore = (store: Store): Store => ({
      ...store,
      append: (tenantUuid, changes) =>
        failing.isFailing
          ? Promise.reject(new StoreUnavailableError('the disk is full'))
          : store.append(tenantUuid, changes),
    });
    const recorderOf = () => new Recorder({ path, clock: host.clock, settings: SETTINGS });
    const seamsOf = ({ seams }: ReturnType<typeof recorderOf>): Seams => ({ ...seams, wrapStore });

    let recorder = recorderOf();
    const tenant = tenantWith(HARBOUR, [site('quay'), site('dock')]);
    const first = await runService([tenant], seamsOf(recorder), BRISK);
    await live(first, host.step, failing);
    const closing = recorder;
    recorder = recorderOf();
    const second = await first.restart(seamsOf(recorder));
    await closing.close();
    await live(second, host.step, failing);
    await second.stop();
    await recorder.close();
    return () => rmSync(directory, { recursive: true, force: true });
  });

  it('replays to the same decisions after a restart, failed writes and a changed wall clock', async () => {
    const outcome = await replayRecording(path);
    expect(outcome).toMatchObject({ lives: 2, differing: 0 });
    expect(outcome.first).toBeUndefined();
    expect(outcome.agreed).toBe(linesOf('limit').length);
    expect(outcome.agreed).toBeGreaterThanOrEqual(80);
    // The recording contains each of these disturbances.
    expect(linesOf('unstored').length).toBeGreaterThan(0);
    expect(linesOf('call')).toHaveLength(24);
    expect(linesOf('read').length).toBeGreaterThan(0);
    const instants = linesOf('timer').map((line) => JSON.parse(line).at);
    expect(instants.some((at, i) => at < instants[i - 1] - 2_000)).toBe(true);
  });

  it('stores calls with tenant and body, and charger messages with their instant', () => {
    const call = linesOf('call').find((line) => line.includes('setPermanentLimit'));
    expect(JSON.parse(call ?? '')).toMatchObject({
      tenantUuid: HARBOUR,
      path: { locationId: 'quay' },
      body: { limitKw: 24 },
    });
    const state = linesOf('message').find((line) => line.includes('/state'));
    expect(JSON.parse(state ?? '')).toMatchObject({
      at: expect.any(Number),
      text: expect.stringContaining('"online":true'),
    });
  });

  it('contains no key, password or hash of one, and permits only its owner to read it', () => {
    const text = readFileSync(path, 'utf8');
    const key = apiKeyOf(HARBOUR);
    for (const secret of [
      key,
      key.split('_')[2] ?? key,
      CHARGER_PASSWORD,
      'client secret',
      'database-secret',
      'broker-secret',
    ])
      expect(text).not.toContain(secret);
    expect(text).not.toMatch(/secretHash|"apiKeys":\[[^\]]/);
    expect(statSync(path).mode & 0o077).toBe(0);
  });

  it('shows a changed limit on replay, with its instant', async () => {
    const lines = [...linesIn(path)];
    const changed = lines.findLastIndex((line) => line.startsWith('{"kind":"limit"'));
    lines[changed] = (lines[changed] ?? '').replace(/"limitA":[\d.]+/, '"limitA":31.9');
    const before = lines.slice(0, changed).findLast((line) => line.includes('"at":'));
    const outcome = await replayRecording(await recordingOf('changed', lines));
    expect(outcome.differing).toBe(1);
    expect(outcome.first).toMatchObject({
      atMs: JSON.parse(before ?? '').at,
      message: expect.stringContaining('received 31.9 A'),
    });
  });

  it('shows a missing relevant call on replay', async () => {
    const lines = linesIn(path);
    const call = lines.findIndex((line) => line.includes('"call":"setPermanentLimit"'));
    const outcome = await replayRecording(await recordingOf('lacking', lines.toSpliced(call, 1)));
    expect(outcome.differing).toBeGreaterThan(0);
  });

  it('is replayed up to its last whole block if it is cut off, with the line of the cut', async () => {
    const cut = join(directory, 'cut');
    const whole = readFileSync(path);
    writeFileSync(cut, whole.subarray(0, Math.floor(0.9 * whole.length)));
    const outcome = await replayRecording(cut);
    expect(outcome).toMatchObject({ cutAtLine: expect.any(Number), differing: 0, lives: 2 });
    expect(outcome.cutAtLine).toBeGreaterThan(0.5 * linesIn(path).length);
    // The block may be cut before its first line.
    expect(outcome.cutAtLine).toBeLessThanOrEqual(linesIn(cut).length + 1);
    // The next start of a killed service has a section of its own.
    await appendLines(cut, linesIn(path));
    expect(await replayRecording(cut)).toMatchObject({
      cutAtLine: outcome.cutAtLine,
      differing: 0,
      lives: 4,
    });
  });

  it('is refused if it is damaged, has lines of another release, or has other content', async () => {
    const file = join(directory, 'other');
    const damaged = readFileSync(path);
    const middle = Math.floor(damaged.length / 2);
    damaged.fill('#', middle, middle + 9);
    for (const [content, words] of [
      [damaged, `${file} is damaged (`],
      ['{"level":"info"}\n', 'is no recording'],
      ['', 'is no recording'],
      ['{"kind":"life","format":1,"version":"0.2.0"}\n', 'release 0.2 or older: replay it with that release'],
    ] as const) {
      writeFileSync(file, content);
      await expect(replayRecording(file)).rejects.toThrow(words);
    }
    const later = await recordingOf('later', linesIn(path).toSpliced(9, 0, '{"kind":"moon"}'));
    await expect(replayRecording(later)).rejects.toThrow('this release does not know {"kind":"moon"}');
  });

  it('restores the state of the service at an instant', async () => {
    const last = linesOf('call').find((line) => line.includes('deleteCluster')) ?? '';
    const { at } = JSON.parse(last);
    const { locations } = await replayRecording(path, at);
    expect(locations).toMatchObject([
      { locationId: 'dock', at: toInstant(at), connectors: [{ connectorId: '1' }, { connectorId: '2' }] },
      { locationId: 'quay', permanentLimitKw: 24, gridLimitCause: { kind: expect.any(String) } },
    ]);
    expect((await replayRecording(path, at - 3_600_000)).locations).toBeUndefined();
  });
});
