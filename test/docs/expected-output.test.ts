// A document's output is compared with the output of its command, as far as that is the same in each run.
import { describe, expect, it } from 'vitest';
import { differencesOfJson, differencesOfText } from './expected-output.js';

function json(shown: unknown, actual: unknown, options: { live?: boolean; commands?: string } = {}) {
  return differencesOfJson(JSON.stringify(shown), JSON.stringify(actual), {
    live: options.live ?? false,
    commands: options.commands ?? '',
  });
}

const MORNING = '2030-06-01T08:00:00.000Z';
const EVENING = '2030-06-01T18:00:00.000Z';
const ID = '63b8ec0e-61d4-4d6f-bbef-76c85fcbe571';
const OTHER_ID = 'f1a2b244-d873-48a5-b163-708cb6a01a0e';

describe('A JSON answer', () => {
  it.each([
    ['the same', { a: [1, { b: null }] }, { a: [1, { b: null }] }],
    ['keys in another order', { a: 1, b: 2 }, { b: 2, a: 1 }],
    ['another instant', { at: MORNING }, { at: EVENING }],
    ['another id', ID, OTHER_ID],
    ['further keys, where shown', { a: 1, '…': '…' }, { a: 1, b: 2 }],
    ['further items, where shown', [1, '…'], [1, 2, 3]],
    ['a text that is cut', { token: 'eyJ…' }, { token: 'eyJhbGciOiJ' }],
  ])('matches: %s', (_, shown, actual) => {
    expect(json(shown, actual)).toEqual([]);
  });

  it.each([
    ['another number', { a: 1 }, { a: 2 }],
    ['a text for a number', { a: 1 }, { a: '1' }],
    ['a key too many', { a: 1 }, { a: 1, b: 2 }],
    ['a key too few', { a: 1, b: 2 }, { a: 1 }],
    ['an item too many', [1], [1, 2]],
    ['no object', { a: {} }, { a: [] }],
    ['another word', { status: 'ACTIVE' }, { status: 'EXPIRED' }],
    ['no instant', { at: MORNING }, { at: 'soon' }],
    ['null', { at: MORNING }, { at: null }],
  ])('does not match: %s', (_, shown, actual) => {
    expect(json(shown, actual)).toHaveLength(1);
  });

  it('must repeat instants and ids from the commands', () => {
    expect(json({ at: MORNING }, { at: EVENING }, { commands: `{"startTime":"${MORNING}"}` })).toHaveLength(
      1,
    );
    expect(json({ id: ID }, { id: OTHER_ID }, { commands: `curl /v1/clusters/${ID}` })).toHaveLength(1);
  });

  it('marked as live must have the shown keys, with values of the same type', () => {
    expect(
      json({ kw: 1, why: 'lock', lease: 5 }, { kw: 2, why: 'idle', lease: null }, { live: true }),
    ).toEqual([]);
    expect(json({ kw: 1 }, { kw: 'much' }, { live: true })).toHaveLength(1);
    expect(json({ kw: 1 }, { watts: 1 }, { live: true })).toHaveLength(2);
  });

  it('must be JSON', () => {
    expect(differencesOfJson('{}', 'Not found', { live: false, commands: '' })).toHaveLength(1);
  });
});

describe('A printed answer', () => {
  it('must have the shown lines in the shown order', () => {
    expect(differencesOfText('b\nd\n', 'a\nb\nc\nd\n', { live: false })).toEqual([]);
    expect(differencesOfText('d\nb\n', 'a\nb\nc\nd\n', { live: false })).toHaveLength(1);
    expect(differencesOfText('a b\n', 'a  c\n', { live: false })).toHaveLength(1);
  });

  it('may be abbreviated, and may differ in numbers if it is live', () => {
    expect(differencesOfText('HTTP/1.1 200 …', 'HTTP/1.1 200 OK\r\n', { live: false })).toEqual([]);
    expect(differencesOfText('id: 4711', 'id: 9', { live: true })).toEqual([]);
    expect(differencesOfText('{"kW":7.4}', '{"kW":0}', { live: true })).toEqual([]);
    expect(differencesOfText('id: 4711', 'id: 9', { live: false })).toHaveLength(1);
  });
});
