// An OCPP charger counts as keeping leases only after it has shown this. It loses that status after it shows the
// opposite.
import { describe, expect, it } from 'vitest';
import type { MeteredValues } from '../../machines/session/gateway-request.js';
import { TestCharger } from './ocpp-charger.js';

/** A charger that is connected, started and ready, with a car and its first values. */
function charging(...options: ConstructorParameters<typeof TestCharger>): TestCharger {
  return new TestCharger(...options).connect().boot().pass(2).plugIn().pass(11);
}

/** A charger that is connected, started and ready, without a car. */
function idle(...options: ConstructorParameters<typeof TestCharger>): TestCharger {
  return new TestCharger(...options).connect().boot().pass(15);
}

describe('A charger that starts', () => {
  it('gets its fail-safe below everything else, and the setting to report every heartbeat', () => {
    const charger = new TestCharger().connect().boot().pass(2);
    expect(charger.requests).toContainEqual({ kind: 'sample', everyS: 10, withSoc: false });
    expect(charger.requests).toContainEqual({ kind: 'setFailsafe', evse: 1, unit: 'A', limit: 6 });
    expect(charger.limit).toBe(6);
  });

  it('has no lease before it has shown that it lowers itself when one ends', () => {
    const charger = new TestCharger().connect().boot().pass(2);
    expect(charger.lease).toMatchObject({ lease: 'none', failsafeA: 6, keepsThen: true });
  });

  it('loses its leases of an earlier life, and nothing of other software', () => {
    const charger = new TestCharger().connect().boot().pass(2);
    const cleared = charger.requests.filter(({ kind }) => kind === 'clear');
    expect(cleared).toEqual([
      { kind: 'clear', evse: 1, slot: 'transaction' },
      { kind: 'clear', evse: 1, slot: 'default' },
    ]);
  });

  it('sends heartbeats of an idle connector while it is alive, and none once it no longer answers', () => {
    const charger = new TestCharger().connect().boot().pass(35);
    expect(charger.meters().length).toBeGreaterThanOrEqual(4);
    expect(charger.meters().at(-1)).toMatchObject({ status: 'Available', powerW: 0, epoch: 0, seq: 0 });
    const before = charger.meters().length;
    charger.isAlive = false;
    charger.pass(60);
    expect(charger.meters().length - before).toBeLessThanOrEqual(3);
  });

  it('that charges and sends no values is silent', () => {
    const charger = charging();
    charger.isCharging = true;
    charger.values = () => {};
    const before = charger.meters().length;
    charger.pass(120);
    expect(charger.meters().length - before).toBeLessThanOrEqual(2);
  });
});

