// A charger that was charging before the gateway started. Its first messages may be old or not name its transaction.
import { describe, expect, it } from 'vitest';
import { ChargerSession, type Proofs } from '../../machines/session/charger-session.js';
import type {
  GatewayAnswer,
  GatewayMessage,
  GatewayRequest,
} from '../../machines/session/gateway-request.js';
import { ProfileStore } from '../../sim/charger/ocpp-evse.js';
import { requestsAtOnce, TestCharger } from './ocpp-charger.js';

const FIRMWARE = 'Maker Model 1.0';

/** The charger charges under a lease from the earlier gateway. */
function charging(): TestCharger {
  return new TestCharger().connect().boot().pass(2).plugIn().pass(11).grant(16, 6).pass(1);
}

/** The same charger 80 s later, before it connects to another gateway with the stored facts of the earlier one. */
function taken(): TestCharger {
  const { store, nowMs, ownOffsetMs, session } = charging();
  const next = new TestCharger({}, { provenFirmware: { '1': FIRMWARE }, fallbacksA: session.fallbacksA });
  const now = { nowMs: nowMs + 80_000, ownOffsetMs, transaction: 77, isCharging: true };
  return Object.assign(next, { store, ...now });
}

/** The same, but its transaction has ended meanwhile. */
function takenIdle(): TestCharger {
  return Object.assign(taken(), { transaction: undefined, isCharging: false });
}

/** The charger sends no values by itself while `pass` runs. */
function quietly(charger: TestCharger, pass: () => void): void {
  charger.values = () => {};
  pass();
  Reflect.deleteProperty(charger, 'values');
}

function timesAsked(charger: TestCharger, kind: GatewayRequest['kind']): number {
  return charger.requests.filter((request) => request.kind === kind).length;
}

function timesSaid(charger: TestCharger, lease: 'heartbeat' | 'none'): number {
  const states = charger.said.flatMap((message) => (message.kind === 'state' ? [message.body] : []));
  return states.filter(({ connectors = [] }) => connectors[0]?.lease === lease).length;
}

