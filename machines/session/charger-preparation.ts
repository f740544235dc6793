// How a charger is made ready for leases: what it can do is read, it is told to report, and it gets its fail-safes.
import type { ChargerAbilities, GatewayAnswer, GatewayRequest } from './gateway-request.js';
import { periodsFromStart, type RateUnit, showsNothing } from './lease-schedule.js';
import type { SessionConnector } from './session-connector.js';

export interface Job {
  readonly request: GatewayRequest;
  readonly done: (answer: GatewayAnswer, nowMs: number) => void;
}

/** A request that is on its way to the charger, with the number its answer comes back with. */
export interface Outstanding {
  readonly ticket: number;
  readonly request: GatewayRequest;
  readonly askedAtMs: number;
}

/** What failed is tried again after this. */
const AGAIN_AFTER_MS = 30_000;
/** A charger that connects without a boot notification is taken to be the one it was after this. */
const BOOT_WITHIN_MS = 2_000;
/** What it is asked waits until it has heard that its boot is accepted. */
const BOOT_SETTLES_MS = 500;
/** How far the fail-safe is looked for after a boot, s. */
export const FAILSAFE_LOOK_S = 60;
/** Its maximum is reserved meanwhile, so it says what helps. */
const FORGOTTEN =
  'it forgot its fail-safe when it started; it is relied upon again once it has kept it over a start: restart it';

export class ChargerPreparation {
  readonly #connectors: readonly SessionConnector[];
  readonly #heartbeatMs: number;
  readonly #onReady: () => void;
  #abilities: ChargerAbilities | undefined;
  #jobs: Job[] = [];
  #dueAtMs = Number.POSITIVE_INFINITY;
  #isReady = false;
  #hasBooted = false;
  /** Fail-safes were installed since its start, by this gateway or by one before it. */
  #isInstalled: boolean;
  #whyNoFailsafe: string | undefined;
  /** It took its fail-safe since its start: at the next one it is seen whether it kept that. */
  #tookFailsafe = true;

  constructor(options: {
    readonly connectors: readonly SessionConnector[];
    readonly heartbeatMs: number;
    /** A gateway before this one has made it ready. */
    readonly isInstalled: boolean;
    readonly onReady: () => void;
  }) {
    this.#connectors = options.connectors;
    this.#heartbeatMs = options.heartbeatMs;
    this.#isInstalled = options.isInstalled;
    this.#onReady = options.onReady;
  }

