// Configures a charge point for leases by its machine: sends each step as a request, and judges the answer.
import { initialTransition } from 'xstate';
import type { SessionState } from '../values/session-state.js';
import {
  type ChargePointEvent,
  type ChargePointState,
  type ConfigurationStep,
  chargePointMachine,
  type InstallationStep,
  type StepOutcome,
} from './charge-point.machine.js';
import type { ChargerAbilities, GatewayAnswer, GatewayRequest } from './gateway-request.js';
import { periodsFromStart, type RateUnit, type ShownSchedule, showsNothing } from './lease-schedule.js';
import { stepsOf } from './next-state.js';
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

/** Length of the composite schedule in which the gateway looks for the fail-safe after a boot, s. */
export const FAILSAFE_LOOK_S = 60;
/** The service reserves the charger's maximum meanwhile, so the text names the remedy. */
const FORGOTTEN =
  'it lost its fail-safe at its start; restart it: its leases count again once it keeps the fail-safe over a start';
const ABILITIES_UNKNOWN: ChargerAbilities = {
  whyNot: 'it does not report its capabilities',
  units: ['A', 'W'],
  hindrance: undefined,
  summary: '',
};

const next = stepsOf(chargePointMachine, { evses: [], isTakenUp: false });

export class ChargePoint {
  readonly #connectors: readonly SessionConnector[];
  readonly #heartbeatMs: number;
  readonly #onConfigured: () => void;
  #state: ChargePointState;
  /** The first step of the state is on its way to the charger. */
  #isAsking = false;

  /** @param options.isTakenUp an earlier gateway configured the charger, which has not started since */
  constructor(options: {
    readonly connectors: readonly SessionConnector[];
    readonly heartbeatMs: number;
    readonly isTakenUp: boolean;
    readonly onConfigured: () => void;
  }) {
    const { connectors, heartbeatMs, isTakenUp, onConfigured } = options;
    this.#connectors = connectors;
    this.#heartbeatMs = heartbeatMs;
    this.#onConfigured = onConfigured;
    const evses = connectors.map(({ spec }) => spec.evse);
    [this.#state] = initialTransition(chargePointMachine, { evses, isTakenUp });
  }

  get state(): ChargePointState {
    return this.#state;
  }

  /** Next change without a message; infinite without one. */
  get dueAtMs(): number {
    return this.#state.context.dueAtMs;
  }

  /** The charger may be asked about leases. */
  get isConfigured(): boolean {
    return this.#state.value.configuration === 'configured';
  }

  /** State of all its connectors until the charger is configured; undefined from then on. */
  get stateBefore(): SessionState | undefined {
    const { connection, configuration } = this.#state.value;
    if (connection === 'disconnected' || connection === 'rejected') return connection;
    if (configuration === 'configured') return undefined;
    if (connection !== 'connected') return 'booting';
    const progress = 'started' in configuration ? configuration.started : configuration.takenUp;
    return progress === 'installingFailsafe' ? 'installingFailsafe' : 'configuring';
  }

  /** The charger falls back to its fail-safes by itself. */
  get hasFailsafe(): boolean {
    const { failsafe, configuration } = this.#state.value;
    const isKept = typeof failsafe === 'object' && failsafe.installed === 'kept';
    return isKept && (configuration === 'configured' || !('started' in configuration));
  }

  /** Reason why the charger can keep no lease, in words; undefined if no reason is known. */
  get whyNot(): string | undefined {
    const { connection, failsafe } = this.#state.value;
    if (connection === 'rejected') return 'its management system rejects it';
    const { abilities, whyRefused } = this.#state.context;
    const why = abilities?.whyNot ?? abilities?.hindrance?.why;
    if (why !== undefined) return why;
    if (failsafe === 'refused') return whyRefused;
    return typeof failsafe === 'object' && failsafe.installed === 'forgotten' ? FORGOTTEN : undefined;
  }

  opened(nowMs: number): void {
    this.#isAsking = false;
    this.#follow({ type: 'charger.connected', nowMs });
  }

  closed(): void {
    this.#isAsking = false;
    this.#follow({ type: 'charger.disconnected' });
  }

  /** The charger started anew, so the whole configuration repeats. */
  booted(nowMs: number): void {
    this.#isAsking = false;
    this.#follow({ type: 'charger.booted', nowMs });
  }

  /** Its management system rejected its start. */
  rejected(): void {
    this.#follow({ type: 'charger.rejected' });
  }

  /** The charger gets no lease before its configuration. */
  advance(nowMs: number): void {
    if (nowMs < this.dueAtMs) return;
    const missing: ConfigurationStep[] = [];
    for (const { spec, status, lacksValues } of this.#connectors) {
      if (status === undefined) missing.push({ kind: 'askStatus', evse: spec.evse });
      // Without values the gateway can report nothing of a charging connector before its next report.
      if (lacksValues) missing.push({ kind: 'askValues', evse: spec.evse });
    }
    this.#follow({ type: 'time.passed', nowMs, missing });
  }

  /** The next request of the configuration if none is under way. */
  nextJob(): Job | undefined {
    const [step] = this.#state.context.steps;
    if (step === undefined || this.#isAsking) return undefined;
    this.#isAsking = true;
    const request = this.#requestOf(step);
    const done = (answer: GatewayAnswer, nowMs: number) => {
      this.#isAsking = false;
      const wasConfigured = this.isConfigured;
      this.#follow({ type: 'step.answered', outcome: this.#outcomeOf(step, answer), nowMs });
      if (this.isConfigured && !wasConfigured) this.#onConfigured();
    };
    return { request, done };
  }

  #follow(event: ChargePointEvent): void {
    this.#state = next(this.#state, event);
  }

  get #hasDc(): boolean {
    return this.#connectors.some(({ spec }) => spec.dc !== undefined);
  }

