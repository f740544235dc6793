// A server that is about to stop: it waits for due answers, and ends connections with them.
import type { ServerResponse } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../eventually.js';
import { createRig, type Rig } from './http-rig.js';

let rig: Rig;
afterEach(() => rig.stop());

/** Holds requests until the test answers them. */
function account() {
  const held: ServerResponse[] = [];
  return { held, answering: () => (_: unknown, response: ServerResponse) => void held.push(response) };
}

it('a server waits for the answers to all requests so far, and not for later ones', async () => {
  rig = await createRig();
  const service = account();
  rig.server.answerWith(service.answering);
  const asked = rig.call('GET', '/a');
  await eventually(() => expect(service.held).toHaveLength(1));
  let isAnswered = false;
  const answered = rig.server.answered().then(() => {
    isAnswered = true;
  });
  const askedLater = rig.call('GET', '/b');
  await eventually(() => expect(service.held).toHaveLength(2));
  expect(isAnswered).toBe(false);
  service.held[0]?.end('a');
  expect(await (await asked).text()).toBe('a');
  await answered;
  service.held[1]?.end('b');
  expect(await (await askedLater).text()).toBe('b');
});

it('each answer of a server that is about to stop ends its connection, and new ones are taken', async () => {
  rig = await createRig();
  const service = account();
  rig.server.answerWith(service.answering);
  for (const [taken, connection] of ['keep-alive', 'close', 'close'].entries()) {
    if (taken === 1) rig.server.drain();
    const asked = rig.call('GET', '/a', { headers: { connection: 'keep-alive' } });
    await eventually(() => expect(service.held).toHaveLength(taken + 1));
    service.held[taken]?.end('a');
    expect((await asked).headers.get('connection')).toBe(connection);
  }
});