describe('A grant', () => {
  it('is counted from the timestamp of the value that it answers, by the clock of the charger', () => {
    const charger = charging().grant(16, 6);
    const set = charger.requests.find(({ kind }) => kind === 'setLease');
    expect(set).toMatchObject({
      slot: 'transaction',
      transaction: 77,
      schedule: { unit: 'A', limit: 16, endsAfterS: 70, thenLimit: 6 },
    });
    // The lease begins 10 s before that, so that a charger which counts from receipt shows the wrong end.
    const sampledOwnMs = set?.kind === 'setLease' ? set.schedule.startsAtOwnMs + 10_000 : 0;
    expect(charger.ownMs - sampledOwnMs).toBeLessThan(3_000);
    expect(sampledOwnMs % 1000).toBe(0);
  });

  it('is acknowledged once the charger has shown both periods, and only then it has a lease', () => {
    const charger = charging();
    expect(charger.acks()).toEqual([]);
    charger.grant(16, 6);
    expect(charger.acks()).toMatchObject([{ seq: 1, result: 'APPLIED', appliedA: 16 }]);
    expect(charger.lease).toMatchObject({ lease: 'heartbeat' });
    expect(charger.notes.at(-1)).toBeUndefined();
  });

  it('lets the charger fall back by itself when its lease ends, gateway and service dead', () => {
    const charger = charging().grant(16, 6);
    charger.cut();
    const endsAtMs = charger.nowMs + 60_000;
    let fellAtMs = 0;
    while (charger.nowMs < endsAtMs + 5_000 && fellAtMs === 0) {
      charger.nowMs += 100;
      if (charger.limit === 6) fellAtMs = charger.nowMs;
    }
    expect(fellAtMs).toBeGreaterThan(endsAtMs - 5_000);
    expect(fellAtMs).toBeLessThanOrEqual(endsAtMs + 1_000);
  });

  it('that only renews is acknowledged at once, and written when half of the lease is over', () => {
    const charger = charging().grant(16, 6);
    const writes = () => charger.requests.filter(({ kind }) => kind === 'setLease').length;
    const before = writes();
    charger.renewed(120, 16, 6);
    expect(charger.acks().length).toBeGreaterThan(10);
    expect(charger.acks().every(({ result }) => result === 'APPLIED')).toBe(true);
    expect(writes() - before).toBeGreaterThanOrEqual(3);
    expect(writes() - before).toBeLessThanOrEqual(4);
    expect(charger.limit).toBe(16);
  });

  it('that renews for a shorter time than the current one is written at once: the charger would keep it for too long', () => {
    const charger = charging().grant(16, 6).pass(1);
    const writes = () => charger.requests.filter(({ kind }) => kind === 'setLease').length;
    const before = writes();
    charger.grant(16, 6, { ttlS: 20 }).pass(1);
    expect(writes() - before).toBe(1);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
    charger.pass(30);
    expect(charger.limit).toBe(6);
  });

  it('that renews a longer one to the same end is written at once: on a slow clock the longer one ends later', () => {
    const charger = charging().grant(16, 6);
    const writes = () => charger.requests.filter(({ kind }) => kind === 'setLease').length;
    const before = writes();
    const { hb } = charger;
    while (charger.hb < hb + 2) charger.pass(0.1);
    charger.grant(16, 6, { ttlS: 40.2 }).pass(1);
    expect(writes() - before).toBe(1);
  });

  it('that renews a short one for its usual time is written at once, before the short one ends', () => {
    const charger = charging().grant(16, 6, { ttlS: 20 }).pass(5);
    const writes = () => charger.requests.filter(({ kind }) => kind === 'setLease').length;
    const before = writes();
    charger.grant(16, 6).pass(1);
    expect(writes() - before).toBe(1);
    charger.pass(30);
    expect(charger.limit).toBe(16);
  });

  it.each([
    [
      'of what it held before another is written again where that was not answered',
      (charger: TestCharger) => charger,
    ],
    [
      'of what it held before another is written again where the connection broke before the answer',
      (charger: TestCharger) => charger.cut().connect().pass(2),
    ],
  ])('%s', (_, meanwhile) => {
    const charger = charging().grant(16, 6).pass(1);
    charger.failing = 'setLease';
    charger.grant(20, 6);
    expect(charger.limit).toBe(20);
    meanwhile(charger);
    const acks = charger.acks().length;
    charger.grant(16, 6);
    expect(charger.acks().length).toBe(acks);
    charger.failing = undefined;
    charger.pass(10);
    expect(charger.limit).toBe(16);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
  });

  it('is lowered by another system at once, and as soon as the charger keeps to it where it was on its way', () => {
    for (const hidesSchedule of [false, true]) {
      const charger = charging({ hidesSchedule }).grant(16, 6);
      // A charger that shows no schedule has to prove by its meter that it keeps to the grant.
      expect(charger.acks()).toHaveLength(hidesSchedule ? 0 : 1);
      charger.ceilingA = 8;
      charger.session.review(charger.nowMs);
      charger.pass(11);
      expect(charger.limit).toBe(8);
    }
  });

  it('that changes is written at once', () => {
    const charger = charging().grant(16, 6).pass(1);
    charger.grant(10, 6);
    expect(charger.limit).toBe(10);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 10 });
  });

  it.each([
    ['of another start', { boot: 'another' }, 'STALE'],
    ['that is no newer', { epoch: 0 }, 'STALE'],
    ['of less than 6 A', { limitA: 5 }, 'REJECTED'],
    ['for a heartbeat that was never sent', { ref: 999 }, 'REJECTED'],
    ['whose lease is over', { ttlS: 1 }, 'EXPIRED'],
  ])('%s changes nothing: %o is %s', (_, more, result) => {
    const charger = charging().grant(16, 6).pass(3);
    charger.grant(20, 6, more);
    expect(charger.acks().at(-1)?.result).toBe(result);
    expect(charger.limit).toBe(16);
  });

  it('is sent in the unit and the steps of the charger, rounded down', () => {
    expect(charging({ wholeAmperes: true }).grant(14.7, 6).limit).toBe(14);
    expect(charging({ only: 'W', abilities: { units: ['W'] } }).grant(14.4, 6).limit).toBe(9936);
    const learnt = charging({ only: 'W' }).grant(14.4, 6).pass(1);
    expect(learnt.limit).toBe(9936);
    expect(learnt.acks().at(-1)).toMatchObject({ result: 'APPLIED' });
  });

  it('of a transaction that the charger refuses, because that is over, shows nothing about its unit', () => {
    const charger = charging().grant(16, 6).pass(1);
    charger.refusing = 'setLease';
    charger.grant(10.5, 6).pass(3);
    expect(charger.acks()).toHaveLength(1);
    charger.refusing = undefined;
    charger.unplug().plugIn(78).pass(11).grant(14.4, 6).pass(1);
    expect(charger.limit).toBe(14.4);
    expect(charger.lease?.lease).toBe('heartbeat');
  });

  it('of a transaction that the charger goes on refusing is refused, and costs it its lease', () => {
    const charger = charging().grant(16, 6).pass(1);
    charger.refusing = 'setLease';
    charger.grant(10.5, 6).pass(9);
    expect(charger.acks()).toHaveLength(1);
    charger.pass(15);
    expect(charger.acks().at(-1)).toMatchObject({ seq: 2, result: 'REJECTED' });
    expect(charger.lease?.lease).toBe('none');
  });

  it.each([
    [1, [6, 0, 0]],
    [2, [6, 6, 0]],
    [3, [6, 6, 6]],
  ] as const)('in watts counts the %i phases that a car uses', (phases, currentA) => {
    const charger = charging({ only: 'W', abilities: { units: ['W'] } });
    charger.values({ currentA, powerW: 1380 * phases });
    charger.grant(14.4, 6);
    expect(charger.limit).toBe(Math.floor(14.4 * phases * 230));
  });

  it.each([
    [1, 2_300],
    [1, 0],
    [2, 4_500],
    [3, 6_200],
    [3, 9_900],
  ] as const)(
    'in watts counts %i phases of a car that draws %i W, if 10 A is reported for all of them',
    (phases, powerW) => {
      const charger = charging({ only: 'W', abilities: { units: ['W'] } })
        .unplug()
        .plugIn(78)
        .pass(1);
      charger.values({ currentA: [10, 10, 10], namesPhases: false, powerW });
      charger.grant(14.4, 6);
      expect(charger.limit).toBe(Math.floor(14.4 * phases * 230));
    },
  );

  it('in watts counts no phases if one current is reported for all of them, and no power', () => {
    const charger = charging({ only: 'W', abilities: { units: ['W'] } })
      .unplug()
      .plugIn(78)
      .pass(1);
    charger.values({ currentA: [10, 10, 10], namesPhases: false, powerW: undefined });
    charger.grant(24, 6);
    expect(charger.limit).toBe(24 * 230);
  });

  it('in watts is the power of one phase until the car has shown its number of phases, or of three if they need it to begin', () => {
    const charger = new TestCharger({ only: 'W', abilities: { units: ['W'] } }).connect().boot().pass(11);
    charger.grant(32, 6);
    expect(charger.limit).toBe(32 * 230);
    charger.grant(14.4, 6);
    expect(charger.limit).toBe(3 * 6 * 230);
  });

  it('that the charger rounds down is reported as it shows it: a car that draws all of that needs more', () => {
    const charger = charging({ roundsDown: true }).grant(8.9, 6);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 8 });
    charger.pass(10);
    expect(charger.meters().at(-1)).toMatchObject({ limitA: 8 });
  });

  it('that something else keeps the charger below is reported as it is: that may be over any time', () => {
    const charger = charging({ neverAbove: 10 }).grant(16, 6);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
  });

  it('of a transaction ends with it: then the fail-safe holds, and the service receives that', () => {
    const charger = charging().grant(16, 6).pass(1);
    charger.unplug().pass(2);
    expect(charger.limit).toBe(6);
    expect(charger.meters().at(-1)).toMatchObject({ epoch: 0, seq: 0, limitA: 6, status: 'Available' });
  });
});

describe('A lease of before a transaction', () => {
  it('does not hold again with its end, even if its acceptance by the charger is unknown', () => {
    const charger = new TestCharger().connect().boot().pass(12);
    charger.behaviour = { losesAnswers: true };
    charger.grant(30, 6).pass(1);
    charger.behaviour = {};
    charger.plugIn().pass(11).grant(10, 6).pass(6);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 10 });
    charger.unplug();
    expect(charger.limit).toBe(6);
  });
});

