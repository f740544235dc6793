// Identifiers appear in paths and MQTT topics, so a text with another meaning there is no identifier.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  asId,
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  isId,
} from '../../machines/values/ids.js';

const ALLOWED = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-';
const id = fc.string({ unit: fc.constantFrom(...ALLOWED), minLength: 1, maxLength: 128 });
const connector = fc.record({
  controllerUuid: id.map((text) => text as ControllerUuid),
  connectorId: id.map((text) => text as ConnectorId),
});

describe('An identifier (section 2)', () => {
  it('is any 1 to 128 characters of A-Z a-z 0-9 . _ : -', () => {
    fc.assert(fc.property(id, (text) => isId(text) && asId(text) === text));
  });

  it.each(['', 'a/b', 'a+b', '#', 'a b', 'a\n', '\n', 'a\0', '%2F', 'é', 'a'.repeat(129), 'a'.repeat(300)])(
    'is not %j',
    (text) => {
      expect(isId(text)).toBe(false);
      expect(asId(text)).toBeUndefined();
    },
  );

  it('holds no other character, wherever it stands', () => {
    fc.assert(
      fc.property(
        id,
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        id,
        (before, character, after) => {
          const text = `${before}${character}${after}`.slice(0, 128);
          expect(isId(text)).toBe([...text].every((each) => ALLOWED.includes(each)));
        },
      ),
      { numRuns: 150 },
    );
  });

  it('of a connector and its charger make a key that no other pair has', () => {
    fc.assert(
      fc.property(connector, connector, (one, other) => {
        const same = one.controllerUuid === other.controllerUuid && one.connectorId === other.connectorId;
        expect(connectorKey(one) === connectorKey(other)).toBe(same);
      }),
    );
    const [a, b] = [
      connectorKey({ controllerUuid: 'q1:1' as ControllerUuid, connectorId: '2' as ConnectorId }),
      connectorKey({ controllerUuid: 'q1' as ControllerUuid, connectorId: '1:2' as ConnectorId }),
    ];
    expect(a).not.toBe(b);
  });
});