  /** When it begins; infinite where it is done, or on the way. */
  get dueAtMs(): number {
    return this.#dueAtMs;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Its fail-safes are what it does by itself. */
  get hasFailsafe(): boolean {
    const isThere = this.#isReady || (this.#isInstalled && !this.#hasBooted);
    return isThere && this.#whyNoFailsafe === undefined;
  }

  /** Why it can keep no lease, in words; undefined where nothing known speaks against it. */
  get whyNot(): string | undefined {
    const { whyNot, maxPeriods, maxStackLevel, ignoresOffline } = this.#abilities ?? {};
    if (whyNot !== undefined) return whyNot;
    if (maxPeriods !== undefined && maxPeriods < 2)
      return 'it takes one period only, so that no limit ever ends';
    if (maxStackLevel !== undefined && maxStackLevel < 1)
      return 'it has one stack level only, so that no lease fits above its fail-safe';
    if (ignoresOffline) return 'IgnoredProfilePurposesOffline: it keeps to no limits while it is offline';
    return this.#whyNoFailsafe;
  }

  /** Its connection is open. */
  opened(nowMs: number): void {
    this.#dueAtMs = nowMs + BOOT_WITHIN_MS;
  }

  closed(): void {
    this.#jobs = [];
    this.#dueAtMs = Number.POSITIVE_INFINITY;
  }

  /** It started anew: all of it again. */
  booted(nowMs: number): void {
    this.#abilities = undefined;
    this.#isReady = false;
    this.#hasBooted = true;
    this.#jobs = [];
    this.#dueAtMs = nowMs + BOOT_SETTLES_MS;
  }

  /** The next thing to ask. */
  nextJob(): Job | undefined {
    return this.#jobs.shift();
  }

  /** Reads what it can do, has it send values, and gives it its fail-safes; until then it gets no lease. */
  advance(nowMs: number): void {
    if (nowMs < this.#dueAtMs) return;
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    this.#jobs = [];
    for (const { spec, status, lacksValues } of this.#connectors) {
      if (status === undefined) this.#ask({ kind: 'askStatus', evse: spec.evse });
      // Of one that charges nothing could be said before it reports next.
      if (lacksValues) this.#ask({ kind: 'askValues', evse: spec.evse });
    }
    if (this.#isReady) return;
    this.#ask({ kind: 'readAbilities' }, (answer) => {
      this.#learn(answer);
      for (const connector of this.#connectors) this.#installFailsafe(connector, connector.lease.rate.unit);
    });
    this.#ask({ kind: 'sample', everyS: this.#heartbeatMs / 1000 });
    this.#tookFailsafe = true;
    if (!this.#hasBooted) return;
    this.#whyNoFailsafe = undefined;
    for (const connector of this.#connectors) {
      const { evse } = connector.spec;
      // What it may have kept of its life before could begin to count again when its clock is set.
      this.#ask({ kind: 'clear', evse, slot: 'transaction' });
      this.#ask({ kind: 'clear', evse, slot: 'default' });
      if (this.#isInstalled) this.#lookForFailsafe(connector);
    }
  }

  #ask(request: GatewayRequest, done: (answer: GatewayAnswer, nowMs: number) => void = () => {}): void {
    this.#jobs.push({
      request,
      done: (answer, nowMs) => {
        done(answer, nowMs);
        const isWord = request.kind === 'askStatus' || request.kind === 'askValues';
        // It is made ready whatever it says.
        const goesOn = answer.kind !== 'failed' || (isWord && !this.#isReady);
        if (!goesOn) {
          this.#jobs = [];
          this.#dueAtMs = nowMs + AGAIN_AFTER_MS;
        } else if (this.#jobs.length === 0) {
          this.#finish(nowMs);
        }
      },
    });
  }

  #finish(nowMs: number): void {
    if (this.#isReady) return;
    this.#isReady = true;
    // What it has not said by then, it is asked for again.
    this.#dueAtMs = nowMs + AGAIN_AFTER_MS;
    this.#isInstalled = this.#tookFailsafe;
    this.#hasBooted = false;
    this.#onReady();
  }

  #learn(answer: GatewayAnswer): void {
    if (answer.kind === 'failed') return;
    const unknown = { units: ['A', 'W'], maxStackLevel: 1, maxPeriods: 2, ignoresOffline: false } as const;
    const abilities =
      answer.kind === 'abilities'
        ? answer.abilities
        : { whyNot: 'it does not say what it can do', ...unknown };
    this.#abilities = abilities;
    for (const { lease } of this.#connectors) lease.learn(abilities);
  }

  #lookForFailsafe({ spec, lease }: SessionConnector): void {
    const { unit } = lease.rate;
    const request = { kind: 'readSchedule', evse: spec.evse, durationS: FAILSAFE_LOOK_S, unit } as const;
    this.#ask(request, (answer) => {
      if (answer.kind !== 'schedule') return;
      const { schedule } = answer;
      if (showsNothing(schedule) && lease.trust.showsIdle !== true) return;
      const most = lease.failsafe.requestOf(lease.rate, schedule.unit, lease.failsafe.mostA).limit + 0.05;
      const isKept =
        !showsNothing(schedule) &&
        periodsFromStart(schedule).every(({ limit }) => limit >= 0 && limit <= most);
      if (!isKept) this.#whyNoFailsafe = FORGOTTEN;
    });
  }

  #installFailsafe(connector: SessionConnector, unit: RateUnit): void {
    const { lease } = connector;
    const request = lease.failsafe.requestOf(lease.rate, unit, lease.failsafe.mostA);
    this.#ask(request, (answer) => {
      if (answer.kind === 'done') lease.tookFailsafe(unit, request.limit);
      if (answer.kind !== 'refused') return;
      if (unit === 'A' && this.#abilities?.units.includes('W')) this.#installFailsafe(connector, 'W');
      else {
        this.#tookFailsafe = false;
        this.#whyNoFailsafe ??= `it refuses its fail-safe: ${answer.why}`;
      }
    });
  }
}
