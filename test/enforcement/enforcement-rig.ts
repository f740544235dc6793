// A running service and virtual chargers on its real broker, under one virtual clock that waits for messages in flight.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import type { AlarmKind } from '../../machines/ledger/grant.js';
import { createVirtualClock, type VirtualClock } from '../../sim/virtual-clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { alarmListSchema } from '../../src/features/alarms/contract.js';
import type { Store } from '../../src/ports/store.js';
import type { Seams } from '../../src/service.js';
import { eventually, Patience } from '../eventually.js';
import { freePort } from '../free-port.js';
import { bodyOf } from '../service/answers.js';
import { profileAt } from '../service/profiles.js';
import { type RunningService, runService } from '../service/running-service.js';
import { type LocationPlan, provisioned } from './location-plan.js';
import { createMeasure, type Measure } from './measure.js';
import { type ChargerPlan, type RigCharger, startRigCharger } from './rig-charger.js';

export interface EnforcementRig {
  readonly clock: VirtualClock;
  readonly mqttUrl: string;
  readonly chargers: readonly RigCharger[];
  charger(controllerUuid: string): RigCharger;
  /** Measures the draw of a location's chargers against its permanent limit, until `becomes` sets another limit. */
  limitOf(locationId: string): Measure;
  /** Checks the chargers of several locations together against `limitKw` from now on. */
  holdTogether(locationIds: readonly string[], limitKw: number): Measure;
  /** The physical power at the location, kW. */
  powerKw(locationId: string): number;
  call: RunningService['call'];
  /** Submits a limit for the location from `startsInS` on, for `lastsS`. */
  limitLocation(
    locationId: string,
    limitKw: number,
    span?: { startsInS?: number; lastsS?: number; priority?: number },
  ): Promise<void>;
  lock(
    controllerUuid: string,
    limitKw: number,
    span?: { startsInS?: number; lastsS?: number; priority?: number },
  ): Promise<void>;
  /** All alarms ever raised at the location, as stored, oldest first. */
  alarms(locationId: string, kind?: AlarmKind): Promise<readonly StoredAlarm[]>;
  /** Lets virtual time pass. After each step, all sent messages have been received. */
  pass(seconds: number, stepS?: number): Promise<void>;
  /** Lets time pass until `isSo`, and resolves to the seconds. Fails after `withinS`. */
  until(what: string, isSo: () => unknown, withinS: number, stepS?: number): Promise<number>;
  /** Resolves after all sent messages have been received. */
  settle(): Promise<void>;
  /** Records that a charger outside this rig received a limit. */
  noteLimitHeard(): void;
  cut(charger: RigCharger): Promise<void>;
  restore(charger: RigCharger): Promise<void>;
  /**
   * Stops the service for `downS` and starts another one on its data. `whileDown` may change the database in between.
   * All connected chargers come back.
   */
  restartService(downS: number, whileDown?: (databaseUrl: string) => Promise<void>): Promise<void>;
  readonly databaseUrl: string;
  /** The sum of a counter of the service over all matching labels. */
  counted(counter: Counted, labels?: object): Promise<number>;
  /** Fails if chargers ever exceeded their limit, or if a decision failed. */
  stop(): Promise<void>;
}

type Counted =
  | 'overload'
  | 'shed'
  | 'mqttMessages'
  | 'mqttRefusals'
  | 'ledgerViolations'
  | 'grants'
  | 'openAlarms'
  | 'fusePhases';

interface StoredAlarm {
  readonly kind: AlarmKind;
  readonly reason: string;
  readonly controllerUuid: string | null;
  readonly endedAt: string | null;
}

/** Turns of the event loop without a message. A message on a local socket takes one or two. */
const QUIET_TURNS = 8;
/** Rounds in a row, before other threads and processes get time. */
const ROUNDS_AT_ONCE = 50;
/**
 * A message that does not arrive within this real time was lost with a connection. The virtual clock does not count it.
 */
const LOST_AFTER_MS = 300;
const LOOK_EVERY_MS = 500;
const STARTS_AT_MS = Date.parse('2026-06-01T12:00:00.000Z');
const WINDOW_S = 86_400;

