// A failed start leaves nothing behind. A stop takes no new requests and finishes the accepted ones. Time runs on real
// timers.
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { locationLimitsSchema, locationScheduleSchema } from '../../src/features/profiles/contract.js';
import type { Store } from '../../src/ports/store.js';
import { Service } from '../../src/service.js';
import { eventually } from '../eventually.js';
import { bodyOf } from './answers.js';
import { recordEffects } from './effects.js';
import { profile } from './profiles.js';
import { HARBOUR, runService, silentLog, site, tenantWith } from './running-service.js';

const SITES = Array.from({ length: 40 }, (_, i) => `quay-${i}`);
const tenants = () => [
  tenantWith(
    HARBOUR,
    SITES.map((id) => site(id)),
  ),
];

/** A port that is in use until `close`. */
async function takenPort(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return { port: address.port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

describe('a start', () => {
  it('that finds its HTTP port taken fails, and gives back the MQTT port and the database', async () => {
    const http = await takenPort();
    const mqtt = await takenPort();
    await mqtt.close();
    const dataDir = mkdtempSync(join(tmpdir(), 'headroom-start-'));
    const config = loadConfig({ httpPort: String(http.port), mqttPort: String(mqtt.port), dataDir }, {});
    const service = new Service(config, { log: silentLog });
    await expect(service.start()).rejects.toThrow(/EADDRINUSE/);
    await http.close();
    const urls = await service.start();
    expect([new URL(urls.httpUrl).port, new URL(urls.mqttUrl).port].map(Number)).toEqual([
      http.port,
      mqtt.port,
    ]);
    await service.stop();
    rmSync(dataDir, { recursive: true });
  });
});

describe('a stop', () => {
  it('answers its accepted requests, and a restart finds all acknowledged writes', async () => {
    let service = await runService(tenants());
    const request = profile({ limitKw: 13 });
    const writes = SITES.map(async (id) => {
      const answer = await service.call('POST', `/locations/${id}/schedules`, request).catch(() => undefined);
      return { id, isAcknowledged: answer?.status === 200 };
    });
    // One answer has arrived, and the others are on their way when the service stops.
    await Promise.race(writes);
    await service.service.stop();
    const outcomes = await Promise.all(writes);
    await expect(service.call('GET', '/clusters')).rejects.toThrow();
    service = await service.restart();
    for (const { id } of outcomes.filter(({ isAcknowledged }) => isAcknowledged)) {
      const answer = await service.call('GET', `/locations/${id}/limits`);
      const { profiles } = bodyOf(answer, locationLimitsSchema);
      expect(profiles, id).toHaveLength(1);
    }
    expect(outcomes.some(({ isAcknowledged }) => isAcknowledged)).toBe(true);
    await service.stop();
  });

  it('waits for a write that is on its way, and answers it', async () => {
    const gate = new EventEmitter();
    const isUnderWay = once(gate, 'arrived');
    const mayGo = once(gate, 'opened');
    const slow = (store: Store): Store => ({
      ...store,
      async append(...submission) {
        gate.emit('arrived');
        await mayGo;
        return store.append(...submission);
      },
    });
    let service = await runService(tenants(), { wrapStore: slow });
    const write = service.call('POST', '/locations/quay-0/schedules', profile({ limitKw: 8 }));
    await isUnderWay;
    const stopped = service.service.stop();
    for (let i = 0; i < 20; i++) {
      await expect(service.call('GET', '/clusters')).rejects.toThrow();
    }
    gate.emit('opened');
    expect(bodyOf(await write, locationScheduleSchema)).toMatchObject({ effectiveLimitKw: 8 });
    await stopped;
    service = await service.restart();
    const answer = await service.call('GET', '/locations/quay-0/limits');
    expect(bodyOf(answer, locationLimitsSchema)).toMatchObject({ effectiveLimitKw: 8 });
    await service.stop();
  });

  it('may be asked for twice', async () => {
    const service = await runService(tenants());
    await Promise.all([service.service.stop(), service.service.stop()]);
    await service.stop();
  });
});

describe("the host's own clock", () => {
  it('begins and ends windows by itself, none early (3.1)', async () => {
    const effects = recordEffects();
    const service = await runService(tenants(), { log: effects.log });
    const request = profile({ startsInMs: 300, endsInMs: 500, limitKw: 9 });
    const answer = await service.call('POST', '/locations/quay-0/schedules', request);
    expect(bodyOf(answer, locationScheduleSchema)).toMatchObject({
      status: 'SCHEDULED',
      effectiveLimitKw: 50,
    });
    await eventually(() => expect(effects.of('effectiveLimit.changed')).toHaveLength(2));
    const [began, ended] = effects.instantsOf('effectiveLimit.changed', 'effectiveLimitKw');
    expect([began?.[1], ended?.[1]]).toEqual([9, 50]);
    expect(began?.[0]).toBeGreaterThanOrEqual(Date.parse(request.startTime));
    expect(ended?.[0]).toBeGreaterThanOrEqual(Date.parse(request.endTime));
    await service.stop();
  });
});
