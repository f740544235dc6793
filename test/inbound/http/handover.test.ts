// The handler of requests changes while some are pending. Each is answered by the handler that took it, without waiting
// for others.
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

it('a change of the answering part waits for its accepted requests, and not for waiting ones', async () => {
  rig = await createRig();
  const [standby, active] = [account(), account()];
  await rig.server.answerWith(standby.answering);
  const waiting = rig.call('GET', '/a');
  await eventually(() => expect(standby.held).toHaveLength(1));
  let isStandbyDone = false;
  void rig.server.answerWith(active.answering).then(() => {
    isStandbyDone = true;
  });
  const asked = rig.call('GET', '/b');
  await eventually(() => expect(active.held).toHaveLength(1));
  const termOver = rig.server.answerWith(standby.answering);
  active.held[0]?.end('b');
  await termOver;
  expect(await (await asked).text()).toBe('b');
  expect(isStandbyDone).toBe(false);
  const allAnswered = rig.server.answered();
  standby.held[0]?.end('a');
  expect(await (await waiting).text()).toBe('a');
  await allAnswered;
  expect(isStandbyDone).toBe(true);
});

it('each answer of a server that is about to stop ends its connection, and new ones are taken', async () => {
  rig = await createRig();
  const service = account();
  await rig.server.answerWith(service.answering);
  for (const [taken, connection] of ['keep-alive', 'close', 'close'].entries()) {
    if (taken === 1) rig.server.drain();
    const asked = rig.call('GET', '/a', { headers: { connection: 'keep-alive' } });
    await eventually(() => expect(service.held).toHaveLength(taken + 1));
    service.held[taken]?.end('a');
    expect((await asked).headers.get('connection')).toBe(connection);
  }
});
