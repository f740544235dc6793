// Prepares a charger for leases: reads its abilities, requests its reports and installs its fail-safes.
import type { ChargerAbilities, GatewayAnswer, GatewayRequest } from './gateway-request.js';
import { periodsFromStart, type RateUnit, showsNothing } from './lease-schedule.js';
import type { SessionConnector } from './session-connector.js';

export interface Job {
  readonly request: GatewayRequest;
  readonly done: (answer: GatewayAnswer, nowMs: number) => void;
}

/** A request on its way to the charger; its answer carries the same `ticket`. */
export interface Outstanding {
  readonly ticket: number;
  readonly request: GatewayRequest;
  readonly askedAtMs: number;
}

/** Delay before a failed request is repeated. */
const AGAIN_AFTER_MS = 30_000;
/** A charger that connects without a boot notification for this long counts as not having started. */
const BOOT_WITHIN_MS = 2_000;
/** Requests wait this long, so that the charger first receives the acceptance of its boot. */
const BOOT_SETTLES_MS = 500;
/** Length of the composite schedule in which the gateway looks for the fail-safe after a boot, s. */
export const FAILSAFE_LOOK_S = 60;
/** The service reserves the charger's maximum meanwhile, so the text names the remedy. */
const FORGOTTEN =
  'it lost its fail-safe at its start; restart it: its leases count again once it keeps the fail-safe over a start';

export class ChargerPreparation {
  readonly #connectors: readonly SessionConnector[];
  readonly #heartbeatMs: number;
  readonly #onReady: () => void;
  #abilities: ChargerAbilities | undefined;
  #jobs: Job[] = [];
  #dueAtMs = Number.POSITIVE_INFINITY;
  #isReady = false;
  #hasBooted = false;
  /** This gateway or an earlier one installed the fail-safes since the charger's start. */
  #isInstalled: boolean;
  #whyNoFailsafe: string | undefined;
  /** The charger took its fail-safe since its start. The next start shows if the charger kept it. */
  #tookFailsafe = true;

  constructor(options: {
    readonly connectors: readonly SessionConnector[];
    readonly heartbeatMs: number;
    /** An earlier gateway prepared the charger. */
    readonly isInstalled: boolean;
    readonly onReady: () => void;
  }) {
    this.#connectors = options.connectors;
    this.#heartbeatMs = options.heartbeatMs;
    this.#isInstalled = options.isInstalled;
    this.#onReady = options.onReady;
  }

  /** Start of the preparation; infinite once it is done or under way. */
  get dueAtMs(): number {
    return this.#dueAtMs;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** The charger falls back to its fail-safes by itself. */
  get hasFailsafe(): boolean {
    const isThere = this.#isReady || (this.#isInstalled && !this.#hasBooted);
    return isThere && this.#whyNoFailsafe === undefined;
  }

  /** Reason why the charger can keep no lease, in words; undefined if no reason is known. */
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

  opened(nowMs: number): void {
    this.#dueAtMs = nowMs + BOOT_WITHIN_MS;
  }

  closed(): void {
    this.#jobs = [];
    this.#dueAtMs = Number.POSITIVE_INFINITY;
  }

  /** The charger started anew, so the whole preparation repeats. */
  booted(nowMs: number): void {
    this.#abilities = undefined;
    this.#isReady = false;
    this.#hasBooted = true;
    this.#jobs = [];
    this.#dueAtMs = nowMs + BOOT_SETTLES_MS;
  }

  nextJob(): Job | undefined {
    return this.#jobs.shift();
  }

  /** Reads the abilities, requests values and installs the fail-safes. The charger gets no lease before that. */
  advance(nowMs: number): void {
    if (nowMs < this.#dueAtMs) return;
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    this.#jobs = [];
    for (const { spec, status, lacksValues } of this.#connectors) {
      if (status === undefined) this.#ask({ kind: 'askStatus', evse: spec.evse });
      // Without values the gateway can report nothing of a charging connector before its next report.
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
      // A lease kept from before the boot could count again once the charger's clock is set.
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
        // A missing status or missing values do not stop the preparation.
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
    // By then the gateway asks again for status and values that are still missing.
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
        : { whyNot: 'it does not report its capabilities', ...unknown };
    this.#abilities = abilities;
    for (const { lease } of this.#connectors) lease.learn(abilities);
  }

  #lookForFailsafe({ spec, lease }: SessionConnector): void {
    const { unit } = lease.rate;
    const request = { kind: 'readSchedule', evse: spec.evse, durationS: FAILSAFE_LOOK_S, unit } as const;
    this.#ask(request, (answer) => {
      if (answer.kind !== 'schedule') return;
      const { schedule } = answer;
      if (showsNothing(schedule) && lease.verification.showsIdle !== true) return;
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
