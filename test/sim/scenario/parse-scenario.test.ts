// Parsing of a scenario file: a complete scenario, or all its problems with their places.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import { UnusableFileError } from '../../../src/provisioning/parse-yaml.js';
import { parseApiKey } from '../../../src/secrets.js';
import { casesOf } from '../../seeds.js';

const QUAY = `name: Quay
seed: 7
start: 2026-06-01T08:00:00+02:00
duration: 24h
meterPeriod: 5s
transport: mqtt
provision:
  tenants:
    - tenantUuid: harbour
      name: Harbour Charging
      features: [energy-management]
      locations:
        - locationId: quay
          name: Quay
          permanentLimitKw: 50
          chargers:
            - { controllerUuid: q1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
            - { controllerUuid: q2, connectors: [{ connectorId: "1", phases: 1, maxCurrentA: 32, voltageV: 208 }] }
sessions:
  visits:
    - { connector: q1/1, arrives: "09:00", leaves: "11:00", energyKwh: 20, vehicle: van }
    - { connector: q1/1, arrives: "11:00", energyKwh: 0.5 }
vehicles:
  - { name: van, maxKw: 11, phases: 3, taper: none, reaction: [0.5s, 1s], stubborn: 0.5 }
  - { name: model, maxKw: 6.6, phases: 1, ideal: true, share: 2 }
actions:
  - at: "17:00"
    call: scheduleLocation
    params: { locationId: quay }
    body: { startTime: "17:00", endTime: +12h, limitKw: 20, priority: 5 }
  - at: +1h
    call: createCluster
    body: { name: yard, locationIds: [quay] }
    as: yard
  - at: +2h
    call: getCluster
    params: { clusterId: $yard.clusterId }
  - at: +3h
    call: getLocationPower
    params: { locationId: quay }
    query: { step: "900" }
    status: 400
faults:
  - { kind: loss, share: [0.1, 0.3], from: "10:00", until: -1h, locations: [quay] }
  - { kind: partition, for: 5m, every: [1h, 2h], chargers: [q2], direction: up }
  - { kind: serviceCrash, for: [1s, 20s], from: +4h }
expect:
  - { at: "17:00", location: quay, effectiveLimitKw: 20, powerKw: { atMost: 20 } }
  - { from: +1h, until: +2h, connector: q1/1, limitA: { atLeast: 6 }, reason: [fairShare, demand] }
  - { at: +5h, location: quay, alarmClosed: OFFLINE }
  - { energyShare: { atLeast: 0.9 }, violations: 0 }
`;

/** The first call of the file, and alternatives to it. */
const LIMITS = `call: scheduleLocation
    params: { locationId: quay }
    body: { startTime: "17:00", endTime: +12h, limitKw: 20, priority: 5 }`;
const ORDERS = `call: setOperatorLimit
    params: { locationId: quay }
    body: { source: grid, isActive: true, limitKw: 20, sentAt: "2026-06-01T15:00:00Z" }`;
const locks = (controllerUuid: string, connectorId: string) => `call: scheduleConnector
    params: { controllerUuid: ${controllerUuid}, connectorId: "${connectorId}" }
    body: { startTime: "17:00", endTime: +12h, limitKw: 20, priority: 5 }`;
const OTHER_TENANT = `    - tenantUuid: other
      name: Other
      features: [energy-management]
      locations:
        - locationId: pier
          name: Pier
          permanentLimitKw: 10
          chargers: [{ controllerUuid: p1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }]
`;

function problemsOf(text: string): readonly string[] {
  try {
    parseScenario(text, 'sim/quay.yaml');
  } catch (error) {
    if (error instanceof UnusableFileError) return error.problems;
    throw error;
  }
  return [];
}

/** The file with one piece changed. */
function quayWith(from: string, to: string): string {
  expect(QUAY).toContain(from);
  return QUAY.replace(from, () => to);
}

const START_MS = Date.parse('2026-06-01T06:00:00Z');
const HOUR_MS = 3_600_000;