describe('A lease is not claimed', () => {
  const nothing = [
    ['keeps one period of two', { losesPeriods: true }, 'does not lower its current'],
    ['takes profiles and ignores them', { ignores: true }, 'has not shown yet'],
    ['refuses profiles', { refuses: true }, 'refuses charging profiles: Rejected'],
    ['does not show its schedule', { hidesSchedule: true }, 'does not show its composite schedule'],
    ['keeps no limit offline', { abilities: { hindrance: { why: 'offline', wayOut: '' } } }, 'offline'],
    ['knows no smart charging', { abilities: { whyNot: 'no SmartCharging' } }, 'no SmartCharging'],
    ['never answers', { neverAnswers: true }, 'not shown'],
  ] as const;

  it.each(nothing)('of a charger that %s', (_, behaviour, why) => {
    const charger = charging(behaviour);
    for (let i = 0; i < 20; i++) charger.grant(32, 6).pass(10);
    expect(charger.lease?.lease).toBe('none');
    expect(charger.notes.at(-1)).toMatch(why);
  });

  const alarm = (charger: TestCharger) => charger.lease?.whyNoLease;

  it.each([
    ['setFailsafe', 'it does not answer a limit: no answer came'],
    ['setLease', 'it does not answer a limit: no answer came'],
    ['readSchedule', 'it does not answer the request for its limit: no answer came'],
    ['clear', 'it does not answer the removal of a limit: no answer came'],
    ['sample', 'it does not answer the order of its meter interval: no answer came'],
    ['readAbilities', 'it does not answer the request for its capabilities: no answer came'],
  ] as const)(
    'of a charger that does not answer %s, and asked twice in vain that is why, with an alarm until it answers',
    (kind, why) => {
      const charger = new TestCharger().connect();
      charger.failing = kind;
      charger.boot().pass(2).plugIn().renewed(20, 16, 6).renewed(40, 16, 6);
      expect(charger.lease).toMatchObject({ lease: 'none', whyNoLease: why });
      expect(charger.notes.at(-1)).toBe(why);
      charger.failing = undefined;
      charger.renewed(60, 16, 6);
      expect(charger.lease?.lease).toBe('heartbeat');
      expect(alarm(charger)).toBeUndefined();
      expect(charger.notes.at(-1)).toBeUndefined();
    },
  );

  it('of a charger that does not answer once, and that is no reason for an alarm', () => {
    const charger = new TestCharger().connect();
    charger.failing = 'setFailsafe';
    charger.boot().pass(25);
    expect(charger.lease?.lease).toBe('none');
    expect(alarm(charger)).toBeUndefined();
  });

  it('only if the charger never showed it: the limits of one that did and does not answer now end by themselves', () => {
    const charger = charging().grant(16, 6).pass(1);
    charger.failing = 'setLease';
    charger.grant(12, 6).renewed(40, 12, 6);
    expect(charger.lease).toMatchObject({ lease: 'heartbeat' });
  });

  it('of a charger that begins its schedule at its receipt, and not at its start', () => {
    const charger = charging({ ignoresStart: true });
    charger.grant(32, 6);
    expect(charger.lease?.lease).toBe('none');
    expect(charger.notes.at(-1)).toMatch('does not lower its current when the lease ends');
  });

  it('of a charger that shows no limit, which is written as one below 0', () => {
    const charger = new TestCharger({ hidesIdle: true }).connect().boot().pass(11);
    for (let i = 0; i < 10; i++) charger.grant(32, 6).pass(10);
    expect(charger.lease?.lease).toBe('none');
    expect(charger.notes.at(-1)).toMatch('only while a transaction runs');
    expect(charger.acks()).toEqual([]);
    charger.plugIn().pass(11).grant(32, 6).pass(1);
    expect(charger.lease?.lease).toBe('heartbeat');
  });

  it('until the end of a lease is lower than it: a pause that falls back to more shows nothing', () => {
    const charger = charging({}, { failsafeA: 0 }).grant(0, 0).pass(1);
    expect(charger.lease?.lease).toBe('none');
  });

  it('if the fall-back is no lower, it has to fall back to nothing until it has shown that it does', () => {
    const charger = charging().grant(6, 6).pass(1);
    const [first] = charger.requests.filter((request) => request.kind === 'setLease');
    expect(first).toMatchObject({ schedule: { limit: 6, thenLimit: 0 } });
    expect(charger.lease?.lease).toBe('heartbeat');
    charger.renewed(60, 6, 6);
    const last = charger.requests.findLast((request) => request.kind === 'setLease');
    expect(last).toMatchObject({ schedule: { limit: 6, thenLimit: 6 } });
  });
});

describe('A proven lease is lost', () => {
  const proven = (...options: ConstructorParameters<typeof TestCharger>) => {
    const charger = charging(...options)
      .grant(16, 6)
      .pass(1);
    expect(charger.lease?.lease).toBe('heartbeat');
    return charger;
  };

  it('when the clock of the charger is set back, or forward, and comes back after it ran steadily', () => {
    for (const stepMs of [-30_000, 30_000, 3_600_000, -3_600_000]) {
      const charger = proven().renewed(40, 16, 6);
      charger.ownOffsetMs += stepMs;
      charger.renewed(25, 16, 6);
      expect(charger.lease?.lease).toBe('none');
      expect(charger.notes.at(-1)).toMatch(stepMs < 0 ? /back/ : /forward/);
      charger.renewed(200, 16, 6);
      expect(charger.lease?.lease).toBe('heartbeat');
    }
  });

  it('by its clock, and comes back while its limit is 0 A: it has shown that it lowers itself, and it shows its limits again', () => {
    const charger = proven().renewed(40, 16, 6);
    charger.ownOffsetMs -= 30_000;
    charger.renewed(200, 0, 0);
    expect(charger.lease?.lease).toBe('heartbeat');
  });

  it('by its clock, and not before it has taken a lease by the one that it has now', () => {
    const charger = proven().renewed(40, 16, 6);
    charger.ownOffsetMs -= 3_600_000;
    charger.pass(200);
    expect(charger.lease?.lease).toBe('none');
    charger.grant(0, 0).pass(1);
    expect(charger.lease?.lease).toBe('heartbeat');
    // The earlier lease would count again by the new clock.
    charger.cut();
    for (let second = 0; second < 4_000; second++) {
      charger.nowMs += 1_000;
      expect(charger.limit).toBe(0);
    }
  });

  it('by its clock, and not before that has run steadily: without contact meanwhile, it may have lost all', () => {
    const charger = proven().renewed(40, 16, 6);
    charger.ownOffsetMs -= 30_000;
    charger.renewed(25, 16, 6);
    expect(charger.lease?.lease).toBe('none');
    charger.cut();
    charger.unanswered(130).connect().unanswered(1);
    expect(charger.lease?.lease).toBe('none');
    charger.values();
    expect(charger.unanswered(1).lease?.lease).toBe('heartbeat');
  });

  it('when its clock runs more than 2 % slow or fast, and not when it runs 1 % so', () => {
    for (const [secondLastsS, lease] of [
      [1.05, 'none'],
      [0.95, 'none'],
      [1.01, 'heartbeat'],
      [0.99, 'heartbeat'],
    ] as const) {
      const charger = proven({ secondLastsS }).renewed(500, 16, 6);
      expect([secondLastsS, charger.lease?.lease]).toEqual([secondLastsS, lease]);
    }
  });

  it('with its start, until it has shown itself anew', () => {
    const charger = proven();
    charger.boot().pass(2);
    expect(charger.lease?.lease).toBe('none');
    expect(charger.acks().length).toBe(1);
    charger.plugIn(78).pass(11).grant(16, 6).pass(1);
    expect(charger.lease?.lease).toBe('heartbeat');
  });

  it('and its maximum is its own fail-safe, when it lost the configured one at a start', () => {
    const charger = new TestCharger().connect().boot().pass(12).grant(16, 6).pass(1);
    expect(charger.lease?.lease).toBe('heartbeat');
    charger.store.clearAll();
    charger.boot().pass(12).grant(16, 6).pass(5);
    expect(charger.lease).toMatchObject({ lease: 'none', failsafeA: 32 });
    expect(charger.lease?.whyNoLease).toBe(
      'it lost its fail-safe at its start; restart it: its leases count again once it keeps the fail-safe over a start',
    );
  });

  it('at each start at which it forgot its fail-safe, until it has kept it over one', () => {
    const charger = new TestCharger().connect().boot().pass(12).grant(16, 6).pass(1);
    for (let start = 0; start < 3; start++) {
      charger.store.clearAll();
      charger.boot().pass(12).grant(16, 6).pass(5);
      expect(charger.lease).toMatchObject({ lease: 'none', failsafeA: 32 });
    }
    charger.boot().pass(12).grant(16, 6).pass(5);
    expect(charger.lease).toMatchObject({ lease: 'heartbeat', failsafeA: 6 });
  });

  it('when it loses a period, and the grant is refused unless its meter shows that it follows the limit', () => {
    const charger = proven().change({ losesPeriods: true });
    charger.grant(10, 6).pass(1);
    expect(charger.lease?.lease).toBe('none');
    expect(charger.acks().length).toBe(1);
    charger.values = () => {};
    charger.pass(20);
    expect(charger.acks().at(-1)).toMatchObject({ seq: 2, result: 'REJECTED' });
  });

  it('and metered compliance acknowledges a grant without a lease', () => {
    const charger = proven().change({ losesPeriods: true });
    charger.grant(10, 6).pass(12);
    expect(charger.acks().at(-1)).toMatchObject({ seq: 2, result: 'APPLIED' });
    expect(charger.lease?.lease).toBe('none');
  });
});

