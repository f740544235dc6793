// Wrong credentials count by subscriber: an IPv4 address, or all addresses of an IPv6 network.
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../sim/virtual-clock.js';
import { GuessLimit } from '../src/guess-limit.js';

const BURST = 100;

function limitAfter(failures: number, address: string) {
  const clock = createVirtualClock(0);
  const limit = new GuessLimit(clock, 60);
  for (let i = 0; i < failures; i++) limit.count(address);
  return { clock, limit };
}

describe('an address', () => {
  it('may fail a hundred times at once and then once a second, at 60 a minute', () => {
    const { clock, limit } = limitAfter(BURST - 1, '192.0.2.1');
    expect(limit.waitMs('192.0.2.1')).toBe(0);
    limit.count('192.0.2.1');
    expect(limit.waitMs('192.0.2.1')).toBe(1_000);
    clock.advance(1_000);
    expect(limit.waitMs('192.0.2.1')).toBe(0);
  });

  it.each([
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['2001:db8:0:7::1', '2001:db8::7:a:b:c:d'],
    ['2001:db8:0:7::', '2001:db8:0:7:1:2:3:4'],
    ['::1', '::2'],
  ])('%s counts as one with %s', (failing, other) => {
    expect(limitAfter(BURST, failing).limit.waitMs(other)).toBeGreaterThan(0);
  });

  it.each([
    ['192.0.2.1', '192.0.2.2'],
    ['2001:db8:0:7::1', '2001:db8:0:8::1'],
    ['2001:db8::1', '2001:db9::1'],
  ])('%s does not count for %s', (failing, other) => {
    expect(limitAfter(BURST, failing).limit.waitMs(other)).toBe(0);
  });
});

describe('a name', () => {
  it('gets ten more checks after too many failures of others at its address', () => {
    const { clock, limit } = limitAfter(BURST, '192.0.2.1');
    expect(limit.passwordWaitMs('192.0.2.1', 'q1-a')).toBe(0);
    for (let i = 0; i < 10; i++) limit.count('192.0.2.1', 'q1-a');
    expect(limit.passwordWaitMs('192.0.2.1', 'q1-a')).toBe(10_000);
    expect(limit.passwordWaitMs('192.0.2.1', 'q1-b')).toBe(0);
    expect(limit.passwordWaitMs('192.0.2.2', 'q1-a')).toBe(0);
    clock.advance(10_000);
    expect(limit.passwordWaitMs('192.0.2.1', 'q1-a')).toBe(0);
  });

  it('that does not exist waits with its address', () => {
    const { limit } = limitAfter(BURST, '192.0.2.1');
    expect(limit.passwordWaitMs('192.0.2.1', undefined)).toBe(1_000);
    expect(limit.passwordWaitMs('192.0.2.2', undefined)).toBe(0);
  });

  it('is limited at every address once all addresses together caused too much work', () => {
    const { clock, limit } = limitAfter(0, '192.0.2.1');
    for (let i = 0; i < 1_000; i++) {
      limit.count(`192.0.2.${i % 250}`, 'q1-a');
      limit.countWork();
    }
    expect(limit.passwordWaitMs('198.51.100.7', undefined)).toBe(100);
    expect(limit.passwordWaitMs('198.51.100.7', 'q1-a')).toBe(10_000);
    expect(limit.passwordWaitMs('198.51.100.7', 'q1-b')).toBe(0);
    clock.advance(100);
    expect(limit.passwordWaitMs('198.51.100.7', 'q1-a')).toBe(0);
  });
});