describe('A scenario file', () => {
  const scenario = parseScenario(QUAY, 'sim/quay.yaml');

  it('gives its fields with all instants on one time axis', () => {
    expect(scenario).toMatchObject({
      name: 'Quay',
      seed: 7,
      transport: 'mqtt',
      meterPeriodMs: 5000,
      path: 'sim/quay.yaml',
      startsAtMs: START_MS,
      endsAtMs: START_MS + 24 * HOUR_MS,
      utcOffsetMs: 2 * HOUR_MS,
      vehicles: [
        { name: 'van', share: 1, taperFrom: 1, reactionMs: [500, 1000], stubbornShare: 0.5, isIdeal: false },
        { name: 'model', share: 2, taperFrom: 1, reactionMs: [0, 0], stubbornShare: 0, isIdeal: true },
      ],
      sessions: {
        kind: 'visits',
        visits: [
          {
            connectorKey: 'q1/1',
            arrivesAtMs: START_MS + HOUR_MS,
            leavesAtMs: START_MS + 3 * HOUR_MS,
            requestedWh: 20_000,
          },
          { connectorKey: 'q1/1', arrivesAtMs: START_MS + 3 * HOUR_MS, requestedWh: 500, vehicle: undefined },
        ],
      },
    });
    expect(scenario.connectors.map(({ key, voltageV }) => [key, voltageV])).toEqual([
      ['q1/1', 230],
      ['q2/1', 208],
    ]);
  });

  it('gives its calls in order of time, with instants in the format of the API', () => {
    expect(scenario.actions.map(({ operationId }) => operationId)).toEqual([
      ...['createCluster', 'getCluster', 'getLocationPower', 'scheduleLocation'],
    ]);
    expect(scenario.actions[3]).toMatchObject({
      atMs: START_MS + 9 * HOUR_MS,
      method: 'POST',
      path: '/v1/locations/{locationId}/schedules',
      tenantUuid: 'harbour',
      status: 200,
      where: 'sim/quay.yaml:27:5 actions[0]',
      body: { startTime: '2026-06-01T15:00:00.000Z', endTime: '2026-06-01T18:00:00.000Z', limitKw: 20 },
    });
    expect(scenario.actions.map(({ status }) => status)).toEqual([201, 200, 400, 200]);
    expect(scenario.actions[0]?.keepAs).toBe('yard');
  });

  it('gives its faults with the affected chargers', () => {
    const q1 = { locationId: 'quay', controllerUuid: 'q1' };
    const q2 = { locationId: 'quay', controllerUuid: 'q2' };
    expect(scenario.faults).toMatchObject([
      {
        kind: 'loss',
        share: [0.1, 0.3],
        fromMs: START_MS + 2 * HOUR_MS,
        untilMs: START_MS + 23 * HOUR_MS,
        chargers: [q1, q2],
      },
      {
        kind: 'partition',
        lengthMs: [300_000, 300_000],
        everyMs: [HOUR_MS, 2 * HOUR_MS],
        direction: 'up',
        chargers: [q2],
      },
      { kind: 'serviceCrash', everyMs: undefined, chargers: [], fromMs: START_MS + 4 * HOUR_MS },
    ]);
  });

  it('gives each expected number, reason and alarm with its place', () => {
    const [limit, power, current, reason, alarm, share, violations] = scenario.expectations;
    expect(limit).toMatchObject({
      measure: 'effectiveLimitKw',
      bounds: { atLeast: 20, atMost: 20 },
      locationId: 'quay',
    });
    expect(limit?.where).toBe('sim/quay.yaml:48:5 expect[0].effectiveLimitKw');
    expect(limit?.fromMs).toBe(limit?.untilMs);
    expect(power).toMatchObject({
      measure: 'powerKw',
      bounds: { atLeast: Number.NEGATIVE_INFINITY, atMost: 20 },
    });
    expect(current).toMatchObject({
      fromMs: START_MS + HOUR_MS,
      untilMs: START_MS + 2 * HOUR_MS,
      connectorKey: 'q1/1',
    });
    expect(reason).toMatchObject({ measure: 'reason', reasons: ['fairShare', 'demand'] });
    expect(alarm).toMatchObject({ measure: 'alarm', alarms: ['OFFLINE'], isOpen: false });
    expect(share).toMatchObject({ measure: 'energyShare', fromMs: START_MS, untilMs: scenario.endsAtMs });
    expect(violations).toMatchObject({ measure: 'violations', bounds: { atLeast: 0, atMost: 0 } });
  });

  it('generates missing secrets, the same each time', () => {
    const [tenant] = scenario.provision.tenants;
    expect(parseApiKey(tenant?.apiKeys[0]?.key ?? '')).toBeDefined();
    const passwords = tenant?.locations[0]?.chargers.map(({ mqttPassword }) => mqttPassword);
    expect(new Set(passwords).size).toBe(2);
    expect(parseScenario(QUAY, 'sim/quay.yaml').provision).toEqual(scenario.provision);
    const preset = quayWith('controllerUuid: q1,', 'controllerUuid: q1, mqttPassword: own-of-charger-q1,');
    const kept = parseScenario(preset, 'a.yaml').provision.tenants[0]?.locations[0]?.chargers[0]
      ?.mqttPassword;
    expect(kept).toBe('own-of-charger-q1');
  });

  it('omits later entries and totals if it runs with another seed, transport and length', () => {
    const short = parseScenario(QUAY, 'a.yaml', { seed: 9, durationMs: 3 * HOUR_MS, transport: 'inProcess' });
    expect(short).toMatchObject({ seed: 9, transport: 'inProcess', endsAtMs: START_MS + 3 * HOUR_MS });
    expect(short.actions).toHaveLength(3);
    expect(short.faults.map(({ kind, untilMs }) => [kind, untilMs - START_MS])).toEqual([
      ['partition', 3 * HOUR_MS],
    ]);
    expect(short.expectations.map(({ measure }) => measure)).toEqual(['limitA', 'reason', 'violations']);
  });

  it('needs only a name, a start, a length and sites', () => {
    const least =
      'name: N\nstart: 2026-01-01T00:00:00Z\nduration: 1h\nsites: { count: 1, chargers: 1, permanentLimitKw: 9 }';
    const { vehicles, sessions, faults, actions, meterPeriodMs, seed } = parseScenario(least, 'a.yaml');
    expect([vehicles.length, faults, actions, meterPeriodMs, seed]).toEqual([1, [], [], 10_000, 1]);
    expect(sessions).toEqual({ kind: 'visits', visits: [] });
  });

  it('describes 10,000 connectors in a few lines', () => {
    const big = `name: Big
start: 2026-01-01T00:00:00Z
duration: 1h
sites: { count: 50, chargers: 100, connectors: 2, permanentLimitKw: 400, phases: 1, voltageV: 208, maxCurrentA: 40 }`;
    const { connectors, provision } = parseScenario(big, 'big.yaml');
    expect(connectors).toHaveLength(10_000);
    expect(new Set(connectors.map(({ key }) => key)).size).toBe(10_000);
    expect(connectors.at(-1)).toMatchObject({
      key: 'site-50-c100/2',
      locationId: 'site-50',
      voltageV: 208,
      phases: 1,
    });
    expect(provision.tenants[0]?.locations).toHaveLength(50);
  });
});

