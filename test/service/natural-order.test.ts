// Lists show ids in their natural order, and one location of a list can be read alone.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConnectorId, ControllerUuid } from '../../machines/values/ids.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { locationListSchema, locationSummarySchema } from '../../src/features/locations/contract.js';
import { refusalOf } from './answers.js';
import { type OperatedService, runOperatedService } from './operator-answers.js';
import { HARBOUR, RIVAL, site, tenantWith } from './running-service.js';

const IN_ORDER = ['depot', 'quay-1', 'quay-02', 'quay-2', 'Quay-3', 'quay-10', 'quay-20', 'quay-100'];

/** `id` with chargers and connectors whose numbers have one and two digits. */
function largeSite(id: string): ReturnType<typeof site> {
  const { chargers, ...rest } = site(id);
  const numbered = ['10', '2', '1'].flatMap((number) =>
    chargers.map((charger) => ({
      ...charger,
      controllerUuid: `c-${number}` as ControllerUuid,
      connectors: ['11', '9'].flatMap((connectorId) =>
        charger.connectors
          .slice(0, 1)
          .map((connector) => ({ ...connector, connectorId: connectorId as ConnectorId })),
      ),
    })),
  );
  return { ...rest, chargers: numbered };
}

let service: OperatedService;
beforeAll(async () => {
  const sites = [...IN_ORDER].reverse().map((id) => (id === 'depot' ? largeSite(id) : site(id)));
  service = await runOperatedService([
    tenantWith(HARBOUR, sites),
    tenantWith(RIVAL, [site('theirs'), site('quay-1', { permanentLimitKw: 99 })]),
  ]);
});
afterAll(() => service.stop());

describe('GET /locations', () => {
  it.each([1, 2, 3, 7, 1000])('lists quay-2 before quay-10, in pages of %i that join', async (limit) => {
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { locations: { locationId: string }[]; nextCursor: string | null } = await service.read(
        `/locations?limit=${limit}&cursor=${cursor}`,
        locationListSchema,
      );
      seen.push(...page.locations.map(({ locationId }) => locationId));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(IN_ORDER);
  });
});

describe('GET /locations/{locationId}', () => {
  it('answers a location as the list has it', async () => {
    const { locations } = await service.read('/locations', locationListSchema);
    for (const listed of locations)
      expect(await service.read(`/locations/${listed.locationId}`, locationSummarySchema)).toEqual(listed);
  });

  it.each(['theirs', 'nowhere', 'quay-1%20', 'QUAY-1', '%00', 'q'.repeat(129), '..', '%7B%7D'])(
    'has no location %s',
    async (id) => {
      const answer = await service.call('GET', `/locations/${id}`);
      // A client resolves `..` itself, and so requests no location.
      refusalOf(answer, id === '..' ? 'NOT_FOUND' : 'LOCATION_NOT_FOUND');
    },
  );

  it('answers each tenant its own location of the same id, and no method but GET and HEAD', async () => {
    const read = async (tenant: typeof HARBOUR) =>
      locationSummarySchema.parse((await service.call('GET', '/locations/quay-1', undefined, tenant)).body)
        .permanentLimitKw;
    expect([await read(HARBOUR), await read(RIVAL)]).toEqual([50, 99]);
    refusalOf(await service.call('DELETE', '/locations/quay-1'), 'METHOD_NOT_ALLOWED');
    refusalOf(await service.call('PUT', '/locations/quay-1', { name: 'x' }), 'METHOD_NOT_ALLOWED');
  });
});

describe('GET /locations/{locationId}/live', () => {
  it('lists chargers and their connectors by number', async () => {
    const { connectors } = await service.read('/locations/depot/live', locationLiveSchema);
    expect(connectors.map(({ controllerUuid, connectorId }) => `${controllerUuid}/${connectorId}`)).toEqual([
      'c-1/9',
      'c-1/11',
      'c-2/9',
      'c-2/11',
      'c-10/9',
      'c-10/11',
    ]);
  });
});
