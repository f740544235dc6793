// Slow hashes of wrong passwords are bounded, right ones are remembered, and no client pays for a neighbour.
import { createHook } from 'node:async_hooks';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../sim/virtual-clock.js';
import { GuessLimit } from '../src/guess-limit.js';
import { type PasswordAttempt, PasswordCheck } from '../src/password-check.js';
import { generateSecret, hashPassword, hashSecret } from '../src/secrets.js';

const HERE = '192.0.2.1';
/** Number of hashes begun, as Node itself counts them. */
let slowHashes = 0;
const jobs = createHook({
  init(_, type) {
    if (type === 'SCRYPTREQUEST') slowHashes++;
  },
}).enable();
afterAll(() => void jobs.disable());
const stored = await hashPassword('the right password');

let clock: VirtualClock;
let guesses: GuessLimit;
let check: PasswordCheck;
beforeEach(() => {
  clock = createVirtualClock(0);
  guesses = new GuessLimit(clock, 60);
  check = new PasswordCheck(guesses, 2);
  slowHashes = 0;
});

function attempt(parts: Partial<PasswordAttempt> = {}): PasswordAttempt {
  return { address: HERE, name: 'q1-a', password: 'the right password', stored, ...parts };
}

async function is(parts: Partial<PasswordAttempt> = {}): Promise<string> {
  return (await check.check(attempt(parts))).is;
}

it('a right password takes one slow hash, and none when it is repeated from any address', async () => {
  expect([await is(), await is(), await is({ address: '198.51.100.7' })]).toEqual([
    'right',
    'right',
    'right',
  ]);
  expect(slowHashes).toBe(1);
});

it('a changed password is checked again, and the old one is wrong', async () => {
  expect(await is()).toBe('right');
  expect(await is({ stored: await hashPassword('another password') })).toBe('wrong');
  expect(await is({ stored: undefined })).toBe('wrong');
});

it('a wrong password takes no second slow hash from any address, until another password is stored', async () => {
  const [password, address] = ['an old password', '198.51.100.7'];
  expect([await is({ password }), await is({ password }), await is({ password, address })]).toEqual([
    'wrong',
    'wrong',
    'wrong',
  ]);
  expect(slowHashes).toBe(1);
  expect(await is({ password, stored: await hashPassword(password) })).toBe('right');
});

it('an unknown name takes as long as a known one', async () => {
  expect([await is({ password: 'guess' }), await is({ stored: undefined })]).toEqual(['wrong', 'wrong']);
  expect(slowHashes).toBe(2);
});

it('a password in the form of a generated secret takes no slow hash, and a right one is never refused', async () => {
  const password = generateSecret();
  for (let i = 0; i < 200; i++) guesses.count(HERE, 'q1-a');
  expect(await is({ password, stored: hashSecret(password) })).toBe('right');
  expect(await is({ password })).toBe('later');
  expect(slowHashes).toBe(0);
});

it('a flood of attempts causes no more work than its limits allow', async () => {
  // 80 of the hundred guesses that an address has.
  for (let i = 0; i < 80; i++) guesses.count(HERE);
  const flood = Array.from({ length: 2_000 }, (_, i) => is({ password: `guess ${i}`, stored: undefined }));
  const verdicts = await Promise.all(flood);
  expect(verdicts.filter((verdict) => verdict === 'wrong')).toHaveLength(20);
  // Two run at a time, and the second was already running.
  expect(slowHashes).toBeLessThanOrEqual(21);
});

it('all other chargers of a site are accepted after a restart while one charger guesses', async () => {
  const passwords = Array.from({ length: 8 }, (_, i) => `password of charger ${i}`);
  const hashes = await Promise.all(passwords.map((password) => hashPassword(password)));
  for (let i = 0; i < 110; i++) guesses.count(HERE, 'guesser');
  const site = passwords.flatMap((password, i) => [
    is({ name: 'guesser', password: `guess ${i}` }),
    is({ name: `charger ${i}`, password, stored: hashes[i] }),
  ]);
  const verdicts = await Promise.all(site);
  expect(verdicts.filter((_, i) => i % 2 === 1)).toEqual(passwords.map(() => 'right'));
  expect(verdicts.filter((_, i) => i % 2 === 0)).toEqual(passwords.map(() => 'later'));
});

it('a charger is soon accepted while a neighbour at its address guesses at the same name and repeats guesses', async () => {
  for (let i = 0; i < 110; i++) guesses.count(HERE, 'q1-a');
  let guess = 0;
  let attempts = 0;
  do {
    // The neighbour is faster than the charger each time.
    for (let second = 0; second < 5; second++) {
      clock.advance(1_000);
      for (let i = 0; i < 10; i++, guess++)
        for (const _ of ['once', 'twice']) await is({ password: `guess ${guess}` });
    }
    attempts++;
  } while ((await is()) !== 'right' && attempts < 100);
  expect(attempts).toBeLessThan(10);
});

it('a client that disconnects and returns keeps its turn', async () => {
  const verdicts = await Promise.all([is(), is(), is()]);
  expect(verdicts).toEqual(['right', 'right', 'right']);
  expect(slowHashes).toBe(1);
});

it('addresses are checked in rotation, so that one with many passwords delays others by one check each', async () => {
  const order: string[] = [];
  const one = async (address: string, name: string) => {
    await check.check(attempt({ address, name }));
    order.push(address);
  };
  const crowd = Array.from({ length: 20 }, (_, i) => one(HERE, `crowd ${i}`));
  const others = ['198.51.100.7', '2001:db8::1'].map((address) => one(address, 'elsewhere'));
  await Promise.all([...crowd, ...others]);
  // Two were running before these arrived. One or two more of the crowd may finish beside each.
  expect(order.indexOf('198.51.100.7')).toBeLessThan(6);
  expect(order.indexOf('2001:db8::1')).toBeLessThan(7);
});
