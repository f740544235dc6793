// Extension: the limits to which a location will be held over time, and the rule that sets each.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LocationId } from '../../machines/values/ids.js';
import { clusterDetailSchema, clusterSchema } from '../../src/features/clusters/contract.js';
import { locationTimelineSchema } from '../../src/features/locations/contract.js';
import { bodyOf, refusalOf } from './answers.js';
import { at, NOW_MS, type OperatedService, runOperatedService } from './operator-answers.js';
import { HARBOUR, site, tenantWith } from './running-service.js';

const SITES = [
  'plain',
  'stacked',
  'wide',
  'shared',
  'partner',
  'idle',
  'cut',
  'ended',
  'held',
  'tried',
  'beside',
];

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

const TODAY = `from=${at('12:00')}&to=${at('18:00')}`;

async function submit(locationId: string, priority: number, limitKw: number, from: string, to: string) {
  const body = { priority, limitKw, startTime: at(from), endTime: at(to) };
  const answer = await service.call('POST', `/locations/${locationId}/schedules`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

async function timelineOf(locationId: string, query = TODAY) {
  return service.read(`/locations/${locationId}/timeline?${query}`, locationTimelineSchema);
}

/** Segments as `[start, limit, cause]`, the start as a time of the day. */
async function rowsOf(locationId: string, query = TODAY) {
  const { segments } = await timelineOf(locationId, query);
  return segments.map(({ startTime, limitKw, cause }) => [startTime.slice(11, 16), limitKw, cause.kind]);
}

describe('GET /locations/{locationId}/timeline', () => {
  it('is the permanent limit for a day from now where nothing is scheduled', async () => {
    const timeline = await service.read('/locations/plain/timeline', locationTimelineSchema);
    expect(timeline).toEqual({
      locationId: 'plain',
      from: at('12:00'),
      to: '2026-06-02T12:00:00.000Z',
      nextFrom: null,
      segments: [
        {
          startTime: at('12:00'),
          endTime: '2026-06-02T12:00:00.000Z',
          limitKw: 50,
          effectiveLimitKw: 50,
          cause: { kind: 'permanentLimit' },
        },
      ],
    });
  });

  it('names the highest-priority profile of each stretch, without gaps (1)', async () => {
    await submit('stacked', 1, 30, '13:00', '16:00');
    await submit('stacked', 5, 20, '14:00', '15:00');
    expect(await rowsOf('stacked')).toEqual([
      ['12:00', 50, 'permanentLimit'],
      ['13:00', 30, 'profile'],
      ['14:00', 20, 'profile'],
      ['15:00', 30, 'profile'],
      ['16:00', 50, 'permanentLimit'],
    ]);
    const { segments } = await timelineOf('stacked');
    expect(segments[2]?.cause).toEqual({
      kind: 'profile',
      priority: 5,
      startTime: at('14:00'),
      endTime: at('15:00'),
    });
    for (const [i, { endTime }] of segments.entries())
      expect(endTime).toBe(segments[i + 1]?.startTime ?? at('18:00'));
  });

  it('names the physical connection where it is the tighter one, and the limit it hides', async () => {
    await submit('wide', 0, 200, '13:00', '14:00');
    const { segments } = await timelineOf('wide');
    expect(segments[1]).toMatchObject({
      limitKw: 80,
      effectiveLimitKw: 200,
      cause: { kind: 'physicalConnection' },
    });
  });

  it("names the cluster where its share is the tighter one, and follows the members' windows (2.8)", async () => {
    const request = { name: 'Both', locationIds: ['shared', 'partner'], limitKw: 50 };
    const { clusterId } = bodyOf(await service.call('POST', '/clusters', request), clusterSchema, 201);
    await submit('partner', 0, 12.5, '14:00', '15:00');
    await submit('partner', 1, 0.1, '15:00', '16:00');
    expect(await rowsOf('shared')).toEqual([
      ['12:00', 25, 'clusterShare'],
      ['14:00', 40, 'clusterShare'],
      // 50 × 50 / 50.1, rounded to whole watts for the grant.
      ['15:00', 49.9, 'clusterShare'],
      ['16:00', 25, 'clusterShare'],
    ]);
    const { segments } = await timelineOf('shared');
    expect(segments[0]?.cause).toEqual({ kind: 'clusterShare', clusterId });
    const { liveStatus } = bodyOf(await service.call('GET', `/clusters/${clusterId}`), clusterDetailSchema);
    expect(liveStatus.locations[0]?.effectiveLimitKw).toBe(segments[0]?.limitKw);
    await service.call('PATCH', `/clusters/${clusterId}`, { status: 'INACTIVE' });
    expect(await rowsOf('shared')).toEqual([['12:00', 50, 'permanentLimit']]);
  });

  it('ends after a thousand segments, with the begin of the next request', async () => {
    const crowd = Array.from({ length: 100 }, (_, i) => `crowd-${i}` as LocationId);
    const crowded = await runOperatedService([
      tenantWith(
        HARBOUR,
        crowd.map((id) => site(id)),
      ),
    ]);
    await crowded.call('POST', '/clusters', { name: 'Crowd', locationIds: crowd, limitKw: 1000 });
    // Each window begins and ends at its own instants, which change all members' shares.
    const submissions = crowd.flatMap((locationId, i) =>
      Array.from({ length: 11 }, (_, priority) => {
        const startsAtMs = NOW_MS + 60_000 + 1000 * (i * 11 + priority);
        const profile = { priority, limitKw: 20 + priority, startsAtMs, endsAtMs: startsAtMs + 7_200_500 };
        const target = { kind: 'location', locationId } as const;
        return { kind: 'profile.put', target, profile, atMs: NOW_MS } as const;
      }),
    );
    await crowded.store.append(HARBOUR, submissions);
    const again = await crowded.restart({ clock: crowded.clock });
    const ask = async (from: string) => {
      const answer = await again.call('GET', `/locations/crowd-0/timeline?from=${from}&to=${at('18:00')}`);
      return bodyOf(answer, locationTimelineSchema);
    };
    const first = await ask(at('12:00'));
    expect(first.segments).toHaveLength(1000);
    expect(first.nextFrom).toBe(first.segments.at(-1)?.endTime);
    expect(first.to).toBe(first.nextFrom);
    const rest = await ask(first.to);
    expect(rest).toMatchObject({ nextFrom: null, to: at('18:00') });
    expect(rest.segments[0]?.startTime).toBe(first.to);
    // Of a hundred members, eleven windows that begin and one that ends, and the time before.
    expect(first.segments.length + rest.segments.length).toBe(1201);
    await again.stop();
  });

  it('refuses a span that ends before it begins, one that is too long, and malformed instants', async () => {
    const refused = async (query: string) =>
      refusalOf(await service.call('GET', `/locations/idle/timeline?${query}`), 'INVALID_REQUEST_BODY');
    expect(await refused(`from=${at('13:00')}&to=${at('13:00')}`)).toMatch(/^to: /);
    expect(await refused(`to=${at('11:00')}`)).toMatch(/^to: /);
    expect(await refused(`from=${at('12:00')}&to=2028-01-01T00:00:00Z`)).toBe(
      'from: must be at most 366 days before to (query parameter)',
    );
    expect(await refused('from=tomorrow')).toMatch(/^from: must be an RFC 3339 date-time/);
    expect(await refused(`from=${at('12:00')}&from=${at('13:00')}`)).toBe(
      'from: given more than once; give it once (query parameter)',
    );
    expect(await refused('from=&to=')).toMatch(/^from: .*; to: /);
  });

  it('shows the effect of a change, with the shares that follow from it, and writes nothing', async () => {
    const cluster = { name: 'Tried', locationIds: ['tried', 'beside'], limitKw: 50 };
    await service.call('POST', '/clusters', cluster);
    const window = `withStartTime=${at('13:00')}&withEndTime=${at('14:00')}`;
    expect(await rowsOf('tried', `${TODAY}&${window}&withLimitKw=150&withPriority=2`)).toEqual([
      ['12:00', 25, 'clusterShare'],
      ['13:00', 37.5, 'clusterShare'],
      ['14:00', 25, 'clusterShare'],
    ]);
    expect(await rowsOf('tried', `${TODAY}&withPermanentLimitKw=10`)).toEqual([
      // 10 × 50 / 60, rounded to whole watts for the grant.
      ['12:00', 8.333, 'clusterShare'],
    ]);
    expect(await rowsOf('tried')).toEqual([['12:00', 25, 'clusterShare']]);
    const body = { startTime: at('13:00'), endTime: at('14:00'), limitKw: 150, priority: 7 };
    await service.call('POST', '/locations/tried/schedules', body);
    expect(await rowsOf('tried', `${TODAY}&withoutPriority=7`)).toEqual([['12:00', 25, 'clusterShare']]);
    expect(await rowsOf('tried', `${TODAY}&withoutPriority=6`)).toHaveLength(3);
    await service.call('DELETE', '/locations/tried/schedules/7');
    expect((await service.call('GET', '/locations/tried/limits')).body.profiles).toEqual([]);
  });

  it.each([
    ['withLimitKw=0', /^withLimitKw: /],
    ['withLimitKw=ten', /^withLimitKw: must be a number greater than 0/],
    ['withPermanentLimitKw=-1', /^withPermanentLimitKw: /],
    ['withPriority=11', /^withPriority: /],
    ['withPriority=0x1', /^withPriority: must be a whole number from 0 to 10/],
    ['withLimitKw=1e3', /^withLimitKw: must be/],
    ['withoutPriority=-1', /^withoutPriority: /],
    ['withLimitKw=5', /^withStartTime: required/],
    ['withPriority=5', /^withLimitKw: required/],
    ['withLimitKw=5&withStartTime=2030-01-01T00:00:00Z', /^withEndTime: required/],
    [
      'withLimitKw=5&withStartTime=2030-01-02T00:00:00Z&withEndTime=2030-01-01T00:00:00Z',
      /^withEndTime: must be after withStartTime \(query parameter\)$/,
    ],
    [
      'withLimitKw=5&withStartTime=2020-01-01T00:00:00Z&withEndTime=2020-01-02T00:00:00Z',
      /^withEndTime: must be in the future/,
    ],
  ])('refuses to try an invalid change: %s', async (query, message) => {
    const answer = await service.call('GET', `/locations/plain/timeline?${query}`);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(message);
  });

  it('answers 404 for a location that is unknown', async () => {
    refusalOf(await service.call('GET', '/locations/nowhere/timeline'), 'LOCATION_NOT_FOUND');
  });
});

describe('the timeline after a profile was replaced by a shorter one (3.1)', () => {
  it('follows the new one alone: of a window that was cut to a millisecond, that is left', async () => {
    await submit('cut', 3, 10, '13:00', '15:00');
    await submit('cut', 3, 50, '13:00', '13:00:00.001');
    const { segments } = await timelineOf('cut');
    expect(segments.map(({ limitKw }) => limitKw)).toEqual([50, 50, 50]);
    expect(segments[1]).toMatchObject({ startTime: at('13:00'), endTime: at('13:00:00.001') });
  });

  it('ends where the new one ends: an active window that was cut to the next five seconds', async () => {
    await submit('ended', 3, 10, '11:00', '15:00');
    await submit('ended', 3, 10, '11:00', '12:00:05');
    expect(await rowsOf('ended')).toEqual([
      ['12:00', 10, 'profile'],
      ['12:00', 50, 'permanentLimit'],
    ]);
  });
});