describe('A charger that another gateway takes up', () => {
  it('and that delivers stored messages first, has its lease counted anew as soon as its clock is known', () => {
    const charger = taken();
    const { session, nowMs } = charger.connect();
    session.receivedStatus(1, 'Charging', undefined, nowMs);
    charger.values({ ownMs: charger.ownMs - 80_000 });
    quietly(charger, () => charger.pass(3).grant(16, 6).pass(1).grant(16, 6));
    expect(charger.lease).toMatchObject({ lease: 'heartbeat' });
    expect(timesSaid(charger, 'none')).toBe(0);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
    expect(charger.limit).toBe(16);
  });

  it('and that reports only a car, gets no earlier limit before a transaction', () => {
    const charger = taken();
    charger.connect().status('Preparing');
    quietly(charger, () => charger.renewed(9, 16, 6));
    expect(charger.meters()).toEqual([]);
    charger.renewed(4, 16, 6);
    expect(charger.meters()[0]?.powerW).toBeGreaterThan(0);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
    expect(charger.requests).not.toContainEqual(
      expect.objectContaining({ kind: 'setLease', slot: 'default' }),
    );
  });

  it('and whose car does not charge, is idle after its time to send values, and on its next connection at once', () => {
    const charger = takenIdle();
    charger.connect().status('Preparing').pass(12);
    expect(charger.meters()).toEqual([]);
    charger.pass(1);
    expect(charger.meters()).toMatchObject([{ status: 'Preparing', powerW: 0 }]);
    charger.cut().connect().pass(2);
    expect(charger.meters()).toHaveLength(2);
  });

  it('and that starts with a car there, is idle at once', () => {
    const charger = takenIdle();
    charger.connect().boot().status('Preparing').pass(2);
    expect(charger.meters().at(-1)).toMatchObject({ status: 'Preparing', powerW: 0 });
  });

  it('and that has no car, is idle at once, and is not asked for values', () => {
    const charger = takenIdle();
    charger.connect().status('Available').pass(3);
    expect(charger.meters()[0]).toMatchObject({ status: 'Available', powerW: 0 });
    expect(timesAsked(charger, 'sample')).toBe(1);
    expect(timesAsked(charger, 'askValues')).toBe(0);
  });

  it('and that has sent values, is not asked for them', () => {
    const charger = taken();
    charger.connect().status('Charging').pass(3);
    expect(timesAsked(charger, 'sample')).toBe(1);
    expect(timesAsked(charger, 'askValues')).toBe(0);
  });

  it('and that starts, is asked for its values, though it reports by itself that it charges', () => {
    const charger = taken();
    charger.connect().boot();
    quietly(charger, () => charger.pass(2));
    expect(timesAsked(charger, 'askValues')).toBe(1);
  });

  it('and that does not send the requested values, is made ready without, and asked again every 30 s', () => {
    const charger = taken();
    charger.failing = 'askStatus';
    charger.connect();
    quietly(charger, () => charger.pass(3));
    expect(timesAsked(charger, 'sample')).toBe(1);
    expect(timesAsked(charger, 'askValues')).toBe(1);
    expect(timesAsked(charger, 'askStatus')).toBe(1);
    quietly(charger, () => charger.pass(30));
    expect(timesAsked(charger, 'askStatus')).toBe(2);
    quietly(charger, () => charger.pass(30));
    expect(timesAsked(charger, 'askStatus')).toBe(3);
  });

  it('and that refuses to send the requested values, is made ready without, and asked once more', () => {
    const charger = taken();
    charger.refusing = 'askStatus';
    charger.connect();
    quietly(charger, () => charger.pass(3));
    expect(timesAsked(charger, 'sample')).toBe(1);
    expect(timesAsked(charger, 'askStatus')).toBe(1);
    quietly(charger, () => charger.pass(90));
    expect(timesAsked(charger, 'askStatus')).toBe(2);
  });
});

/**
 * A charger with two connectors behind successive gateways. The second connector takes limits, or only accepts and
 * ignores them.
 */
class TwoConnectors {
  session: ChargerSession;
  readonly #stores = [1, 2].map(() => new ProfileStore({ losesPeriods: false, ignoresStart: false }));
  readonly #keepsSecond: boolean;
  #said: GatewayMessage[] = [];
  #nowMs = 1_000_000;
  #seq = 0;

