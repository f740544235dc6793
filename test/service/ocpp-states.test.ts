// From the state of a charger behind an OCPP gateway to GET …/live: shown to its tenant, and read by no decision.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SESSION_STATES } from '../../machines/values/session-state.js';
import type { ConnectorLive } from '../../src/features/live/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { type ChargerClient, connectCharger } from './charger-client.js';
import { type OperatedService, runOperatedService } from './operator-answers.js';
import { HARBOUR, RIVAL, site, tenantWith } from './running-service.js';

const OWN = { phases: 3, minA: 6, maxA: 32, failsafeA: 6, lease: 'none', keepsThen: true };
const NONE = { ocppState: null, whyNoLease: null };

let service: OperatedService;
let charger: ChargerClient;
beforeAll(async () => {
  service = await runOperatedService([
    tenantWith(HARBOUR, [site('quay-1'), site('harbour-only')]),
    tenantWith(RIVAL, [site('quay-1')]),
  ]);
  charger = await connectCharger(service.mqttUrl, 'quay-1');
});
afterAll(async () => {
  await charger.stop();
  await service.stop();
});

/** Sends the state of the charger, with `words` about its first connector. */
async function sendState(words: object, whole: object = {}): Promise<void> {
  const connectors = [
    { id: '1', ...OWN, ...words },
    { id: '2', ...OWN },
  ];
  const state = { v: 1, online: true, boot: 'boot-1', connectors, ...whole };
  // The rate of a charger's messages is limited.
  service.clock.advance(1_000);
  await charger.client.publishAsync(charger.topic('state'), JSON.stringify(state), { qos: 1, retain: true });
}

async function connectorsOf(tenantUuid = HARBOUR): Promise<readonly ConnectorLive[]> {
  const answer = await service.call('GET', '/locations/quay-1/live', undefined, tenantUuid);
  return bodyOf(answer, locationLiveSchema).connectors;
}

function showsFirst(words: object): Promise<unknown> {
  return eventually(async () => expect((await connectorsOf())[0]).toMatchObject(words));
}

async function malformedStates(): Promise<number> {
  const { values } = await service.metrics.mqttMessages.get();
  return values.find(({ labels }) => labels.kind === 'state' && labels.result === 'malformed')?.value ?? 0;
}

describe('The state of a connector behind an OCPP gateway', () => {
  beforeEach(async () => {
    await sendState({ ocppState: 'leased', lease: 'heartbeat' });
    await showsFirst({ ocppState: 'leased', whyNoLease: null });
  });

  it('is shown for its connector, with the reason against its lease, and for no other', async () => {
    const whyNoLease = 'it refuses charging profiles: Rejected';
    await sendState({ ocppState: 'unleased', whyNoLease });
    await showsFirst({ ocppState: 'unleased', whyNoLease });
    expect((await connectorsOf())[1]).toMatchObject(NONE);
  });

  it('is shown to its own tenant alone', async () => {
    const rivals = await connectorsOf(RIVAL);
    expect(rivals).toHaveLength(2);
    for (const connector of rivals) expect(connector).toMatchObject(NONE);
    const foreign = await service.call('GET', '/locations/harbour-only/live', undefined, RIVAL);
    expect(refusalOf(foreign, 'LOCATION_NOT_FOUND')).toBeDefined();
  });

  it('ends with the next state without it', async () => {
    await sendState({});
    await showsFirst(NONE);
  });

  it('ends with a state without connectors', async () => {
    await sendState({}, { connectors: undefined });
    await showsFirst(NONE);
  });

  it('ends when the charger goes offline, and also if that message repeats it', async () => {
    await sendState({ ocppState: 'leased' }, { online: false });
    await showsFirst({ ...NONE, link: 'offline' });
  });

  it('counts as none if the service does not know it, and the rest of the message counts', async () => {
    await sendState({ ocppState: 'updatingFirmware', whyNoLease: 'its firmware is updated' });
    await showsFirst({ ocppState: null, whyNoLease: 'its firmware is updated' });
  });

  it.each([[5], [null], [['leased']], [{ state: 'leased' }], ['x'.repeat(65)]])(
    'of a wrong type or length (%j) voids the whole message',
    async (ocppState) => {
      const before = await malformedStates();
      await sendState({ ocppState, whyNoLease: 'of a message without effect' });
      await eventually(async () => expect(await malformedStates()).toBe(before + 1));
      expect((await connectorsOf())[0]).toMatchObject({ ocppState: 'leased', whyNoLease: null });
    },
  );

  it('changes neither limits nor reserves', async () => {
    const decidedOf = async () =>
      (await connectorsOf()).map(({ limitA, limitKw, reservedKw, reason, throttle, link }) => [
        ...[limitA, limitKw, reservedKw],
        ...[reason, throttle, link],
      ]);
    await sendState({});
    await charger.meter('1', { powerW: 0, status: 'Charging' });
    await showsFirst({ ...NONE, link: 'online' });
    service.clock.advance(1_000);
    const without = await decidedOf();
    for (const ocppState of SESSION_STATES) {
      await sendState({ ocppState });
      await showsFirst({ ocppState });
      service.clock.advance(1_000);
      expect(await decidedOf()).toEqual(without);
    }
  });
});