describe('A charger that does not show its schedule', () => {
  it('is asked for its meter values, so that it can show its draw however rarely it reports', () => {
    const charger = charging({ hidesSchedule: true });
    const say = charger.values.bind(charger);
    charger.values = () => {};
    charger.grant(10, 6).pass(4);
    expect(charger.requests.at(-1)?.kind).not.toBe('askValues');
    charger.pass(2);
    expect(charger.requests.at(-1)).toEqual({ kind: 'askValues', evse: 1 });
    say();
    charger.pass(1);
    expect(charger.acks().at(-1)).toMatchObject({ seq: 1, result: 'APPLIED' });
    const { length } = charger.requests;
    charger.pass(20);
    expect(charger.requests.slice(length).map(({ kind }) => kind)).not.toContain('askValues');
  });

  it('and sends no values after two requests, is refused its grant after 15 s', () => {
    const charger = charging({ hidesSchedule: true });
    charger.values = () => {};
    charger.grant(10, 6).pass(14);
    expect(charger.acks()).toEqual([]);
    expect(charger.requests.filter(({ kind }) => kind === 'askValues').length).toBeGreaterThanOrEqual(2);
    charger.pass(2);
    expect(charger.acks().at(-1)).toMatchObject({ seq: 1, result: 'REJECTED' });
  });
});

describe('A clock that is set back by two seconds', () => {
  const set = (charger: TestCharger) => {
    charger.asksTime(() => charger.grant(16, 6));
    charger.ownOffsetMs -= 2_000;
    return charger.pass(1);
  };

  it("costs no lease, and the charger's limits are counted by it from the next grant on", () => {
    const charger = set(charging().renewed(60, 16, 6)).renewed(12, 16, 6);
    expect(charger.lease?.lease).toBe('heartbeat');
    const newest = charger.requests.findLast(({ kind }) => kind === 'setLease');
    const countsFromOwnMs = newest?.kind === 'setLease' ? newest.schedule.startsAtOwnMs + 10_000 : 0;
    expect(countsFromOwnMs).toBeLessThanOrEqual(charger.ownMs);
    expect(charger.ownMs - countsFromOwnMs).toBeLessThan(12_000);
  });

  it('makes no lease of an idle charger longer, whose heartbeats count by the earlier reading of its clock', () => {
    const charger = new TestCharger().connect().boot().pass(12).grant(16, 6).pass(1);
    set(charger.status('Available').status('Preparing'));
    const { hb } = charger;
    while (charger.hb === hb) charger.pass(0.1);
    const { nowMs: saidAtMs } = charger;
    charger.grant(10, 6).pass(0.1);
    charger.cut();
    expect(charger.limit).toBe(10);
    while (charger.limit === 10) charger.nowMs += 100;
    expect(charger.nowMs - saidAtMs).toBeLessThanOrEqual(60_200);
    expect(charger.nowMs - saidAtMs).toBeGreaterThan(58_000);
  });
});