  constructor({ keepsSecond }: { readonly keepsSecond: boolean }) {
    this.#keepsSecond = keepsSecond;
    this.session = this.#behindGateway();
    this.session.booted(FIRMWARE, this.#nowMs);
    this.#report();
    this.#pass(12);
  }

  /**
   * Another gateway takes over while the charger goes on.
   * @param provenFirmware as stored by the earlier gateway
   */
  takenUp(provenFirmware: Proofs | undefined = this.session.provenFirmware): this {
    this.session = this.#behindGateway({ provenFirmware, fallbacksA: this.session.fallbacksA });
    this.#said = [];
    this.#report();
    return this.#pass(20);
  }

  /** The last lease states of both connectors, as sent to the service. */
  get leases(): readonly string[] {
    const states = this.#said.flatMap((message) => (message.kind === 'state' ? [message.body] : []));
    return states.at(-1)?.connectors?.map(({ lease }) => lease) ?? [];
  }

  grant(id: '1' | '2'): this {
    const heartbeats = this.#said.flatMap((message) =>
      message.kind === 'meter' && message.connectorId === id ? [message.body.hb] : [],
    );
    const { boot } = this.session;
    const answer = { boot, epoch: 1, seq: ++this.#seq, ref: heartbeats.at(-1) ?? 0 };
    this.session.receiveLimit(id, { ...answer, ttlS: 60, limitA: 16, thenA: 6 }, this.#nowMs);
    return this.#pass(20);
  }

  #behindGateway(kept: Pick<ChargerSession, 'provenFirmware' | 'fallbacksA'> | object = {}): ChargerSession {
    const rated = { phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 } as const;
    const connectors = [1, 2].map((evse) => ({ connectorId: String(evse), evse, ...rated }));
    const newBoot = () => `boot-${this.#nowMs}`;
    const session = new ChargerSession({ connectors, heartbeatMs: 10_000, newBoot, ...kept });
    session.opened(this.#nowMs);
    return session;
  }

  #report(): void {
    for (const evse of [1, 2]) this.session.receivedStatus(evse, 'Available', this.#nowMs, this.#nowMs);
  }

  #pass(seconds: number): this {
    const { session } = this;
    for (const untilMs = this.#nowMs + 1000 * seconds; this.#nowMs < untilMs; this.#nowMs += 100) {
      session.received(this.#nowMs);
      session.advance(this.#nowMs);
      for (const next of requestsAtOnce(session, this.#nowMs))
        session.answered(next.ticket, this.#answer(next.request), this.#nowMs);
      this.#said.push(...session.takeMessages(this.#nowMs));
    }
    return this;
  }

  #answer(request: GatewayRequest): GatewayAnswer {
    if (request.kind === 'readAbilities') {
      const usual = { whyNot: undefined, units: ['A'], hindrance: undefined, summary: '' } as const;
      return { kind: 'abilities', abilities: usual };
    }
    const store = 'evse' in request ? this.#stores[request.evse - 1] : undefined;
    if (store === undefined) return { kind: 'done' };
    if (request.kind === 'setFailsafe') store.setFailsafe(request);
    else if (request.kind === 'setLease' && (request.evse === 1 || this.#keepsSecond))
      store.setLease(request.slot, request.schedule, this.#nowMs);
    else if (request.kind === 'readSchedule')
      return { kind: 'schedule', schedule: this.#shown(store, request) };
    return { kind: 'done' };
  }

  /** A connector that accepts limits without following them shows that no limit is in force. */
  #shown(store: ProfileStore, { evse, durationS, unit }: Extract<GatewayRequest, { kind: 'readSchedule' }>) {
    const shown = store.composite(this.#nowMs, durationS, unit);
    const isIgnored = evse === 2 && !this.#keepsSecond && this.#seq > 0;
    return isIgnored ? { ...shown, periods: [{ startS: 0, limit: 32 }] } : shown;
  }
}

describe('A connector of a charger that another gateway takes up', () => {
  it('keeps no lease where it had shown that it does not, though another connector has shown later that that one does', () => {
    const charger = new TwoConnectors({ keepsSecond: false }).grant('2').grant('1');
    expect(charger.leases).toEqual(['heartbeat', 'none']);
    expect(charger.takenUp().leases).toEqual(['heartbeat', 'none']);
  });

  it('keeps its lease where another connector has shown later that that one does not', () => {
    const charger = new TwoConnectors({ keepsSecond: false }).grant('1').grant('2');
    expect(charger.takenUp().leases).toEqual(['heartbeat', 'none']);
  });

  it('keeps none where it has shown nothing yet, until it does', () => {
    const charger = new TwoConnectors({ keepsSecond: true }).grant('1');
    expect(charger.leases).toEqual(['heartbeat', 'none']);
    expect(charger.takenUp().leases).toEqual(['heartbeat', 'none']);
    expect(charger.grant('2').leases).toEqual(['heartbeat', 'heartbeat']);
    expect(charger.takenUp().leases).toEqual(['heartbeat', 'heartbeat']);
  });

  it('keeps none if the record only has that some connector does, as a gateway of an earlier version wrote it', () => {
    const charger = new TwoConnectors({ keepsSecond: true }).grant('1').grant('2');
    expect(charger.takenUp({}).leases).toEqual(['none', 'none']);
    expect(charger.grant('1').grant('2').leases).toEqual(['heartbeat', 'heartbeat']);
  });
});