  #at(evse: number): SessionConnector | undefined {
    return this.#connectors.find(({ spec }) => spec.evse === evse);
  }

  #requestOf(step: ConfigurationStep): GatewayRequest {
    switch (step.kind) {
      case 'sample':
        // The control pilot of AC does not carry the state of charge.
        return { kind: 'sample', everyS: this.#heartbeatMs / 1000, withSoc: this.#hasDc };
      case 'clearTransaction':
        return { kind: 'clear', evse: step.evse, slot: 'transaction' };
      case 'clearDefault':
        return { kind: 'clear', evse: step.evse, slot: 'default' };
      case 'lookForFailsafe': {
        const unit = this.#at(step.evse)?.lease.rate.unit ?? 'A';
        return { kind: 'readSchedule', evse: step.evse, durationS: FAILSAFE_LOOK_S, unit };
      }
      case 'installFailsafe':
        return step.request;
      default:
        return step;
    }
  }

  #outcomeOf(step: ConfigurationStep, answer: GatewayAnswer): StepOutcome {
    if (answer.kind === 'failed') return { kind: 'lost' };
    switch (step.kind) {
      case 'readAbilities':
        return this.#learned(answer.kind === 'abilities' ? answer.abilities : ABILITIES_UNKNOWN);
      case 'lookForFailsafe':
        return answer.kind === 'schedule' ? this.#lookedFor(step.evse, answer.schedule) : { kind: 'done' };
      case 'installFailsafe':
        return this.#installed(step, answer);
      default:
        return { kind: 'done' };
    }
  }

  #learned(abilities: ChargerAbilities): StepOutcome {
    for (const { lease } of this.#connectors) lease.learn(abilities);
    const steps = this.#connectors.map((connector) => installationOf(connector, connector.lease.rate.unit));
    return { kind: 'learned', abilities, steps };
  }

  #lookedFor(evse: number, schedule: ShownSchedule): StepOutcome {
    const lease = this.#at(evse)?.lease;
    if (lease === undefined) return { kind: 'done' };
    if (showsNothing(schedule) && lease.showsIdle !== true) return { kind: 'done' };
    const most = lease.failsafe.requestOf(lease.rate, schedule.unit, lease.failsafe.mostA).limit + 0.05;
    const isKept =
      !showsNothing(schedule) && periodsFromStart(schedule).every(({ limit }) => limit >= 0 && limit <= most);
    return { kind: isKept ? 'done' : 'forgotten' };
  }

  #installed({ request }: InstallationStep, answer: GatewayAnswer): StepOutcome {
    const { evse, unit, limit } = request;
    const connector = this.#at(evse);
    if (answer.kind !== 'refused') {
      if (answer.kind === 'done') connector?.lease.tookFailsafe(unit, limit);
      return { kind: 'done' };
    }
    const [usual, other] = connector?.lease.units ?? [];
    const takesOther = other !== undefined && this.#state.context.abilities?.units.includes(other) === true;
    if (connector !== undefined && unit === usual && takesOther)
      return { kind: 'repeats', step: installationOf(connector, other) };
    return { kind: 'refused', why: `it refuses its fail-safe: ${answer.why}` };
  }
}

function installationOf({ lease }: SessionConnector, unit: RateUnit): InstallationStep {
  const request = lease.failsafe.requestOf(lease.rate, unit, lease.failsafe.mostA);
  return { kind: 'installFailsafe', request };
}
