// docs/mqtt.md lists the topics of the code with their fields, its words, and every way to be refused.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ACK_RESULTS, ALARM_KINDS, LEASE_KINDS, LIMIT_REASONS } from '../../machines/ledger/grant.js';
import { CHARGING_STATUSES } from '../../machines/values/charging-status.js';
import { SITE_MESSAGES } from '../../src/features/site-messages.js';
import type { PacketFault } from '../../src/outbound/mqtt/packet-guard.js';
import type { RefusalReason } from '../../src/outbound/mqtt/session.js';
import { CHARGER_TRAFFIC, createAsyncApiDocument } from '../../src/wire/asyncapi.js';
import { asyncApiSchema } from '../wire/asyncapi-document.js';
import { ROOT } from './document.js';

const text = readFileSync(join(ROOT, 'docs/mqtt.md'), 'utf8');

/** The rows of the table under `heading`, with their cells unchanged. */
function rowsUnder(heading: string): readonly (readonly string[])[] {
  const section = text.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('|---'))
    .slice(1)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

describe('docs/mqtt.md', () => {
  it('shows every topic with its direction, QoS, retain and fields', () => {
    const { components } = asyncApiSchema.parse(
      JSON.parse(JSON.stringify(createAsyncApiDocument(Object.values(SITE_MESSAGES), '1'))),
    );
    const shown = rowsUnder('Topics').map(([topic = '', direction = '', delivery = '', payload = '']) => ({
      kind: /(\w+)`$/.exec(topic)?.[1],
      isFromCharger: direction.startsWith('from'),
      qos: Number(delivery[0]),
      retain: delivery.includes('retained'),
      fields: [...payload.replace(/\[.*\]/, '').matchAll(/\b[a-z]\w*\b(?=[,?`:]|$)/gi)].map(([name]) => name),
    }));
    expect(shown.map(({ kind }) => kind).sort()).toEqual(CHARGER_TRAFFIC.map(({ kind }) => kind).sort());
    for (const { kind, qos, retain } of CHARGER_TRAFFIC) {
      const row = shown.find((each) => each.kind === kind);
      expect(row).toMatchObject({ qos, retain, isFromCharger: kind !== 'limit' && kind !== 'sync' });
      const fields = Object.keys(components.schemas[kind]?.properties ?? {});
      expect([kind, row?.fields.filter((field) => fields.includes(field)).sort()]).toEqual([
        kind,
        fields.sort(),
      ]);
    }
  });

  it.each([
    ['statuses', CHARGING_STATUSES],
    ['reasons', LIMIT_REASONS],
    ['answers', ACK_RESULTS],
    ['kinds of leases', LEASE_KINDS.map((kind) => `lease: "${kind}"`)],
    ['alarms of a charger', ALARM_KINDS.filter((kind) => ['NON_COMPLIANT', 'STALE'].includes(kind))],
  ])('names all %s', (_, words) => {
    expect(words.filter((word) => !text.includes(`\`${word}\``))).toEqual([]);
  });

  it('explains every reason for a refusal', () => {
    const refusals = {
      credentials: 1,
      attempts: 1,
      'client-id': 1,
      keepalive: 1,
      will: 1,
      topic: 1,
      retain: 1,
      qos: 1,
      subscriptions: 1,
      revoked: 1,
      'slow-reader': 1,
      oversized: 1,
      malformed: 1,
      flood: 1,
      connection: 1,
      connections: 1,
      pending: 1,
      version: 1,
      tls: 1,
      certificate: 1,
      bus: 1,
      elsewhere: 1,
    } satisfies Record<RefusalReason | PacketFault | 'connection', 1>;
    const table = rowsUnder('Common mistakes')
      .map((row) => row.at(-1) ?? '')
      .join('\n');
    expect(Object.keys(refusals).filter((reason) => !table.includes(`\`${reason}\``))).toEqual([]);
    for (const result of ['malformed', 'unknown', 'stale', 'limited']) {
      expect(table).toMatch(new RegExp(`messages \`${result}\``));
    }
  });
});
