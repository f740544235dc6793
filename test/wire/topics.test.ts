// The topics of the MQTT contract, built and read back.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import {
  buildTopic,
  directionOf,
  kindUnder,
  parseTopic,
  type Topic,
  topicPrefixOf,
} from '../../src/wire/topics.js';

const id = fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/);
const charger = fc.record({
  tenantUuid: id.map((text) => text as TenantUuid),
  locationId: id.map((text) => text as LocationId),
  controllerUuid: id.map((text) => text as ControllerUuid),
});
const topics: fc.Arbitrary<Topic> = fc.oneof(
  fc
    .tuple(charger, fc.constantFrom('state' as const, 'sync' as const))
    .map(([address, kind]) => ({ ...address, kind })),
  fc
    .tuple(charger, fc.constantFrom('meter' as const, 'ack' as const, 'limit' as const), id)
    .map(([address, kind, connectorId]) => ({ ...address, kind, connectorId: connectorId as ConnectorId })),
);

describe('MQTT topics', () => {
  it('are ems/v1/{tenantUuid}/{locationId}/{controllerUuid} and the rest of the table, each level escaped', () => {
    const address = {
      tenantUuid: '0b6cf0c4-6d0f' as TenantUuid,
      locationId: 'quay.1' as LocationId,
      controllerUuid: 'q1:a' as ControllerUuid,
    };
    const connectorId = '1' as ConnectorId;
    expect(buildTopic({ ...address, kind: 'state' })).toBe('ems/v1/0b6cf0c4-6d0f/quay%2E1/q1%3Aa/state');
    expect(buildTopic({ ...address, kind: 'meter', connectorId })).toBe(
      'ems/v1/0b6cf0c4-6d0f/quay%2E1/q1%3Aa/c/1/meter',
    );
    expect(['state', 'meter', 'ack'].map((kind) => directionOf(kind as 'state'))).toEqual(
      Array(3).fill('toService'),
    );
    expect([directionOf('limit'), directionOf('sync')]).toEqual(['toCharger', 'toCharger']);
  });

  it('are read back as their parts, and contain no special character of brokers', () => {
    fc.assert(
      fc.property(topics, (topic) => {
        const text = buildTopic(topic);
        expect(text).toMatch(/^[A-Za-z0-9_%/-]+$/);
        expect(parseTopic(text)).toEqual(topic);
        expect(kindUnder(new Set([topicPrefixOf(topic)]), text)).toBe(topic.kind);
      }),
    );
  });

  it('differ for different connectors', () => {
    fc.assert(
      fc.property(topics, topics, (one, other) => {
        expect(buildTopic(one) === buildTopic(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });

  it('other than the exact built form are not read', () => {
    const anything = fc.oneof(
      fc.string(),
      fc.string().map((text) => `ems/v1/t/l/c/${text}`),
      fc
        .array(fc.constantFrom('ems', 'v1', 't', '', 'c', 'state', 'meter', '+', '#', '%2e', '%41', 'a.b'))
        .map((l) => l.join('/')),
    );
    fc.assert(
      fc.property(anything, (text) => {
        const topic = parseTopic(text);
        if (topic !== undefined) expect(buildTopic(topic)).toBe(text);
      }),
    );
  });

  it.each([
    ['a lower-case escape', 'ems/v1/t/l%2e1/c/state'],
    ['a needless escape', 'ems/v1/t/%41/c/state'],
    ['an escaped slash', 'ems/v1/t/l%2F1/c/state'],
    ['a bare dot', 'ems/v1/t/l.1/c/state'],
    ['an empty level', 'ems/v1/t//c/state'],
    ['a wildcard', 'ems/v1/t/+/c/state'],
    ['an id of 129 characters', `ems/v1/t/l/c/c/${'x'.repeat(129)}/meter`],
    ['a line break at the end', 'ems/v1/t/l/c/state\n'],
    ['another version', 'ems/v2/t/l/c/state'],
    ['a meter without connector', 'ems/v1/t/l/c/meter'],
    ['a state of a connector', 'ems/v1/t/l/c/c/1/state'],
  ])('with %s are not read', (_, text) => {
    expect(parseTopic(text)).toBeUndefined();
  });

  it('of another charger do not match a similar prefix', () => {
    const prefixes = new Set(['ems/v1/t/l/c']);
    expect(kindUnder(prefixes, 'ems/v1/t/l/c/state')).toBe('state');
    for (const text of [
      'ems/v1/t/l/c2/state',
      'ems/v1/t/l/c',
      'ems/v1/t/l',
      'ems/v1/t/l/c/',
      '/ems/v1/t/l/c/state',
      'ems/v1/t/l/c/c//meter',
    ])
      expect(kindUnder(prefixes, text)).toBeUndefined();
  });
});
