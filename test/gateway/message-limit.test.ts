// Bounds for one charger's messages, sent and unread.
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { MessageLimit } from '../../src/gateway/ocpp/ocpp-server.js';

const BURST = 400;
const limit = (unreadBytes = 0) => new MessageLimit(createVirtualClock(0), () => unreadBytes);
const HEARTBEAT = '[2,"1","Heartbeat",{}]';
const ANSWER = '[3,"a",{}]';

describe('A charger', () => {
  it('may send as many calls at once as its burst, and no more', () => {
    const its = limit();
    for (let i = 0; i < BURST; i++) expect(its.said(HEARTBEAT)).toBe(true);
    expect(its.said(HEARTBEAT)).toBe(false);
  });

  it('may answer every call, and its answers do not count as calls', () => {
    const its = limit();
    for (let i = 0; i < 10 * BURST; i++) {
      its.told(`[2,"${i}","TriggerMessage",{}]`);
      expect(its.said(` [ 3,"${i}",{}]`)).toBe(true);
    }
    for (let i = 0; i < BURST; i++) expect(its.said(HEARTBEAT)).toBe(true);
    expect(its.said(HEARTBEAT)).toBe(false);
  });

  it('exceeds its limit by answers without a call', () => {
    const its = limit();
    const said = Array.from({ length: BURST + 1 }, () => its.said(ANSWER));
    expect(said.filter((isWithin) => !isWithin)).toHaveLength(1);
  });

  it('may leave one megabyte unread, and no more', () => {
    expect([limit(1_048_576).told(ANSWER), limit(1_048_577).told(ANSWER)]).toEqual([true, false]);
  });
});