describe('A charger that requests the time', () => {
  const charging16 = () => charging().renewed(60, 16, 6);
  const isEndOpen = (charger: TestCharger) => charger.meters().at(-1)?.isEndOpen === true;

  it('receives it once the service has answered a heartbeat with open ends of leases, which holds for all until its clock is checked', () => {
    const charger = charging16();
    expect(isEndOpen(charger)).toBe(false);
    charger.failing = 'readSchedule';
    expect(charger.asksTime(() => charger.grant(16, 6))).toBe(true);
    expect(isEndOpen(charger.pass(12))).toBe(true);
    charger.failing = undefined;
    expect(isEndOpen(charger.pass(12).renewed(20, 16, 6))).toBe(false);
    expect(charger.lease?.lease).toBe('heartbeat');
  });

  it('does not receive it by an answer to an earlier heartbeat, nor by one to an earlier life', () => {
    const charger = charging16();
    const { hb } = charger;
    expect(charger.asksTime(() => charger.grant(16, 6, { ref: hb }))).toBe(false);
    expect(charger.asksTime(() => charger.grant(16, 6, { boot: 'boot-0' }))).toBe(false);
  });

  it('does not receive it while no heartbeat reaches the service, and goes on with its lease', () => {
    const charger = charging16();
    expect(charger.asksTime(() => {})).toBe(false);
    expect(isEndOpen(charger.pass(11))).toBe(false);
    const { seq = 0 } = charger.grant(16, 6).pass(1).acks().at(-1) ?? {};
    expect(charger.meters().at(-1)).toMatchObject({ limitA: 16 });
    expect(charger.renewed(20, 16, 6).acks().at(-1)?.seq).toBeGreaterThan(seq);
  });

  it('receives it if the last lease that it may have taken ended so long ago that no answer renews it', () => {
    const charger = charging16();
    const asks = (seconds: number) => charger.pass(seconds).asksTime(() => {});
    expect([20, 50, 15].map(asks)).toEqual([false, false, false]);
    expect(asks(30)).toBe(true);
  });

  it('does not receive it while an answer might renew an ended lease: the service may count on it no more', () => {
    const charger = charging16();
    const asks = (seconds: number) => charger.pass(seconds).asksTime(() => charger.grant(0, 0));
    expect(asks(65)).toBe(false);
    expect(isEndOpen(charger)).toBe(false);
    charger.renewed(15, 16, 6);
    expect(charger.meters().at(-1)).toMatchObject({ limitA: 16 });
    expect(asks(1)).toBe(true);
  });

  it('does not receive it if its lease ends before the service receives that', () => {
    const charger = charging16().pass(1).grant(10, 6, { ttlS: 15 }).pass(1);
    const { endsAtMs = 0 } = charger.session.leaseAt(1)?.held ?? {};
    // The lease ends before that second is over, by the slowest clock, too.
    charger.pass((endsAtMs - charger.nowMs) / 1_000 - 0.2);
    expect(charger.asksTime(() => charger.grant(16, 6))).toBe(false);
    expect(isEndOpen(charger)).toBe(true);
  });

  it('does not receive it if a lease has ended that it may have taken after the present one', () => {
    const charger = charging16();
    charger.failing = 'setLease';
    charger.grant(20, 6, { ttlS: 15 }).pass(1);
    charger.grant(10, 6, { ttlS: 15 }).pass(22);
    charger.failing = undefined;
    expect(charger.asksTime(() => charger.grant(10, 6))).toBe(false);
  });

  it('receives it if a lease has ended and it is reported without lease: its maximum is reserved', () => {
    const charger = charging({ hidesSchedule: true }).grant(16, 6, { ttlS: 15 }).pass(25);
    expect(charger.lease?.lease).toBe('none');
    expect(charger.asksTime(() => {})).toBe(false);
    expect(charger.pass(1).asksTime(() => charger.grant(6, 6))).toBe(true);
  });

  it('receives it, whenever its lease ends, if the service counts on that already', () => {
    const charger = charging16();
    // The charger takes no limit between 0 and 6 A.
    expect(charger.asksTime(() => charger.grant(3, 0))).toBe(true);
    expect(charger.pass(65).asksTime(() => charger.grant(16, 6))).toBe(true);
  });

  it.each([0, 3, 8])('has nothing acknowledged that it shows only then, set back by %i s', (seconds) => {
    const charger = charging16();
    const { boot } = charger.session;
    const seq = (charger.acks().at(-1)?.seq ?? 0) + 1;
    const limit = { boot, epoch: 1, seq, ref: charger.hb, ttlS: 60, limitA: 10, thenA: 6 };
    charger.session.receiveLimit('1', limit, charger.nowMs);
    const set = charger.session.takeRequest(charger.nowMs);
    if (set?.request.kind !== 'setLease') throw new Error('no limit was set');
    charger.store.setLease(set.request.slot, set.request.schedule, charger.ownMs);
    charger.session.answered(set.ticket, { kind: 'done' }, charger.nowMs);
    const read = charger.session.takeRequest(charger.nowMs);
    const schedule = charger.store.composite(charger.ownMs, 130, 'A');
    expect(charger.asksTime(() => charger.grant(10, 6, { seq: seq + 1 }))).toBe(true);
    charger.ownOffsetMs -= 1000 * seconds;
    charger.session.answered(read?.ticket ?? 0, { kind: 'schedule', schedule }, charger.nowMs);
    charger.pass(1);
    expect(charger.acks().map((ack) => ack.seq)).not.toContain(seq);
  });

  it('has nothing acknowledged that it showed by the clock of before', () => {
    const charger = charging16();
    const held = charger.acks().at(-1)?.seq ?? 0;
    charger.failing = 'readSchedule';
    charger.grant(10, 6).pass(1);
    charger.failing = undefined;
    expect(charger.asksTime(() => charger.grant(10, 6))).toBe(true);
    expect(charger.acks().at(-1)?.seq).toBe(held);
    charger.pass(6);
    expect(charger.acks().map(({ seq }) => seq)).not.toContain(held + 1);
    expect(charger.acks().at(-1)).toMatchObject({ seq: held + 2, result: 'APPLIED', appliedA: 10 });
  });
});

describe('A charger that receives the time', () => {
  const charging16 = () => charging().renewed(60, 16, 6);
  /** A proof reads a longer schedule, so this counts the other reads. */
  const looks = ({ requests }: TestCharger) =>
    requests.filter((request) => request.kind === 'readSchedule' && request.durationS === 60).length;
  /** The answer to the charger's Heartbeat takes `seconds`, and then the charger sets its clock by it. */
  const sent = (charger: TestCharger, seconds: number) => {
    charger.asksTime(() => charger.grant(16, 6));
    charger.nowMs += 1000 * seconds;
    charger.ownOffsetMs -= 1000 * seconds;
    return charger;
  };

  it('and whose connection breaks before its clock was checked reports open ends of leases until it was', () => {
    const charger = sent(charging16(), 0).cut().connect();
    charger.failing = 'readSchedule';
    expect(charger.pass(5).meters().at(-1)).toMatchObject({ isEndOpen: true });
    charger.failing = undefined;
    expect(charger.renewed(20, 16, 6).meters().at(-1)).not.toHaveProperty('isEndOpen');
    expect(charger.lease?.lease).toBe('heartbeat');
  });

  it('is given no limit by its clock before that was looked at, and is asked again every 5 s', () => {
    const charger = charging16();
    charger.failing = 'readSchedule';
    charger.asksTime(() => charger.grant(16, 6));
    const asked = charger.requests.length;
    charger.pass(0).grant(20, 6).pass(11);
    expect(charger.requests.slice(asked).map(({ kind }) => kind)).toEqual(Array(3).fill('readSchedule'));
    charger.failing = undefined;
    expect(charger.pass(6).acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 20 });
  });

  it('is asked for it again where the answer was so long on its way that it shows nothing', () => {
    const charger = charging16();
    charger.asksTime(() => charger.grant(16, 6));
    charger.nowMs += 100;
    const asked = charger.session.takeRequest(charger.nowMs);
    const schedule = charger.store.composite(charger.ownMs, 60, 'A');
    charger.nowMs += 4_000;
    charger.session.answered(asked?.ticket ?? 0, { kind: 'schedule', schedule }, charger.nowMs);
    const before = looks(charger);
    expect(looks(charger.pass(0.8))).toBe(before);
    expect(looks(charger.pass(0.2))).toBe(before + 1);
    expect(charger.pass(1).cut().lease?.lease).toBe('heartbeat');
  });

  it('and set its clock back by more than a step has no lease as soon as it is looked at', () => {
    const charger = sent(charging16(), 8).pass(0.1);
    expect(charger.lease?.lease).toBe('none');
    expect(charger.notes.at(-1)).toMatch(/it went 7 s back/);
  });
});

