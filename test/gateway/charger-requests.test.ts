// Requests of the gateway in each version of OCPP: the abilities that a charger reports, and the names in alarms.
import { describe, expect, it } from 'vitest';
import { performRequest } from '../../src/gateway/charger-dialect.js';
import { ChargerRequests } from '../../src/gateway/ocpp/charger-requests.js';
import type { Call } from '../../src/gateway/ocpp/ocpp-dialect.js';
import { ocpp201Requests } from '../../src/gateway/ocpp2/dialect.js';
import { OCPP16_REQUESTS } from '../../src/gateway/ocpp16/dialect.js';

const KEYS = {
  maxStackLevel: ['ChargeProfileMaxStackLevel', 'ProfileStackLevel'],
  maxPeriods: ['ChargingScheduleMaxPeriods', 'PeriodsPerSchedule'],
  ignored: ['IgnoredProfilePurposesOffline', 'IgnoredProfilePurposesOffline'],
} as const;
type Reported = Partial<Record<keyof typeof KEYS, string>>;

const VERSIONS = [
  ['ocpp1.6', OCPP16_REQUESTS, 0],
  ['ocpp2.0.1', ocpp201Requests({ offlineDuration: false }), 1],
] as const;

/** A charger that reports those settings, and the parameters of the calls that reach it. */
function reporting(nth: 0 | 1, reported: Reported) {
  const values = Object.entries(reported).map(
    ([name, value]) => [KEYS[name as keyof typeof KEYS][nth], value] as const,
  );
  const calls: string[] = [];
  const call: Call = async (method, params) => {
    calls.push(JSON.stringify(params));
    if (method === 'GetConfiguration')
      return { configurationKey: values.map(([key, value]) => ({ key, readonly: true, value })) };
    if (method !== 'GetVariables') return { status: 'Accepted' };
    const getVariableResult = values.map(([name, attributeValue]) => ({
      attributeStatus: 'Accepted',
      attributeValue,
      variable: { name },
    }));
    return { getVariableResult: [...getVariableResult, UNKNOWN] };
  };
  return { call, calls };
}
const UNKNOWN = { attributeStatus: 'UnknownVariable', variable: { name: 'Enabled' } };

describe.each(VERSIONS)('In %s', (_, words, nth) => {
  it.each([
    ['one period', { maxPeriods: '1' }, 'it takes one period only, so that no limit ever ends'],
    [
      'one stack level',
      { maxStackLevel: '0' },
      'it has one stack level only, so that no lease fits above its fail-safe',
    ],
    [
      'no profiles offline',
      { ignored: 'TxProfile' },
      'IgnoredProfilePurposesOffline: it keeps to no limits while it is offline',
    ],
  ])('a charger with %s cannot let a limit end', async (_setting, reported: Reported, why) => {
    const { call } = reporting(nth, reported);
    const { hindrance } = await new ChargerRequests(words, call, { maxStackLevel: 1 }).readAbilities();
    expect(hindrance?.why).toBe(why);
  });

  it('a lease has the highest stack level that the charger reported, also on its next connection', async () => {
    const { call, calls } = reporting(nth, { maxStackLevel: '7', maxPeriods: '4' });
    const levels = { maxStackLevel: 1 };
    const { hindrance, summary } = await new ChargerRequests(words, call, levels).readAbilities();
    expect(hindrance).toBeUndefined();
    expect(summary).toBe('stack levels up to 7, 4 periods');
    const schedule = { unit: 'A', phases: 3, counted: 0, limit: 16, endsAfterS: 70, thenLimit: 6 } as const;
    await new ChargerRequests(words, call, levels).setLease({
      kind: 'setLease',
      evse: 1,
      slot: 'default',
      transaction: undefined,
      schedule: { ...schedule, startsAtOwnMs: 0 },
      endsAtMs: 0,
    });
    expect(calls.at(-1)).toContain('"stackLevel":7');
  });

  it('the state of charge is requested of a DC charger, and left out if the charger refuses it', async () => {
    const lists: string[] = [];
    const call: Call = async (_method, params) => {
      const text = JSON.stringify(params);
      if (text.includes('Power.Active')) lists.push(text);
      const status = text.includes('SoC') ? 'Rejected' : 'Accepted';
      return nth === 0 ? { status } : { setVariableResult: [{ attributeStatus: status }] };
    };
    const dialect = new ChargerRequests(words, call, { maxStackLevel: 1 });
    await dialect.sample({ kind: 'sample', everyS: 10, withSoc: true });
    expect(lists[0]).toContain(',SoC"');
    expect(lists.at(-1)).not.toContain('SoC');
    lists.splice(0);
    await dialect.sample({ kind: 'sample', everyS: 10, withSoc: false });
    expect(lists).toHaveLength(1);
    expect(lists[0]).not.toContain('SoC');
  });

  it('an unanswered request has the name of its method', async () => {
    const call = () => Promise.reject(new Error('no answer came'));
    const dialect = new ChargerRequests(words, call, { maxStackLevel: 1 });
    const request = { kind: 'readSchedule', evse: 1, durationS: 60, unit: 'A' } as const;
    const answer = { kind: 'failed', why: 'no answer came', name: 'GetCompositeSchedule' };
    expect(await performRequest(dialect, request)).toEqual(answer);
  });
});