export async function createEnforcementRig(
  plans: readonly LocationPlan[],
  options: {
    readonly environment?: Readonly<Record<string, string>>;
    readonly wrapStore?: (store: Store) => Store;
    readonly log?: Seams['log'];
  } = {},
): Promise<EnforcementRig> {
  const clock = createVirtualClock(STARTS_AT_MS);
  /** Messages between chargers and service, and writes begun and done. */
  const traffic = { said: 0, heard: 0, writing: 0, written: 0 };
  /** Messages lost with a connection. */
  let unheard = { upward: 0, downward: 0 };
  /** Chargers whose connection is cut. */
  const gone = new Set<RigCharger>();

  const onSaid = (count: number) => {
    traffic.said += count;
  };
  const onHeard = () => void traffic.heard++;

  function wrapStore(store: Store): Store {
    const wrapped = options.wrapStore?.(store) ?? store;
    return {
      ...wrapped,
      async append(tenantUuid, changes) {
        traffic.writing++;
        try {
          await wrapped.append(tenantUuid, changes);
        } finally {
          traffic.writing--;
          traffic.written++;
        }
      },
    };
  }

  const seams = { clock, wrapStore, ...(options.log && { log: options.log }) };
  let service = await runService([provisioned(plans)], seams, {
    HEADROOM_MQTT_PORT: String(await freePort()),
    ...options.environment,
  });
  const start = (locationId: string, plan: ChargerPlan, nth: number) =>
    startRigCharger({ clock, url: service.mqttUrl, locationId, plan, nth, onSaid, onHeard });
  const chargers = plans.flatMap(({ locationId, chargers }) =>
    chargers.flatMap((plan, i) => (plan.isAbsent === true ? [] : [start(locationId, plan, i + 1)])),
  );
  const measures = new Map<string, Measure>();
  for (const { locationId, permanentLimitKw } of plans) {
    measures.set(
      locationId,
      createMeasure(clock, locationId, permanentLimitKw, () => powerKw(locationId)),
    );
  }

  function powerKw(locationId: string): number {
    let sumW = 0;
    for (const { charger, locationId: at } of chargers) {
      if (at !== locationId) continue;
      charger.advance(clock.monotonicMs());
      sumW += charger.physicalPowerW();
    }
    return sumW / 1000;
  }

  function look(): void {
    for (const measure of measures.values()) measure.check();
    clock.after(LOOK_EVERY_MS, look);
  }

  async function counted(counter: Counted, labels: object = {}): Promise<number> {
    const { values } = await service.metrics[counter].get();
    let sum = 0;
    for (const value of values) {
      const fits = Object.entries(labels).every(([name, label]) => Reflect.get(value.labels, name) === label);
      if (fits) sum += value.value;
    }
    return sum;
  }

  /** Resolves after some turns of the event loop without any message or write. */
  async function becomeQuiet(): Promise<void> {
    let seen = '';
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      await nextTurn();
      const now = `${traffic.said} ${traffic.heard} ${traffic.written}`;
      if (now !== seen || traffic.writing > 0) quiet = 0;
      seen = now;
    }
  }

  /** Messages sent and not received so far. */
  async function leftUnheard(): Promise<typeof unheard> {
    await becomeQuiet();
    const upward = traffic.said - (await counted('mqttMessages'));
    return { upward, downward: (await counted('grants')) - traffic.heard };
  }

  async function settle(): Promise<void> {
    const isMore = (now: typeof unheard) => now.upward > unheard.upward || now.downward > unheard.downward;
    let now = await leftUnheard();
    for (let rounds = 1; isMore(now) && rounds < ROUNDS_AT_ONCE; rounds++) now = await leftUnheard();
    const patience = isMore(now) ? new Patience(LOST_AFTER_MS) : undefined;
    while (isMore(now) && (await patience?.lasts())) now = await leftUnheard();
    unheard = now;
  }

  async function pass(seconds: number, stepS = 1): Promise<void> {
    const untilMs = clock.monotonicMs() + seconds * 1000;
    for (let leftMs = seconds * 1000; leftMs > 0; leftMs = untilMs - clock.monotonicMs()) {
      clock.advance(Math.min(stepS * 1000, leftMs));
      await settle();
    }
  }

  async function until(what: string, isSo: () => unknown, withinS: number, stepS = 1): Promise<number> {
    const sinceMs = clock.monotonicMs();
    for (;;) {
      if (isSo()) return (clock.monotonicMs() - sinceMs) / 1000;
      if (clock.monotonicMs() - sinceMs >= withinS * 1000) {
        const each = chargers.map((charger) => {
          const { controllerUuid } = charger;
          return `${controllerUuid}: ${charger.heldA()} A ${charger.reason()}, draws ${charger.drawnA().toFixed(1)} A`;
        });
        throw new Error(`not within ${withinS} s: ${what}\n${each.join('\n')}`);
      }
      await pass(stepS, stepS);
    }
  }

  /**
   * Calls `bring`, which makes `comers` connect to the broker, and waits for each connection. It may be cut again by
   * then.
   */
  async function come(comers: readonly RigCharger[], bring: () => Promise<void>): Promise<void> {
    const before = new Map(comers.map((charger) => [charger, charger.connections()]));
    await bring();
    await eventually(() => {
      for (const charger of comers) expect(charger.connections()).toBeGreaterThan(before.get(charger) ?? 0);
    });
    await settle();
  }

  async function submit(
    path: string,
    limitKw: number,
    span: { startsInS?: number; lastsS?: number; priority?: number },
  ) {
    const { startsInS = 0, lastsS = WINDOW_S, priority = 0 } = span;
    const body = profileAt(clock.nowMs(), {
      startsInMs: startsInS * 1000,
      endsInMs: (startsInS + lastsS) * 1000,
      limitKw,
      priority,
    });
    const { status } = await service.call('POST', path, body);
    expect(status).toBe(200);
    await settle();
  }

  await eventually(() =>
    expect(Math.min(...chargers.map((charger) => charger.connections()))).toBeGreaterThan(0),
  );
  await settle();
  look();
  return {
    clock,
    get mqttUrl() {
      return service.mqttUrl;
    },
    chargers,
    charger(controllerUuid) {
      const found = chargers.find((each) => each.controllerUuid === controllerUuid);
      if (found === undefined) throw new Error(`no charger ${controllerUuid}`);
      return found;
    },
    limitOf(locationId) {
      const measure = measures.get(locationId);
      if (measure === undefined) throw new Error(`no location ${locationId}`);
      return measure;
    },
    holdTogether(locationIds, limitKw) {
      const sumKw = () => locationIds.reduce((sum, id) => sum + powerKw(id), 0);
      const measure = createMeasure(clock, locationIds.join(' + '), limitKw, sumKw);
      measures.set(locationIds.join(' + '), measure);
      return measure;
    },
    powerKw,
    call: (...request) => service.call(...request),
    limitLocation: (locationId, limitKw, span = {}) =>
      submit(`/locations/${locationId}/schedules`, limitKw, span),
    lock: (controllerUuid, limitKw, span = {}) =>
      submit(`/chargers/${controllerUuid}/connectors/1/schedules`, limitKw, span),
    async alarms(locationId, kind) {
      await settle();
      const { alarms } = bodyOf(
        await service.call('GET', `/locations/${locationId}/alarms`),
        alarmListSchema,
      );
      return alarms.filter((alarm) => kind === undefined || alarm.kind === kind).reverse();
    },
    pass,
    until,
    settle,
    noteLimitHeard: onHeard,
    async cut(charger) {
      gone.add(charger);
      charger.link.cut();
      const left = chargers.length - gone.size;
      await eventually(async () =>
        expect((await service.metrics.mqttConnections.get()).values[0]?.value).toBeLessThanOrEqual(left),
      );
      await settle();
    },
    async restore(charger) {
      gone.delete(charger);
      await come([charger], async () => charger.link.restore());
    },
    get databaseUrl() {
      return databaseUrlOf(service.config);
    },
    async restartService(downS, whileDown = async () => {}) {
      const there = chargers.filter((charger) => !gone.has(charger));
      for (const { link } of there) link.cut();
      await come(there, async () => {
        const later = { ...seams, wrapStore: (store: Store) => wrapStore(afterTheOldOne(store)) };
        service = await service.restart(later, () => whileDown(databaseUrlOf(service.config)));
        Object.assign(traffic, { said: 0, heard: 0 });
        unheard = { upward: 0, downward: 0 };
        for (const { link } of there) link.restore();
      });

      function afterTheOldOne(store: Store): Store {
        clock.advance(downS * 1000);
        return store;
      }
    },
    counted,
    async stop() {
      const overshoots = [...measures.values()].flatMap((measure) => measure.overshoots());
      const failures = await counted('ledgerViolations');
      // No charger signs off, because the service is about to stop too.
      for (const { link } of chargers) link.cut();
      await Promise.all(chargers.map(({ link }) => link.stop()));
      await service.stop();
      expect(overshoots).toEqual([]);
      expect(failures).toBe(0);
    },
  };
}