describe('An invalid scenario file', () => {
  it.each([
    [
      'an unknown field',
      ['duration: 24h', 'duration: 24h\nduratoin: 1h'],
      ':5:1 duratoin: is not a field known here; did you mean "duration"?',
    ],
    [
      'an unknown field of a fault',
      ['for: 5m,', 'fro: 5m, for: 5m,'],
      ':45:24 faults[1].fro: is not a field known here; did you mean "from"?',
    ],
    [
      'an unknown field of an expectation',
      ['violations: 0 }', 'violatoins: 0 }'],
      'expect[3].violatoins: is not a field known here; did you mean "violations"?',
    ],
    [
      'an unknown field of the provisioning',
      ['permanentLimitKw: 50', 'permanentLimitKW: 50'],
      'provision.tenants[0].locations[0].permanentLimitKW: is not a field known here; did you mean "permanentLimitKw"?',
    ],
    [
      'a line of the grid that feeds a location nobody has',
      ['duration: 24h', 'duration: 24h\ngrid: [{ name: street, locations: [key], resistanceOhm: 0.1 }]'],
      ':5:36 grid[0].locations[0]: is "key", which this scenario does not have; must be one of quay',
    ],
    [
      'a building where no meter tells of it',
      ['duration: 24h', 'duration: 24h\nbuildings: [{ location: quay, baseKw: 5 }]'],
      'buildings[0].location: is quay; must be a location with siteMeter and gridLimitKw',
    ],
    [
      'a building whose lift goes up at no known time',
      ['duration: 24h', 'duration: 24h\nbuildings: [{ location: quay, lift: { kw: 5, lasts: 20s } }]'],
      'buildings[0].lift.tripsPerHour',
    ],
    [
      'a location on two lines of the grid',
      [
        'duration: 24h',
        'duration: 24h\ngrid: [{ name: street, resistanceOhm: 0.1 }, { name: lane, resistanceOhm: 0.1 }]',
      ],
      'grid[1].locations: has quay, which street feeds already; a location is on one line',
    ],
    [
      'a load of a line that is neither a number nor steps',
      ['duration: 24h', 'duration: 24h\ngrid: [{ name: street, resistanceOhm: 0.1, baseKw: much }]'],
      'grid[0].baseKw: is "much"; must be a number from 0 to 100000, in kW, or a list of { at, kw }',
    ],
    [
      'a step of a load outside the run',
      [
        'duration: 24h',
        'duration: 24h\ngrid: [{ name: street, resistanceOhm: 0.1, baseKw: [{ at: +25h, kw: 1 }] }]',
      ],
      'grid[0].baseKw[0].at: is 2026-06-02T07:00:00.000Z, which is not in the run',
    ],
    ['a missing length', ['duration: 24h\n', ''], ':1:1 duration: is missing; must be a duration'],
    [
      'a length without a unit',
      ['duration: 24h', 'duration: 24'],
      ':4:1 duration: is 24; must be a duration',
    ],
    [
      'a start without an offset',
      ['08:00:00+02:00', '08:00:00'],
      ':3:1 start: is "2026-06-01T08:00:00"; must be an instant',
    ],
    [
      'a transport nobody knows',
      ['transport: mqtt', 'transport: tcp'],
      ':6:1 transport: is "tcp"; must be one of inProcess, mqtt, ocpp',
    ],
    [
      'a version of OCPP nobody knows',
      ['sessions:', 'ocpp:\n  - { chargers: [q1], protocol: ocpp3 }\nsessions:'],
      'ocpp[0].protocol: is "ocpp3"; must be one of ocpp1.6, ocpp2.0.1, ocpp2.1',
    ],
    [
      'a habit of an OCPP charger nobody knows',
      ['sessions:', 'ocpp:\n  - { behaviours: [sleeps] }\nsessions:'],
      'ocpp[0].behaviours[0]: is "sleeps"; must be one of watts-only',
    ],
    [
      'an OCPP charger nobody knows',
      ['sessions:', 'ocpp:\n  - { chargers: [q9] }\nsessions:'],
      'ocpp[0].chargers[0]: is "q9"',
    ],
    [
      'a link nobody has',
      ['direction: up }', 'direction: up, link: moon }'],
      'link: is "moon"; must be charger or broker',
    ],
    [
      'a kind of fault nobody knows',
      ['kind: loss', 'kind: rain'],
      ':44:7 faults[0].kind: is "rain"; must be one of loss, duplication',
    ],
    [
      'a strength above 1',
      ['share: [0.1, 0.3]', 'share: [0.1, 3]'],
      'faults[0].share[1]: is 3; must be a number from 0 to 1, or a range',
    ],
    [
      'a range that is upside down',
      ['share: [0.1, 0.3]', 'share: [0.3, 0.1]'],
      'faults[0].share: is a list; must be a number from 0 to 1, or a range',
    ],
    [
      'a charger nobody has',
      ['chargers: [q2]', 'chargers: [q9]'],
      'faults[1].chargers[0]: is "q9", which this scenario does not have; did you mean "q1"?',
    ],
    [
      'a window that is over before it begins',
      ['until: -1h', 'until: "09:00"'],
      'faults[0].until: must be after from',
    ],
    [
      'an operation that is none',
      ['call: scheduleLocation', 'call: scheduleLocatoin'],
      ':28:5 actions[0].call: is no operation of the interface; did you mean "scheduleLocation"?',
    ],
    [
      'a parameter too few',
      ['params: { locationId: quay }\n    body', 'body'],
      'actions[0].params.locationId: is missing; /v1/locations/{locationId}/schedules needs it',
    ],
    [
      'a parameter that is none',
      ['{ locationId: quay }\n    body', '{ locationId: quay, connectorId: "1" }\n    body'],
      'actions[0].params.connectorId: is no parameter of',
    ],
    [
      'a location nobody has',
      ['{ locationId: quay }\n    body', '{ locationId: quoy }\n    body'],
      'actions[0].params.locationId: is "quoy", which this scenario does not have; did you mean "quay"?',
    ],
    [
      'a number where text must be',
      ['{ locationId: quay }\n    body', '{ locationId: 7 }\n    body'],
      'actions[0].params.locationId: is 7; must be text of 1 to 1000 characters; write it in quotes: "7"',
    ],
    [
      'a body that the service would refuse',
      ['limitKw: 20, priority', 'limitKw: 0, priority'],
      ':30:48 actions[0].body.limitKw: would be refused',
    ],
    [
      'a body where none is taken',
      ['$yard.clusterId }', '$yard.clusterId }\n    body: {}'],
      'actions[2].body: is no field of getCluster',
    ],
    [
      'a query nobody reads',
      ['query: { step: "900" }', 'query: { stpe: "900" }'],
      'actions[3].query.stpe: is no query parameter',
    ],
    [
      'an answer that nobody keeps',
      ['$yard.', '$yrad.'],
      'actions[2].params.clusterId: is "yrad", which this scenario does not have; did you mean "yard"?',
    ],
    [
      'a tenant nobody has',
      ['call: createCluster', 'tenant: other\n    call: createCluster'],
      'actions[1].tenant: is "other", which this scenario does not have',
    ],
    [
      'a member of a cluster nobody has',
      ['locationIds: [quay]', 'locationIds: [quoy]'],
      'actions[1].body.locationIds[0]: is "quoy", which this scenario does not have; did you mean "quay"?',
    ],
    [
      'a tenant without the feature',
      ['features: [energy-management]', 'features: []'],
      'actions[0].call: would be refused: tenant harbour needs features: [energy-management]',
    ],
    [
      'a grid operator where there is none',
      [LIMITS, ORDERS],
      ':29:15 actions[0].params.locationId: is "quay", which has no operator; setOperatorLimit needs one',
    ],
    [
      'a meter where there is none',
      [LIMITS, 'call: getSiteMeter\n    params: { locationId: quay }'],
      'actions[0].params.locationId: is "quay", which has no siteMeter; getSiteMeter needs one',
    ],
    [
      'a location that is inactive',
      ['name: Quay\n          permanent', 'name: Quay\n          status: INACTIVE\n          permanent'],
      'actions[0].params.locationId: would be refused: location quay is INACTIVE; add "status: 400"',
    ],
    [
      'a charger nobody has in a call',
      [LIMITS, locks('q9', '1')],
      'actions[0].params.controllerUuid: is "q9", which this scenario does not have; did you mean "q1"?',
    ],
    [
      'a connector nobody has in a call',
      [LIMITS, locks('q1', '2')],
      'actions[0].params.connectorId: is "2", which this scenario does not have; did you mean "1"?',
    ],
    [
      'a cluster nobody made',
      ['clusterId: $yard.clusterId', 'clusterId: yard'],
      'actions[2].params.clusterId: is "yard", which no cluster has; keep the answer of createCluster with "as: name"',
    ],
    [
      'a field that an answer does not have',
      ['clusterId: $yard.clusterId', 'clusterId: $yard.cluster'],
      'actions[2].params.clusterId: is "$yard.cluster", and the answer of createCluster has no cluster',
    ],
    [
      'a time after the end',
      ['at: +3h', 'at: +25h'],
      'actions[3].at: is 2026-06-02T07:00:00.000Z, which is not in the run',
    ],
    [
      'a car that comes before the other has left',
      ['arrives: "11:00"', 'arrives: "10:59"'],
      'sessions.visits[1].arrives: is before the car of visits[0] has left q1/1',
    ],
    [
      'a car that leaves before it comes',
      ['leaves: "11:00"', 'leaves: "09:00"'],
      'sessions.visits[0].leaves: must be after arrives',
    ],
    [
      'a class of cars nobody named',
      ['vehicle: van', 'vehicle: vna'],
      'sessions.visits[0].vehicle: is "vna", which this scenario does not have; did you mean "van"?',
    ],
    [
      'sessions of two kinds',
      ['sessions:\n', 'sessions:\n  csv: { file: a.csv }\n'],
      ':19:1 sessions: is a group of fields; must have just one of csv, generate and visits',
    ],
    ['two classes of one name', ['name: model,', 'name: van,'], 'vehicles[1].name: "van" is used already'],
    [
      'an ideal car that is stubborn',
      ['ideal: true', 'ideal: true, stubborn: 1'],
      'vehicles[1].ideal: is true; must not stand beside',
    ],
    [
      'a car slower than cars are',
      ['reaction: [0.5s, 1s]', 'reaction: 3s'],
      'vehicles[0].reaction: is "3s"; must be a duration',
    ],
    ['an expectation of nothing', ['alarmClosed: OFFLINE ', ''], 'expect[2]: expects nothing'],
    [
      'a whole run at an instant',
      ['alarmClosed: OFFLINE', 'energyShare: 1'],
      'expect[2].energyShare: is counted over the whole run',
    ],
    [
      'a limit of no location',
      ['{ at: "17:00", location: quay, ', '{ at: "17:00", '],
      'expect[0].effectiveLimitKw: is given for neither location nor connector; it needs a location',
    ],
    [
      'bounds that bound nothing',
      ['{ atLeast: 0.9 }', '{}'],
      'expect[3].energyShare: is a group of fields; must be a number, or a group of fields with atLeast',
    ],
    [
      'a reason nobody gives',
      ['[fairShare, demand]', 'luck'],
      'expect[1].reason: is "luck"; must be one of maximum, demand',
    ],
    [
      'ids used twice in the provisioning',
      ['controllerUuid: q2', 'controllerUuid: q1'],
      'provision.tenants[0].locations[0].chargers[1].controllerUuid: "q1" is already used',
    ],
    [
      'sites beside the provisioning',
      ['sessions:\n', 'sites: { count: 1, chargers: 1, permanentLimitKw: 9 }\nsessions:\n'],
      ':19:1 sites: must be there if provision is not, and only then',
    ],
    ['a field twice', ['seed: 7', 'seed: 7\nseed: 8'], ':3:1 YAML: Map keys must be unique'],
  ] as const)('is refused with %s', (_, [from, to], problem) => {
    const problems = problemsOf(quayWith(from, to));
    expect(problems.join('\n')).toContain(problem);
    expect(problems[0]).toMatch(/^sim\/quay\.yaml:\d+:\d+ /);
  });

  it('is refused with a location and a charger of another tenant', () => {
    const text = quayWith('sessions:', `${OTHER_TENANT}sessions:`)
      .replace('locationIds: [quay]', 'locationIds: [quay, pier]')
      .replace(LIMITS, locks('p1', '1'));
    expect(problemsOf(text)).toEqual([
      expect.stringContaining(
        'actions[0].params.controllerUuid: is "p1", which is of tenant other; add "tenant: other"',
      ),
      expect.stringContaining(
        'actions[1].body.locationIds[1]: is "pier", which is of tenant other; add "tenant: other"',
      ),
    ]);
  });

  it('may contain a refused call if it expects the refusal', () => {
    expect(problemsOf(quayWith(LIMITS, `${ORDERS}\n    status: 404`))).toEqual([]);
  });

  it('is refused with all problems at once, in the order of the file', () => {
    const text = quayWith('seed: 7', 'seed: -1')
      .replace('maxKw: 11', 'maxKw: 0')
      .replace('kind: loss', 'kind: rain');
    expect(problemsOf(text).map((problem) => problem.split(' ')[1])).toEqual([
      'seed:',
      'vehicles[0].maxKw:',
      'faults[0].kind:',
    ]);
  });

  it('is refused without secrets in its problems', () => {
    const problems = problemsOf(quayWith('controllerUuid: q1,', 'controllerUuid: q1, mqttPassword: 12345,'));
    expect(problems.join('\n')).toMatch(/mqttPassword: is not usable/);
    expect(problems.join('\n')).not.toContain('12345');
  });

  it.each([
    ['nothing', ''],
    ['a word', 'scenario'],
    ['a list', '- 1'],
    ['no YAML', 'name: [1, 2'],
    ['only control characters', '\u0000\u0001'],
    ['an alias that leads nowhere', 'name: *nobody'],
    ['prototypes', '__proto__: { name: x }\nconstructor: 1'],
    ['a nest of a hundred thousand lists', `name: ${'['.repeat(100_000)}`],
    ['a nest of a hundred thousand blocks', `${'- '.repeat(100_000)}x`],
    ['more than anybody writes', `name: ${'x'.repeat(17_000_000)}`],
  ])('is refused with %s', (_, text) => {
    const problems = problemsOf(text);
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem).toMatch(/^sim\/quay\.yaml/);
  });

  it('is refused with multiplying aliases, without their expansion', () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `l${i + 1}: &l${i + 1} [${Array(10).fill(`*l${i}`).join(', ')}]`,
    );
    expect(problemsOf(`l0: &l0 [x]\n${levels.join('\n')}`).join()).toMatch(/YAML: Excessive alias count/);
  });

  it('is refused with a problem, never with an internal error, at any broken place', () => {
    const lines = QUAY.split('\n');
    const junk = fc.constantFrom(
      '',
      '-',
      '- -',
      ':',
      '[',
      '{}',
      'null',
      '.inf',
      '.nan',
      '!!binary x',
      '&a',
      '*a',
      '? x',
      '"',
      '\t',
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: lines.length - 1 }),
        junk,
        fc.boolean(),
        (at, text, isReplaced) => {
          const [before, line = '', after] = [lines.slice(0, at), lines[at], lines.slice(at + 1)];
          const indent = /^ */.exec(line)?.[0] ?? '';
          const changed = isReplaced ? `${indent}${text}` : line.replace(/:.*$/, `: ${text}`);
          // A changed line may still be valid. Every file without a reported problem must be a scenario.
          problemsOf([...before, changed, ...after].join('\n'));
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('An absurd scenario file', () => {
  function problemsOf(text: string): readonly string[] {
    try {
      parseScenario(text, 'odd.yaml');
    } catch (error) {
      if (error instanceof UnusableFileError) return error.problems;
      throw error;
    }
    return [];
  }

  it('is refused with at most a hundred short problems, without terminal control characters', () => {
    const fields = Array.from({ length: 3000 }, (_, i) => `odd${i}: 1`).join('\n');
    expect(problemsOf(`${QUAY}\n${fields}\n`)).toHaveLength(100);
    const long = problemsOf(QUAY.replace('name: Quay', `name: ${'x'.repeat(1_000_000)}`));
    expect(long).toEqual([`odd.yaml:1:1 name: is "${'x'.repeat(60)}…"; must be text of 1 to 200 characters`]);
    const [red] = problemsOf(`${QUAY}\n"\\u001b[31mred": 1\n`);
    expect(red).toContain('"\\u001b[31mred": is not a field known here');
  });

  it('is refused with a duplicate field among as many as 250,000 others', () => {
    const fields = Array.from({ length: casesOf(250_000) }, (_, i) => `odd${i}: 1`).join('\n');
    const text = `${QUAY}\n${fields}\n`;
    expect(problemsOf(`${text}odd7: 2`)).toEqual([
      `odd.yaml:${text.split('\n').length}:1 YAML: Map keys must be unique`,
    ]);
  });

  it('is refused for as many as 150,000 fields of one name, and not for their depth', () => {
    const problems = problemsOf(`${QUAY}\nx:\n${'  a: 1\n'.repeat(casesOf(150_000))}`);
    expect(problems).toHaveLength(100);
    expect(problems[0]).toMatch(/^odd\.yaml:\d+:3 YAML: Map keys must be unique$/);
  });

  it('is refused for its depth in one line', () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    expect(problemsOf(`${QUAY}\nx: ${deep}\n`)).toEqual(['odd.yaml YAML: is nested too deeply']);
  });
});