describe('A charger whose clock is set back by a late answer to its start', () => {
  const LATE_S = [0.5, 1, 1.3, 1.5, 1.7, 1.9, 2.5, 4];
  const cases = [0.1, 0].flatMap((aheadS) => LATE_S.map((lateS) => [lateS, aheadS] as const));

  it.each(cases)(
    'by %f s keeps no lease for longer than it was given, %f s before it is looked at',
    (lateS, aheadS) => {
      const charger = charging().grant(16, 6).pass(1).boot().pass(0.4);
      // The first values still use the clock from before the answer.
      if (aheadS === 0) charger.nowMs += 100;
      charger.values();
      charger.ownOffsetMs -= 1000 * lateS;
      let [{ hb }, saidAtMs] = [charger, charger.nowMs];
      const untilMs = charger.nowMs + 1_500;
      while (charger.nowMs < untilMs) {
        charger.pass(0.1);
        if (charger.hb !== hb) [{ hb }, saidAtMs] = [charger, charger.nowMs];
      }
      charger.grant(16, 6, { ttlS: 15 }).pass(1);
      expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
      charger.cut();
      // The charger's own seconds may last 2 % longer.
      charger.nowMs = saidAtMs + 15_300;
      expect(charger.limit).toBe(6);
    },
  );
});

describe('The start of a charger', () => {
  const failsafes = ({ requests }: TestCharger) => requests.filter(({ kind }) => kind === 'setFailsafe');

  it('has the fail-safe of its newest grant, set before that is acknowledged', () => {
    const charger = charging().grant(16, 0).pass(1);
    expect(charger.requests.at(-1)).toEqual({ kind: 'setFailsafe', evse: 1, unit: 'A', limit: 0 });
    expect(charger.acks()).toMatchObject([{ seq: 1, result: 'APPLIED' }]);
    expect(charger.lease).toMatchObject({ lease: 'heartbeat', failsafeA: 0, keepsThen: true });
    charger.unplug().boot().pass(2);
    expect(charger.limit).toBe(0);
    expect(charger.lease).toMatchObject({ failsafeA: 0, keepsThen: true });
  });

  it('is written where it changes, and by no renewal', () => {
    const charger = charging();
    const before = failsafes(charger).length;
    charger.renewed(120, 16, 6);
    expect(failsafes(charger).length).toBe(before);
    charger.renewed(120, 16, 0);
    charger.renewed(120, 16, 6);
    expect(failsafes(charger).slice(before)).toMatchObject([{ limit: 0 }, { limit: 6 }]);
  });

  it('may be either while it has not answered, and its grant is not acknowledged', () => {
    const charger = charging().grant(16, 6).pass(1);
    charger.failing = 'setFailsafe';
    charger.grant(16, 0).pass(12);
    expect(charger.acks().length).toBe(1);
    expect(charger.lease).toMatchObject({ failsafeA: 6 });
    charger.failing = undefined;
    charger.pass(6);
    expect(charger.acks().at(-1)).toMatchObject({ seq: 2, result: 'APPLIED' });
    expect(charger.lease).toMatchObject({ failsafeA: 0 });
  });

  it('and it refuses to change costs it its lease', () => {
    const charger = charging().grant(16, 6).pass(1);
    charger.refusing = 'setFailsafe';
    charger.grant(16, 0).pass(2);
    expect(charger.acks().at(-1)).toMatchObject({ seq: 2, result: 'REJECTED' });
    expect(charger.lease).toMatchObject({ lease: 'none' });
    expect(charger.notes.at(-1)).toMatch('refuses its fail-safe');
  });
});

describe("A charger that shows its limit from the schedule's begin on, and not from now", () => {
  it('has a lease while it is idle, though its clock was estimated to a part of a second', () => {
    const charger = new TestCharger({ showsFromStart: true });
    charger.ownOffsetMs += 137;
    charger.connect().boot().pass(15).grant(16, 6).pass(20);
    expect(charger.notes.at(-1)).toBeUndefined();
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
  });

  it('has it again, by its present clock, once it has sent a timestamp after it received the time', () => {
    const charger = idle({ showsFromStart: true }).renewed(40, 16, 6);
    expect(charger.asksTime(() => charger.grant(16, 6))).toBe(true);
    // The answer took 20 s.
    charger.ownOffsetMs -= 20_000;
    charger.renewed(60, 20, 6);
    expect(charger.notes.at(-1)).toBeUndefined();
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 20 });
    charger.cut();
    charger.nowMs += 61_000;
    expect(charger.limit).toBe(6);
  });

  it('keeps it, however often that is written again', () => {
    for (const begin of [idle, charging]) {
      const charger = begin({ showsFromStart: true });
      charger.ownOffsetMs += 137;
      for (let turn = 0; turn < 40; turn++) charger.renewed(10, turn % 2 === 0 ? 16 : 12, 6);
      expect(charger.notes.at(-1)).toBeUndefined();
      expect(charger.acks().length).toBeGreaterThanOrEqual(40);
      expect(charger.acks().every(({ result }) => result === 'APPLIED')).toBe(true);
    }
  });
});

describe('A charger that shows limits only while it charges', () => {
  it('keeps the lease it has proven when its transaction ends', () => {
    const charger = charging({ hidesIdle: true }).grant(16, 6).pass(1);
    charger.unplug().pass(2).grant(6, 6).pass(12);
    expect(charger.lease?.lease).toBe('heartbeat');
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED' });
  });

  it('is remembered over a start with the same firmware, and not with another', () => {
    for (const [firmware, lease] of [
      ['Maker Model 1.0', 'heartbeat'],
      ['Maker Model 1.1', 'none'],
    ] as const) {
      const charger = charging({ hidesIdle: true }).grant(16, 6).pass(1);
      expect(charger.session.provenFirmware).toEqual({ '1': 'Maker Model 1.0' });
      charger.unplug().boot(firmware).pass(12).grant(6, 6).pass(1);
      expect(charger.lease?.lease).toBe(lease);
    }
  });

  it('is forgotten once it does not keep its lease in a transaction', () => {
    const charger = charging(
      { hidesIdle: true, losesPeriods: true },
      { provenFirmware: { '1': 'Maker Model 1.0' } },
    );
    charger.grant(16, 6).pass(1);
    expect(charger.session.provenFirmware).toBeUndefined();
    expect(charger.lease?.lease).toBe('none');
  });
});

