// Failed sign-ins in the log: easy to find, and no way to fill a disk or to learn a secret.
import { beforeEach, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../sim/virtual-clock.js';
import { generateSecret } from '../src/secrets.js';
import { type FailedSignIn, SignInLog } from '../src/sign-in-log.js';
import { type LogLine, recordingLog } from './outbound/mqtt/broker-rig.js';

const FAILURE: FailedSignIn = {
  via: 'http',
  address: '192.0.2.1',
  keyId: 'demo0001',
  reason: 'wrong secret',
};

let clock: VirtualClock;
let lines: LogLine[];
let log: SignInLog;
beforeEach(() => {
  clock = createVirtualClock(0);
  lines = [];
  log = new SignInLog(clock, recordingLog(lines));
});

it('a failed sign-in is logged with address and name, and once a minute with the number of repetitions', () => {
  log.add(FAILURE);
  expect(lines).toEqual([{ level: 'warn', fields: FAILURE, message: 'sign-in failed' }]);
  for (let i = 0; i < 5; i++) log.add(FAILURE);
  clock.advance(59_999);
  log.add(FAILURE);
  expect(lines).toHaveLength(1);
  clock.advance(1);
  log.add(FAILURE);
  expect(lines.at(-1)?.fields).toEqual({ ...FAILURE, sameSince: 6 });
});

it('failed sign-ins are separated by address and by name', () => {
  log.add(FAILURE);
  log.add({ ...FAILURE, address: '192.0.2.2' });
  log.add({ ...FAILURE, keyId: 'demo0002' });
  expect(lines).toHaveLength(3);
});

it('the log of failed sign-ins is limited in a flood, and counts the omitted ones', () => {
  for (let i = 0; i < 5_000; i++) log.add({ ...FAILURE, address: `10.0.${i >> 8}.${i & 255}` });
  expect(lines).toHaveLength(100);
  clock.advance(2_000);
  log.add({ ...FAILURE, address: '192.0.2.9' });
  expect(lines.at(-1)?.fields).toEqual({ ...FAILURE, address: '192.0.2.9', othersNotLogged: 4_900 });
});

it.each([
  ['an API key', 'hr_demo0001_PublicDemoKeyNotForRealUse'],
  ['a generated secret', generateSecret()],
  ['what is no name', 'my password!'],
  ['a long text', 'x'.repeat(1_000)],
  ['a new line', 'a\nb'],
])('the log of failed sign-ins never shows %s that was sent in the place of a name', (_, text) => {
  log.add({ via: 'token', address: '192.0.2.1', clientId: text, reason: 'no such client' });
  log.add({ via: 'mqtt', address: '192.0.2.1', username: `tenant/${text}`, reason: 'no such name' });
  expect(lines).toHaveLength(2);
  expect(JSON.stringify(lines)).not.toContain(JSON.stringify(text).slice(1, -1));
});
