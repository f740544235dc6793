// The messages to an operator about a provisioning file: all problems at once, each with its place.
import { describe, expect, it } from 'vitest';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { problemsOf } from './problems.js';

const HARBOUR = `tenants:
  - tenantUuid: 0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10
    name: Harbour Charging
    features: [energy-management]
    apiKeys:
      - { key: hr_demo0001_3vQm8Lr2Xc5Tz9Wb4Kd7, scopes: [locations:read], expiresAt: 2027-01-01T00:00:00Z }
      - {}
    clients:
      - { clientId: harbour-backend, clientSecret: "s3cret-of-backend", scopes: [locations:read, locations:write] }
    locations:
      - locationId: quay-1
        name: Quay 1
        status: ACTIVE
        permanentLimitKw: 50
        gridLimitKw: 80
        chargers:
          - controllerUuid: q1-a
            mqttPassword: "pw-of-charger-a"
            connectors:
              - { connectorId: "1", phases: 3, voltageV: 230, maxCurrentA: 32, status: ACTIVE, failsafeA: 6 }
          - controllerUuid: q1-b
            connectors:
              - { connectorId: "1", phases: 1, maxCurrentA: 16 }
    gateways:
      - { gatewayId: quay-gateway, controllers: [q1-a, q1-b] }
`;

/** The file with one line or word changed. */
function harbourWith(from: string, to: string): string {
  expect(HARBOUR).toContain(from);
  return HARBOUR.replace(from, to);
}

