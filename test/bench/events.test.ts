// The bench of the event log as an operator runs it, but small, and its judgement over faults that it must find.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Arrival, EventBooks } from '../../tools/bench/events-books.js';

async function bench(...options: readonly string[]) {
  const child = spawn(process.execPath, ['dist/tools/bench/events.js', ...options]);
  onTestFinished(() => void child.kill('SIGTERM'));
  const closed = once(child, 'close');
  const printed = (await Promise.all([text(child.stdout), text(child.stderr)])).join('');
  const [code] = await closed;
  return { code: code as number | null, printed };
}

describe('npm run bench -- events', () => {
  it('finds no event lost, reordered or undelivered over a kill', async () => {
    const { code, printed } = await bench(
      ...['--parts=kills', '--engines=sqlite', '--events=500', '--kills=1', '--seed=3'],
    );
    expect(printed).toMatch(/"measured":"0","goal":"0","met":true/);
    expect(code).toBe(0);
  });

  it.each([
    ['--kills=many', '--kills: must be a whole number from 1 to 10000000'],
    ['--parts=all', '--parts: is "all"; must be some of kills,takeovers,delay'],
  ])('refuses %s', async (option, problem) => {
    const { code, printed } = await bench(option);
    expect(printed).toContain(problem);
    expect(code).toBe(1);
  });
});

describe('The judgement', () => {
  const arrivals: readonly Arrival[] = [1, 2, 3].map((id) => ({
    id,
    locationId: 'quay',
    source: `order ${id}`,
    atMs: 10 * id + 5,
  }));
  const [first, second, third] = arrivals as readonly [Arrival, Arrival, Arrival];

  /** Three orders one after another, of which the second has no answer. */
  function judge({
    log = arrivals,
    delivered = arrivals,
    streamed = arrivals,
  }: {
    readonly log?: readonly Arrival[];
    readonly delivered?: readonly Arrival[];
    readonly streamed?: readonly Arrival[];
  }) {
    const books = new EventBooks();
    for (const { id, source } of arrivals)
      books.causes.set(source, {
        locationId: 'quay',
        source,
        sentAtMs: 10 * id,
        answeredAtMs: id === 2 ? undefined : 10 * id + 4,
      });
    for (const arrival of delivered) books.deliver(arrival);
    books.streamed.push(...streamed);
    return Object.fromEntries(Object.entries(books.judge(log)).filter(([, count]) => count > 0));
  }

  it('finds nothing if all events arrived in order, even if the webhook had one twice', () => {
    expect(judge({})).toEqual({});
    expect(judge({ delivered: [first, second, first, third] })).toEqual({});
  });

  it('permits that an order without an answer is no event', () => {
    const rest = [first, third];
    expect(judge({ log: rest, delivered: rest, streamed: rest })).toEqual({});
  });

  it.each([
    ['an acknowledged order without an event', { log: [second, third] }, { lost: 1, unlogged: 2 }],
    ['two events of one order', { log: [...arrivals, { ...third, id: 4 }] }, { doubled: 1 }],
    ['an event without an order', { log: [...arrivals, { ...third, id: 4, source: '' }] }, { uncaused: 1 }],
    [
      'an event before that of an earlier order',
      { log: [{ ...third, id: 1 }, second, { ...first, id: 3 }] },
      { reordered: 1 },
    ],
    ['an event that the webhook lacks', { delivered: [first, third] }, { undelivered: 1 }],
    ['a delivery in a wrong order', { delivered: [first, third, second] }, { deliveredLate: 1 }],
    ['an event that the stream lacks', { streamed: [first, third] }, { unstreamed: 1 }],
    [
      'an event that the stream has again',
      { streamed: [first, second, second, third] },
      { streamedAgain: 1 },
    ],
    [
      'an arrival of an event that the log has for another order',
      { delivered: [first, second, { ...third, source: 'order 1' }] },
      { unlogged: 1 },
    ],
  ])('finds %s', (_, given, faults) => {
    expect(judge(given)).toMatchObject(faults);
  });
});