describe('A charger that goes on while the gateway is another', () => {
  /** Another gateway takes the charger over, with the stored facts of the one before. */
  function takenOver(charger: TestCharger, more: { hasStarted?: boolean } = {}): TestCharger {
    const { store, nowMs, ownOffsetMs } = charger;
    const { fallbacksA } = charger.session;
    const next = new TestCharger(charger.behaviour, {
      provenFirmware: { '1': 'Maker Model 1.0' },
      fallbacksA,
    });
    Object.assign(next, { store, nowMs: nowMs + 20_000, ownOffsetMs });
    next.connect();
    if (more.hasStarted === true) next.boot();
    return next.plugIn(charger.transaction);
  }

  const leases = (charger: TestCharger) =>
    charger.said.flatMap((message) =>
      message.kind === 'state' ? (message.body.connectors ?? []).map(({ lease }) => lease) : [],
    );

  it('is never reported without lease: no other connector is paused for it', () => {
    const charger = takenOver(charging().grant(16, 6).pass(1)).pass(14);
    expect(leases(charger)).toEqual(['heartbeat']);
    expect(charger.said[0]).toMatchObject({ kind: 'meter' });
    charger.grant(16, 6).pass(1);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED' });
    expect(leases(charger)).not.toContain('none');
  });

  it('keeps the fail-safe that it received last', () => {
    const charger = takenOver(charging().grant(16, 0).pass(1)).pass(14);
    expect(charger.lease).toMatchObject({ lease: 'heartbeat', failsafeA: 0, keepsThen: true });
    charger.store.clear('transaction');
    expect(charger.limit).toBe(0);
  });

  it('receives the time once it keeps to a lease of this gateway: the end of earlier ones is unknown', () => {
    const charger = takenOver(charging().grant(16, 6).pass(1)).pass(3);
    expect(charger.asksTime(() => charger.grant(16, 6))).toBe(false);
    charger.renewed(30, 16, 6);
    expect(charger.asksTime(() => charger.grant(16, 6))).toBe(true);
  });

  it('is looked at anew where it has started meanwhile', () => {
    const charger = takenOver(charging().grant(16, 6).pass(1), { hasStarted: true }).pass(3);
    expect(leases(charger)[0]).toBe('none');
  });

  it('loses its lease with the first grant where it keeps it no longer', () => {
    const before = charging().grant(16, 6).pass(1).change({ losesPeriods: true });
    const charger = takenOver(before).pass(14).grant(20, 6).pass(1);
    expect(leases(charger).at(-1)).toBe('none');
  });

  it('and is slow to answer is never reported without lease either, and goes on with the next', () => {
    const before = charging().grant(16, 6).pass(1);
    before.behaviour = { answersAfterS: 8 };
    const charger = takenOver(before);
    charger.renewed(90, 16, 6);
    expect(new Set(leases(charger))).toEqual(new Set(['heartbeat']));
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
  });

  it('and does not answer once is asked again before anything is reported', () => {
    const before = charging().grant(16, 6).pass(1);
    const charger = takenOver(before);
    charger.failing = 'readAbilities';
    charger.pass(20);
    charger.failing = undefined;
    charger.pass(20);
    expect(leases(charger)).toEqual(['heartbeat']);
  });

  it('and answers nothing for a minute is reported as it is', () => {
    const before = charging().grant(16, 6).pass(1);
    before.behaviour = { neverAnswers: true };
    const charger = takenOver(before).pass(58);
    expect(leases(charger)).toEqual([]);
    expect(charger.session.nextDueMs(charger.nowMs)).toBeLessThanOrEqual(charger.nowMs + 2_000);
    expect(leases(charger.pass(2))).toEqual(['none']);
  });

  it('and answers for five minutes without a word of its clock is reported as it is', () => {
    const { session } = charging().grant(16, 6).pass(1);
    const { fallbacksA } = session;
    const charger = new TestCharger(
      { hidesSchedule: true },
      { provenFirmware: { '1': 'Maker Model 1.0' }, fallbacksA },
    );
    charger.connect().session.receivedStatus(1, 'Available', undefined, charger.nowMs);
    expect(leases(charger.pass(299))).toEqual([]);
    expect(leases(charger.pass(1))).toEqual(['none']);
  });
});

describe('A connector that is reported free while its transaction runs', () => {
  /** The charger reports its connector free, by default for long enough that the gateway accepts this. */
  function interrupted(seconds = 4): TestCharger {
    return charging().grant(16, 6).renewed(2, 16, 6).status('Available').renewed(seconds, 16, 6);
  }

  const runs = (charger: TestCharger) => charger.session.leaseAt(1)?.transaction;

  it.each([
    ['values of it come', (charger: TestCharger) => charger.status('Charging').renewed(11, 16, 6)],
    ['values come that show that it draws, whatever it says', (charger) => charger.renewed(11, 16, 6)],
    [
      'it says something of it',
      (charger) => {
        charger.status('Charging').session.transactionGoesOn(1, 77, charger.ownMs);
        return charger.pass(1);
      },
    ],
    [
      'it starts, with another time, and goes on with it',
      (charger) => {
        charger.ownOffsetMs -= 3_600_000;
        return charger.boot().pass(12);
      },
    ],
    [
      'its clock is set back by an hour, that is seen, and values of it come',
      (charger) => {
        charger.ownOffsetMs -= 3_600_000;
        return charger.status('Charging').pass(260);
      },
    ],
  ] as [string, (charger: TestCharger) => TestCharger][])('has it again once %s', (_, goesOn) => {
    const charger = goesOn(interrupted());
    expect(runs(charger)).toBe(77);
    charger.renewed(70, 16, 6);
    expect(charger.lease).toMatchObject({ lease: 'heartbeat' });
    expect(charger.limit).toBe(16);
    expect(charger.meters().at(-1)?.powerW).toBe(690 * 16);
  });

  it('and is taken at its word again within 3 s has lost nothing: no lease, no limit and no value', () => {
    const charger = interrupted(0.5);
    expect(runs(charger)).toBe(77);
    charger.status('Charging').renewed(60, 16, 6);
    const meters = charger.meters().slice(-6);
    expect(new Set(meters.map(({ status, powerW }) => `${status} ${powerW}`))).toEqual(
      new Set([`Charging ${690 * 16}`]),
    );
    expect(charger.requests).not.toContainEqual(
      expect.objectContaining({ kind: 'setLease', slot: 'default' }),
    );
    expect(charger.limit).toBe(16);
  });

  it('is free at once after a report of its end, and after 3 s without one', () => {
    const charger = charging().status('Available').pass(1);
    charger.session.transactionEnded(77, charger.nowMs);
    charger.transaction = undefined;
    expect(charger.pass(1).meters().at(-1)).toMatchObject({ status: 'Available', powerW: 0 });
    const silent = charging().status('Available');
    silent.values = () => {};
    expect(silent.pass(2).meters().at(-1)?.status).toBe('Charging');
    expect(silent.session.nextDueMs(silent.nowMs)).toBe(silent.nowMs + 1_000);
    expect(silent.pass(2).meters().at(-1)).toMatchObject({ status: 'Available', powerW: 0 });
  });

  it('has lost it where only values of before come, and such that show its last moment', () => {
    const charger = interrupted();
    const freeAtOwnMs = charger.ownMs - 4_000;
    charger.values = () => {};
    const say = (more: Partial<MeteredValues>) =>
      TestCharger.prototype.values.call(charger, { transaction: 77, ...more });
    say({ ownMs: freeAtOwnMs + 1_000, powerW: 0, currentA: [0, 0, 0] });
    charger.status('Charging');
    say({ ownMs: freeAtOwnMs - 3_000 });
    charger.session.transactionGoesOn(1, 77, freeAtOwnMs - 3_000);
    charger.pass(1);
    expect(runs(charger)).toBeUndefined();
  });

  it('has lost it if another transaction has begun, or its end is reported', () => {
    const other = interrupted().plugIn(78);
    other.values({ transaction: 77 });
    expect(runs(other)).toBe(78);
    const ended = interrupted().status('Charging');
    ended.session.transactionEnded(77, ended.nowMs);
    ended.pass(11).values();
    expect(runs(ended)).toBeUndefined();
  });
});

