// The opt-in of a location to Home Assistant in a provisioning file, and its reader.
import { describe, expect, it } from 'vitest';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { expectRefused } from './problems.js';

const SITE = `tenants:
  - tenantUuid: harbour
    name: Harbour
    locations:
      - locationId: quay-1
        name: Quay 1
        permanentLimitKw: 50
        homeAssistant: true
        reader: { readerUuid: screen, mqttPassword: a-quiet-Sunday-1998 }
        chargers:
          - { controllerUuid: q1-a, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
`;

describe('Home Assistant in a provisioning file', () => {
  it('is off unless the file has it, and a reader may be there without it', () => {
    const [location] = parseProvisioning(SITE, 'site.yaml').tenants[0]?.locations ?? [];
    expect(location).toMatchObject({ homeAssistant: true, reader: { readerUuid: 'screen' } });
    const without = SITE.replace('        homeAssistant: true\n', '');
    const [other] = parseProvisioning(without, 'site.yaml').tenants[0]?.locations ?? [];
    expect(other?.homeAssistant).toBeUndefined();
    expect(other?.reader?.readerUuid).toBe('screen');
  });

  it.each([
    ['a word', 'homeAssistant: true', 'homeAssistant: maybe', 'homeAssistant: '],
    ['a reader without a name', 'readerUuid: screen, ', '', 'reader.readerUuid'],
    ['a short password', 'a-quiet-Sunday-1998', 'short', 'reader.mqttPassword'],
    ['the login of a charger', 'readerUuid: screen', 'readerUuid: q1-a', 'is already used by'],
    ['a right to publish', 'reader: {', 'reader: { mayPublish: true, ', 'is not a field known here'],
  ])('is refused with %s, naming the field', (_what, from, to, named) =>
    expectRefused(SITE, from, to, named),
  );
});
