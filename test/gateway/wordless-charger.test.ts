// A charger that cannot be triggered to send a message is prepared for leases without one.
import { createRPCError } from 'ocpp-rpc';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { type OcppSite, runOcppSite } from './ocpp-site.js';

let running: OcppSite;

afterEach(() => running.stop());

it.each([
  ['ocpp1.6', 'GetConfiguration'],
  ['ocpp2.0.1', 'GetVariables'],
  ['ocpp2.1', 'GetVariables'],
])(
  'A charger with %s that answers triggers with errors is still asked for its capabilities',
  async (protocol, reading) => {
    running = await runOcppSite();
    const client = running.client({ protocols: [protocol] });
    const asked: string[] = [];
    client.handle(({ method = '' }) => {
      asked.push(method);
      throw createRPCError(method === 'TriggerMessage' ? 'InternalError' : 'NotSupported');
    });
    await client.connect();
    await eventually(() => expect(asked).toContain(reading));
    expect(asked.slice(0, 3)).toEqual(['TriggerMessage', 'TriggerMessage', reading]);
  },
);