describe('A provisioning file', () => {
  it('provides every field, with defaults for optional ones', () => {
    const [tenant] = parseProvisioning(HARBOUR, 'site.yaml').tenants;
    expect(tenant?.apiKeys[0]).toEqual({
      key: 'hr_demo0001_3vQm8Lr2Xc5Tz9Wb4Kd7',
      scopes: ['locations:read'],
      expiresAt: Date.UTC(2027, 0, 1),
    });
    expect(tenant?.apiKeys[1]?.scopes).toHaveLength(6);
    expect(tenant?.locations[0]?.chargers[1]?.connectors).toEqual([
      {
        connectorId: '1',
        phases: 1,
        voltageV: 230,
        maxCurrentA: 16,
        failsafeA: 6,
        status: 'ACTIVE',
        neverPause: false,
        operatorMayPause: false,
        dc: null,
        departures: null,
      },
    ]);
    expect(tenant?.gateways[0]?.controllers).toEqual(['q1-a', 'q1-b']);
  });

  it('lets the grid operator pause a locked connector only if the connector sets operatorMayPause', () => {
    const marked = HARBOUR.replace('maxCurrentA: 16 }', 'maxCurrentA: 16, operatorMayPause: true }');
    const { chargers } = parseProvisioning(marked, 'site.yaml').tenants[0]?.locations[0] ?? { chargers: [] };
    const said = chargers.flatMap(({ connectors }) => connectors.map((each) => each.operatorMayPause));
    expect(said).toEqual([false, true]);
    const wrong = HARBOUR.replace('maxCurrentA: 16 }', 'maxCurrentA: 16, operatorMayPause: 1 }');
    expect(() => parseProvisioning(wrong, 'site.yaml')).toThrow(
      'operatorMayPause: is 1; must be true or false',
    );
  });

  it('allows pausing of a car unless its connector sets neverPause', () => {
    const marked = HARBOUR.replace('maxCurrentA: 16 }', 'maxCurrentA: 16, neverPause: true }');
    const { chargers } = parseProvisioning(marked, 'site.yaml').tenants[0]?.locations[0] ?? { chargers: [] };
    expect(chargers.flatMap(({ connectors }) => connectors.map(({ neverPause }) => neverPause))).toEqual([
      false,
      true,
    ]);
    const wrong = HARBOUR.replace('maxCurrentA: 16 }', 'maxCurrentA: 16, neverPause: sometimes }');
    expect(() => parseProvisioning(wrong, 'site.yaml')).toThrow(
      'neverPause: is "sometimes"; must be true or false',
    );
  });

  it('accepts a tenant with only an id and a name', () => {
    const { tenants } = parseProvisioning('tenants: [{ tenantUuid: t, name: T }]', 'site.yaml');
    expect(tenants).toEqual([
      { tenantUuid: 't', name: 'T', features: [], apiKeys: [], clients: [], locations: [], gateways: [] },
    ]);
  });

  it('follows YAML anchors', () => {
    const text = `tenants:
  - tenantUuid: t
    name: T
    locations:
      - locationId: a
        name: A
        permanentLimitKw: 1
        chargers:
          - { controllerUuid: c1, connectors: &sockets [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
          - { controllerUuid: c2, connectors: *sockets }
`;
    const chargers = parseProvisioning(text, 'site.yaml').tenants[0]?.locations[0]?.chargers;
    expect(chargers?.[1]?.connectors).toEqual(chargers?.[0]?.connectors);
  });

  it.each([
    ['name: Quay 1', 'nmae: Quay 1', '12:9', 'nmae', 'is not a field known here; did you mean "name"?'],
    [
      'permanentLimitKw: 50',
      'permanentLimitKw: 0',
      '14:9',
      'permanentLimitKw',
      'is 0; must be a number greater than 0',
    ],
    [
      'permanentLimitKw: 50',
      'permanentLimitKw: "50"',
      '14:9',
      'permanentLimitKw',
      'is "50"; must be a number',
    ],
    ['name: Quay 1', 'name: "Quay \\0"', '12:9', 'name', 'must not contain the NUL character'],
    ['name: Quay 1', 'name: "Quay \\ud83d"', '12:9', 'name', 'half a surrogate pair'],
    ['permanentLimitKw: 50', 'permanentLimitKw: .nan', '14:9', 'permanentLimitKw', 'must be a number'],
    ['        permanentLimitKw: 50\n', '', '11:9', 'permanentLimitKw', 'is missing; must be a number'],
    [
      'locationId: quay-1',
      'locationId: quay/1',
      '11:9',
      'locationId',
      'is "quay/1"; must be text of 1 to 128',
    ],
    ['status: ACTIVE\n', 'status: active\n', '13:9', 'status', 'is "active"; must be ACTIVE or INACTIVE'],
    [
      'connectorId: "1", phases: 3',
      'connectorId: 1, phases: 3',
      '20:19',
      'connectorId',
      'write it in quotes: "1"',
    ],
    ['phases: 3', 'phases: 2', '20:37', 'phases', 'is 2; must be 1 or 3'],
    ['failsafeA: 6', 'failsafeA: 3', '20:96', 'failsafeA', 'is 3; must be 0, or from 6 up to maxCurrentA'],
    ['failsafeA: 6', 'failsafeA: 33', '20:96', 'failsafeA', 'is 33; must be at most maxCurrentA (32)'],
    [
      'controllerUuid: q1-b',
      'controllerUuid: q1-b\n            heartbeatS: 30\n            leaseTtlS: 89',
      '23:13',
      'leaseTtlS',
      'is 89; must be at least 90, because a lease must outlast three heartbeats of 30 s',
    ],
    [
      'gridLimitKw: 80',
      'gridLimitKw: 80\n        leaseTtlS: 180',
      '11:9',
      'heartbeatS',
      'is missing; heartbeatS and leaseTtlS go together',
    ],
    [
      'gridLimitKw: 80',
      'gridLimitKw: 80\n        heartbeatS: 0.5\n        leaseTtlS: 180',
      '16:9',
      'heartbeatS',
      'is 0.5; must be a whole number from 1 to 3600',
    ],
    ['maxCurrentA: 32', 'maxCurrentA: 5', '20:63', 'maxCurrentA', 'is 5; must be a number from 6 to 1000'],
    ['[energy-management]', '[energy-managment]', '4:16', 'features[0]', 'must be energy-management'],
    ['clientId: harbour-backend, ', '', '9:9', 'clientId', 'is missing'],
    ['2027-01-01T00:00:00Z', '2027-01-01', '6:76', 'expiresAt', 'must be an RFC 3339 date-time in UTC'],
    [
      'controllers: [q1-a, q1-b]',
      'controllers: [q1-a, q1-c]',
      '25:56',
      'controllers[1]',
      'is "q1-c"; must be the controllerUuid',
    ],
    ['controllerUuid: q1-b', 'controllerUuid: q1-a', '21:13', 'controllerUuid', '"q1-a" is already used by'],
    ['gatewayId: quay-gateway', 'gatewayId: q1-a', '25:11', 'gatewayId', '"q1-a" is already used by'],
  ])('with %j replaced by %j is refused at its line and field', (from, to, place, field, message) => {
    const problems = problemsOf(harbourWith(from, to)).filter((line) => line.includes(message));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^site\\.yaml:${place} tenants\\[0\\]\\.\\S*`));
    expect(problems[0]?.split(': ')[0]).toMatch(new RegExp(`${field.replace(/[[\]]/g, '\\$&')}$`));
  });

  it('gives a charger its own heartbeat and lease, or those of its location', () => {
    const both = 'heartbeatS: 30\n            leaseTtlS: 180';
    const text = harbourWith('gridLimitKw: 80', 'heartbeatS: 20\n        leaseTtlS: 60').replace(
      'controllerUuid: q1-b',
      `controllerUuid: q1-b\n            ${both}`,
    );
    const [location] = parseProvisioning(text, 'site.yaml').tenants[0]?.locations ?? [];
    expect(location?.chargers.map(({ timing }) => timing)).toEqual([
      { heartbeatMs: 20_000, ttlMs: 60_000 },
      { heartbeatMs: 30_000, ttlMs: 180_000 },
    ]);
    expect(parseProvisioning(HARBOUR, 'site.yaml').tenants[0]?.locations[0]?.chargers[0]).not.toHaveProperty(
      'timing',
    );
  });

  it('reports all its errors at once, in the order of the file', () => {
    const text = HARBOUR.replace('name: Harbour', 'nam: Harbour')
      .replace('phases: 3', 'phases: 4')
      .replace('controllerUuid: q1-b', 'controllerUuid: q1-a')
      .replace('gridLimitKw: 80', 'gridLimitKw: -1');
    const lines = problemsOf(text).map((problem) => Number(problem.split(':')[1]));
    expect(lines).toEqual([2, 3, 15, 20, 21, 25]);
  });

  it('never repeats a secret in an error', () => {
    const problems = problemsOf(
      harbourWith('hr_demo0001_3vQm', 'hr_demo_3vQm').replace(
        'mqttPassword: "pw-of-charger-a"',
        'mqttPassword: 4711',
      ),
    );
    expect(problems).toHaveLength(2);
    expect(problems.join('\n')).not.toMatch(/3vQm|4711/);
  });

  it.each(['1', 'eleven-char', 'aaaaaaaaaaaaaaa', 'abcabcabcabcabc', '123456789012', 'x-x-x-x-x-x-x-x'])(
    'refuses %s as a password or client secret, and names the field and the remedy',
    (secret) => {
      const text = HARBOUR.replace('"pw-of-charger-a"', `"${secret}"`)
        .replace('"s3cret-of-backend"', `"${secret}"`)
        .replace('gatewayId: quay-gateway,', `gatewayId: quay-gateway, mqttPassword: "${secret}",`);
      const problems = problemsOf(text);
      expect(problems.map((problem) => problem.split(' ')[1])).toEqual([
        'tenants[0].clients[0].clientSecret:',
        'tenants[0].locations[0].chargers[0].mqttPassword:',
        'tenants[0].gateways[0].mqttPassword:',
      ]);
      for (const problem of problems) {
        expect(problem).toMatch(/: is not usable; must be text of 12 to 256 characters, .*; leave it out to/);
        expect(problem).not.toContain(`"${secret}"`);
      }
    },
  );

  it.each(['aaaaaaaaaaaaaaaa', '0123456789012345', 'abcdabcdabcdabcd'])(
    'refuses an API key that ends in %s',
    (secret) => {
      const problems = problemsOf(harbourWith('3vQm8Lr2Xc5Tz9Wb4Kd7', secret));
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatch(/apiKeys\[0\]\.key: is not usable; after hr_.* must be text of 12/);
    },
  );

  it('refuses ids used twice: tenants, keys and clients in the file, connectors on their charger', () => {
    const text = `tenants:
  - { tenantUuid: t, name: A, apiKeys: [{ key: hr_demo0001_abcdefgh12345678 }], clients: [{ clientId: c }] }
  - tenantUuid: t
    name: B
    apiKeys: [{ key: hr_demo0001_hgfedcba87654321 }]
    clients: [{ clientId: c }]
    locations:
      - locationId: l
        name: L
        permanentLimitKw: 1
        chargers:
          - controllerUuid: x
            connectors:
              - { connectorId: "1", phases: 3, maxCurrentA: 32 }
              - { connectorId: "1", phases: 3, maxCurrentA: 32 }
      - { locationId: l, name: L, permanentLimitKw: 1 }
`;
    expect(problemsOf(text).map((line) => line.split(': ')[0])).toEqual([
      'site.yaml:3:5 tenants[1].tenantUuid',
      'site.yaml:5:17 tenants[1].apiKeys[0].key',
      'site.yaml:6:17 tenants[1].clients[0].clientId',
      'site.yaml:15:19 tenants[1].locations[0].chargers[0].connectors[1].connectorId',
      'site.yaml:16:11 tenants[1].locations[1].locationId',
    ]);
  });

  it('may use the same location and charger ids in two tenants', () => {
    const tenant = (id: string) => `
  - tenantUuid: ${id}
    name: T
    locations:
      - locationId: l
        name: L
        permanentLimitKw: 1
        chargers: [{ controllerUuid: c, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }]`;
    expect(problemsOf(`tenants:${tenant('a')}${tenant('b')}`)).toEqual([]);
  });

  it.each([
    ['', /^site\.yaml:1:1 file: is empty; must be a group of fields that begins with "tenants:"$/],
    ['just words', /^site\.yaml:1:1 file: is "just words"; must be a group of fields/],
    ['tenants: []', /^site\.yaml:1:1 tenants: is a list; must name at least one tenant$/],
    ['tenants: {}', /^site\.yaml:1:1 tenants: is a group of fields; must be a list$/],
    ['tenants:\n  - name: "open', /^site\.yaml:2:\d+ YAML: Missing closing "quote$/],
    ['tenants:\n  - { name: a, name: b }', /^site\.yaml:2:\d+ YAML: Map keys must be unique$/],
    ['tenants: {}\n---\ntenants: {}', /^site\.yaml:2:1 YAML: must be one document; another begins here$/],
    ['tenants:\n  - name: Stra\ufffde', /^site\.yaml:2:1 YAML: is not UTF-8; save the file as UTF-8$/],
    ['tenants: *nowhere', /^site\.yaml.* YAML: Unresolved alias/],
    ['tenants: [{ __proto__: { name: T }, tenantUuid: t, name: T }]', /__proto__: is not a field known here/],
  ])('that is %j is refused with one readable line', (text, message) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
  });
});
