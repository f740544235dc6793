// A car that charges over restarts of gateway and charger is one session.
import { afterEach, expect, it } from 'vitest';
import { sessionSchema } from '../../src/features/departures/contract.js';
import { sessionListSchema } from '../../src/features/sessions/contract.js';
import { temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { bodyOf } from '../service/answers.js';
import { type OcppSite, runOcppSite } from './ocpp-site.js';

let running: OcppSite | undefined;

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

it.each(['ocpp1.6', 'ocpp2.0.1'] as const)(
  'A car goes on in one session over a restart of its %s gateway',
  async (protocol) => {
    running = await runOcppSite({ dataDir: temporaryDirectory() });
    const { charger, gateway, nextGateway, service } = running;
    charger({ protocol });
    const session = async () =>
      bodyOf(await service.call('GET', '/chargers/quay-a/connectors/1/session'), sessionSchema);
    await eventually(async () => expect((await session()).deliveredKwh).toBeGreaterThan(0.005));
    const before = await session();
    expect(before.idTag).toBe('VIRTUAL');
    await gateway.stop();
    await nextGateway();
    await eventually(async () =>
      expect((await session()).deliveredKwh).toBeGreaterThan(before.deliveredKwh + 0.005),
    );
    expect(await session()).toMatchObject({ sessionId: before.sessionId, idTag: 'VIRTUAL' });
    expect(bodyOf(await service.call('GET', '/sessions'), sessionListSchema).sessions).toEqual([]);
  },
);