describe('The connection of a charger', () => {
  it('may break and come back: start, heartbeats and lease go on', () => {
    const charger = charging().grant(16, 6).pass(1);
    const { boot } = charger.session;
    const { hb } = charger;
    charger.cut();
    charger.nowMs += 10_000;
    charger.connect().pass(1);
    expect(charger.session.boot).toBe(boot);
    expect(charger.hb).toBe(hb + 1);
    expect(charger.meters().at(-1)).toMatchObject({ epoch: 1, seq: 1, limitA: 16 });
  });

  it.each([
    ['the same: its car draws what it drew', 77, 690 * 16],
    ['another: its car begins at 0', 78, 0],
  ])('is new, and it reports on that which transaction runs, %s', (_, transaction, powerW) => {
    const charger = charging().grant(16, 6).pass(12);
    charger.cut();
    charger.connect();
    charger.session.transactionBegan(1, transaction, charger.nowMs);
    charger.pass(2);
    expect(charger.meters().at(-1)).toMatchObject({ status: 'Charging', powerW });
  });

  it('comes back after so long that its values are old: that its transaction still runs is no value of now', () => {
    const charger = charging().grant(16, 6).pass(12);
    charger.values = () => {};
    charger.cut();
    charger.unanswered(60);
    const before = charger.meters().length;
    charger.connect();
    charger.session.transactionBegan(1, 77, charger.nowMs);
    charger.pass(5);
    expect(charger.meters().length).toBe(before);
  });

  it('may break while a grant is on its way: it is not acknowledged, as its outcome is unknown', () => {
    const charger = charging().change({ neverAnswers: true });
    charger.grant(16, 6).pass(1);
    charger.cut();
    charger.connect().pass(5);
    expect(charger.acks()).toEqual([]);
  });

  it('delivers stored messages: old values are no heartbeat', () => {
    const charger = charging();
    const before = charger.meters().length;
    charger.values({ ownMs: charger.ownMs - 60_000 });
    charger.pass(1);
    expect(charger.meters().length).toBe(before);
  });

  it('has nothing due for an unreachable service, and all of it once that is back', () => {
    const charger = charging().grant(16, 6);
    charger.nowMs += 2_000;
    charger.values();
    expect(charger.session.nextDueMs(charger.nowMs)).toBe(charger.nowMs);
    expect(charger.session.nextDueMs(charger.nowMs, false)).toBeGreaterThan(charger.nowMs + 1_000);
    const before = charger.meters().length;
    expect(charger.pass(0).meters().length).toBe(before + 1);
  });

  it('delivers all that was kept back together: its clock was not set back for that', () => {
    const charger = charging().grant(16, 6).pass(1);
    const keptOwnMs = charger.ownMs - 60_000;
    for (const laterMs of [0, 0, 1_000, 2_000]) {
      charger.values({ ownMs: keptOwnMs + laterMs });
      charger.pass(1.2);
    }
    expect(charger.lease).toMatchObject({ lease: 'heartbeat' });
  });

  it('delivers stored messages of an ended transaction, ever more slowly: nothing runs again, and its clock is right', () => {
    const charger = charging().grant(16, 6).pass(1);
    const keptOwnMs = charger.ownMs - 60_000;
    charger.unplug().pass(2);
    const before = charger.meters().length;
    for (const apartS of [0, 1, 4, 8, 16]) {
      charger.pass(apartS);
      charger.values({ ownMs: keptOwnMs + 1_000 * apartS, transaction: 77 });
    }
    charger.pass(15);
    expect(charger.lease).toMatchObject({ lease: 'heartbeat' });
    expect(charger.session.leaseAt(1)?.transaction).toBeUndefined();
    expect(
      new Set(
        charger
          .meters()
          .slice(before)
          .map(({ powerW }) => powerW),
      ),
    ).toEqual(new Set([0]));
    // The same transaction may be reported as running again, if its end was a mistake.
    charger.plugIn(77);
    expect(charger.session.leaseAt(1)?.transaction).toBe(77);
  });

  it('sends everything that the service requests', () => {
    const charger = charging();
    const before = charger.said.length;
    charger.session.receiveSync();
    charger.pass(1);
    expect(charger.said.slice(before).map(({ kind }) => kind)).toEqual(['state', 'meter']);
  });
});

describe('The OCPP state of a connector', () => {
  const statesOf = ({ said }: TestCharger) =>
    said.flatMap((message) => (message.kind === 'state' ? [message.body.connectors?.[0]?.ocppState] : []));

  it('is in every report to the service, from the connection to the lease', () => {
    const charger = charging().grant(16, 6).pass(30);
    expect(statesOf(charger)).toEqual(['booting', 'unleased', 'leased']);
  });

  it('is reported once it has lasted for half a heartbeat, without another reason for a report', () => {
    const charger = new TestCharger({ neverAnswers: true }).connect().pass(6.5);
    expect(statesOf(charger)).toEqual(['booting']);
    expect(charger.session.connectors()[0]?.state).toBe('configuring');
    expect(charger.session.nextDueMs(charger.nowMs)).toBeLessThanOrEqual(charger.nowMs + 500);
    charger.pass(1);
    expect(statesOf(charger)).toEqual(['booting', 'configuring']);
    charger.pass(120);
    expect(statesOf(charger)).toEqual(['booting', 'configuring']);
  });

  it('is due at no time while the service receives no reports', () => {
    const charger = new TestCharger({ neverAnswers: true }).connect().pass(6.5);
    charger.nowMs += 10_000;
    charger.session.advance(charger.nowMs);
    expect(charger.session.nextDueMs(charger.nowMs, true)).toBe(charger.nowMs);
    expect(charger.session.nextDueMs(charger.nowMs, false)).toBeGreaterThan(charger.nowMs);
  });

  it.each([
    [2, 1],
    [4, 1],
    [8, 1],
    [14, 20],
  ])(
    'that changes twice in each %d s causes at most %d reports in 140 s, with a heartbeat of 10 s',
    (everyS, most) => {
      const charger = idle();
      charger.change({ refuses: true, answersAfterS: everyS / 2 });
      const before = statesOf(charger).length;
      for (let seconds = 0; seconds < 140; seconds += everyS) {
        charger.grant(16, 6);
        expect(charger.session.connectors()[0]?.state).toBe('provingLease');
        charger.pass(everyS / 2);
        expect(charger.session.connectors()[0]?.state).toBe('unleased');
        charger.pass(everyS / 2);
      }
      expect(statesOf(charger).length - before).toBeLessThanOrEqual(most);
    },
  );
});
