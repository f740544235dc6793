// A station may name the EVSE of a transaction only once. The gateway keeps it over its restarts.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import { openOcppMemory } from '../../src/gateway/ocpp/ocpp-charger.js';
import { type TransactionPlace, TransactionPlaces } from '../../src/gateway/ocpp2/evse-memory.js';
import { temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { silentLog } from '../service/running-service.js';
import { type OcppSite, ONE, runOcppSite } from './ocpp-site.js';

const FILE = 'ocpp-transaction-evses.json';
const CHARGER = { tenantUuid: 'harbour', locationId: 'quay', controllerUuid: 'quay-a' } as ChargerAddress;

let running: OcppSite | undefined;

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

describe('A station with two EVSEs that names the EVSE only in the first event of a transaction', () => {
  it('keeps its leases after a restart of the gateway', async () => {
    const dataDir = temporaryDirectory();
    running = await runOcppSite({ dataDir }, 2);
    const { charger, gateway, nextGateway, service } = running;
    charger({ protocol: 'ocpp2.0.1', otherConnectors: [{ ...ONE, connectorId: '2' as ConnectorId }] });
    const reasons = async () => {
      const { body } = await service.call('GET', '/locations/quay/live');
      return (body.connectors as { reason: string }[]).map(({ reason }) => reason);
    };
    await eventually(async () => expect(await reasons()).toEqual(['fairShare', 'fairShare']));
    await gateway.stop();
    const next = await nextGateway();
    const transactions = () => [1, 2].map((evse) => next.bridges[0]?.session.leaseAt(evse)?.transaction);
    await eventually(() => expect(transactions()).not.toContain(undefined));
    await eventually(() => expect(next.bridges[0]?.provenCount).toBe(2));
    expect(await reasons()).toEqual(['fairShare', 'fairShare']);
  });
});

describe('The EVSEs of transactions', () => {
  const kept = (folder: string) => readFileSync(join(folder, FILE), 'utf8');
  const placesIn = (folder: string) => {
    const { transactionPlaces: file } = openOcppMemory(folder, silentLog);
    return new TransactionPlaces(file.get(CHARGER), (places) => file.set(CHARGER, places));
  };

  it('are on disk until the transaction ends', () => {
    const folder = temporaryDirectory();
    placesIn(folder).began('tx-1', 2);
    expect(placesIn(folder).evseOf('tx-1')).toBe(2);
    placesIn(folder).ended('tx-1');
    expect(placesIn(folder).evseOf('tx-1')).toBeUndefined();
    expect(kept(folder)).not.toContain('tx-1');
  });

  it.each([
    ['damaged', '{"harbour/quay-a": [{"transac'],
    ['of another version', '{"harbour/quay-a": {"tx-1": 2}}'],
    ['empty', ''],
  ])('are recorded again if the file is %s', (_, text) => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, FILE), text);
    const warnings: object[] = [];
    const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
    const { transactionPlaces: file } = openOcppMemory(folder, log);
    expect(warnings).toEqual([{ path: join(folder, FILE) }]);
    new TransactionPlaces(file.get(CHARGER), (places) => file.set(CHARGER, places)).began('tx-2', 1);
    expect(placesIn(folder).evseOf('tx-2')).toBe(1);
  });

  it('are recorded for the newest transaction of each EVSE, in bounded number, for any messages', () => {
    const step = fc.record({ evse: fc.nat(150), transaction: fc.nat(400).map(String), ends: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600, size: 'max' }), (steps) => {
        let onDisk: readonly TransactionPlace[] | undefined;
        const places = new TransactionPlaces(undefined, (all) => {
          onDisk = all;
        });
        for (const { evse, transaction, ends } of steps) {
          if (ends) places.ended(transaction);
          else places.began(transaction, evse);
          expect(places.evseOf(transaction)).toBe(ends ? undefined : evse);
          expect(new TransactionPlaces(onDisk, () => {}).evseOf(transaction)).toBe(ends ? undefined : evse);
          expect(onDisk?.length ?? 0).toBeLessThanOrEqual(100);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('are recorded in memory if the disk cannot be written, and transactions go on', async () => {
    const dataDir = temporaryDirectory();
    mkdirSync(join(dataDir, `${FILE}.new`));
    running = await runOcppSite({ dataDir });
    const { client, gateway } = running;
    const its = client({ protocols: ['ocpp2.0.1'] });
    await its.connect();
    const event = {
      eventType: 'Started',
      triggerReason: 'CablePluggedIn',
      seqNo: 0,
      timestamp: '2026-06-01T17:00:00Z',
    };
    const transactionInfo = { transactionId: 'tx-1', chargingState: 'Charging' };
    await its.call('TransactionEvent', { ...event, evse: { id: 1 }, transactionInfo });
    expect(gateway.bridges[0]?.session.leaseAt(1)?.transaction).toBe('tx-1');
  });
});
