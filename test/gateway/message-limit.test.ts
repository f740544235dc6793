// Bounds for one charger's messages, sent and unread.
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { MessageLimit } from '../../src/gateway/ocpp-server.js';

const BURST = 400;
const limit = (unreadBytes = 0) => new MessageLimit(createVirtualClock(0), () => unreadBytes);
const HEARTBEAT = '[2,"1","Heartbeat",{}]';
const ANSWER = '[3,"a",{}]';

describe('A charger', () => {
  it('says as many calls at once as its burst, and no more', () => {
    const its = limit();
    for (let i = 0; i < BURST; i++) expect(its.said(HEARTBEAT)).toBe(true);
    expect(its.said(HEARTBEAT)).toBe(false);
  });

  it('answers as often as it is asked, and that leaves its calls as many as before', () => {
    const its = limit();
    for (let i = 0; i < 10 * BURST; i++) {
      its.told(`[2,"${i}","TriggerMessage",{}]`);
      expect(its.said(` [ 3,"${i}",{}]`)).toBe(true);
    }
    for (let i = 0; i < BURST; i++) expect(its.said(HEARTBEAT)).toBe(true);
    expect(its.said(HEARTBEAT)).toBe(false);
  });

  it('that answers what nobody asked says too much', () => {
    const its = limit();
    const said = Array.from({ length: BURST + 1 }, () => its.said(ANSWER));
    expect(said.filter((isWithin) => !isWithin)).toHaveLength(1);
  });

  it('may leave a megabyte unread, and no more', () => {
    expect([limit(1_048_576).told(ANSWER), limit(1_048_577).told(ANSWER)]).toEqual([true, false]);
  });
});
