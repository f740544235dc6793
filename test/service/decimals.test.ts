// Numbers in answers have at most nine decimals: those of endpoints, of the event stream, and of the figures for
// Prometheus.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import { toJson } from '../../src/inbound/http/exchange.js';
import { eventually } from '../eventually.js';
import { readEvents } from '../inbound/http/event-reader.js';
import { bodyOf } from './answers.js';
import { at, NOW, type OperatedService, runOperatedService } from './operator-answers.js';
import { apiKeyOf, HARBOUR, site, tenantWith } from './running-service.js';

const SITES = ['quay-1', 'quay-2', 'quay-3'];
const LIMITS_KW = [0.1 + 0.2, 19.964, 13.309333333333333 * 3];

let service: OperatedService;
beforeAll(async () => {
  service = await runOperatedService([
    tenantWith(
      HARBOUR,
      SITES.map((id) => site(id)),
    ),
  ]);
});
afterAll(() => service.stop());

/** The numbers of `value`, at any depth. */
function numbersOf(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersOf) : [];
}

function expectShort(value: unknown): void {
  const long = numbersOf(value).filter((number) => number !== Number(number.toFixed(9)));
  expect(long).toEqual([]);
}

describe('Every answer and event', () => {
  it('has numbers of nine decimals, where limits and shares have more', async () => {
    const headers = { 'x-api-key': apiKeyOf(HARBOUR) };
    const reader = await readEvents(`${service.httpUrl}/v1/stream`, headers);
    for (const [i, id] of SITES.entries()) {
      const body = { limitKw: LIMITS_KW[i], startTime: NOW, endTime: at('18:00') };
      const answer = await service.call('POST', `/locations/${id}/schedules`, body);
      expect(answer.status).toBe(200);
      expectShort(answer.body);
    }
    const creation = { name: 'Harbour', locationIds: SITES, limitKw: 100 / 3 };
    const made = bodyOf(await service.call('POST', '/clusters', creation), clusterSchema, 201);
    expect(made.limitKw).toBe(33.333333333);
    const { body: cluster } = await service.call('GET', `/clusters/${made.clusterId}`);
    expect(cluster.liveStatus).toMatchObject({ sumLocationLimits: 60.192 });
    for (const path of ['/clusters', '/locations', ...pathsOf('quay-1'), ...pathsOf('quay-3')])
      expectShort((await service.call('GET', path)).body);
    expectShort(cluster);
    await eventually(() => expect(reader.of('gridLimit').length).toBeGreaterThanOrEqual(SITES.length));
    for (const { data } of reader.events) expectShort(data);
    reader.close();
  });
});

function pathsOf(locationId: string): string[] {
  return ['', '/limits', '/live', '/timeline', '/history', '/power'].map(
    (rest) => `/locations/${locationId}${rest}`,
  );
}

describe('The JSON of answers', () => {
  it('is the JSON of the same data with each number at nine decimals, and leaves text as it is', () => {
    const data = fc.object({
      values: [
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.string(),
        fc.constant('1.00000000001'),
        fc.constant(null),
      ],
      maxDepth: 3,
    });
    fc.assert(
      fc.property(data, (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(toJson(value))).toEqual(shortened(plain));
      }),
      { numRuns: 500 },
    );
  });
});

function shortened(value: unknown): unknown {
  // `toFixed` writes numbers from 1e21 on with an exponent, and those have no decimals. JSON has no minus zero.
  if (typeof value === 'number') return Number(value.toFixed(9)) + 0;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shortened);
  return Object.fromEntries(Object.entries(value).map(([name, held]) => [name, shortened(held)]));
}
