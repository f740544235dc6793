// `headroom gateway check FILE CHARGER`: acceptance test of one charger. Each requirement of a lease gives a finding,
// and each problem a remedy.
import { randomUUID } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { type DcOutput, dcWOfAmpere } from '../machines/session/dc-output.js';
import type {
  ChargerAbilities,
  GatewayAnswer,
  GatewayMessage,
  GatewayRequest,
  MeterBody,
  MeteredValues,
} from '../machines/session/gateway-request.js';
import type { ConnectorId } from '../machines/values/ids.js';
import { systemClock } from '../src/clock.js';
import type { BridgedConnector, BridgeMonitor, ChargerBridge } from '../src/gateway/charger-bridge.js';
import { OcppGateway } from '../src/gateway/ocpp/ocpp-gateway.js';
import { createLogger } from '../src/log.js';
import type { Clock } from '../src/ports/clock.js';
import { OperatorError } from '../src/ports/operator-error.js';
import type { ProvisioningFile } from '../src/provisioning/provisioning-schema.js';
import { FAILED } from './exit-codes.js';
import {
  addGatewayFlags,
  CHECK_SETTINGS,
  type ConnectionFlags,
  gatewayConfigOf,
  lockOf,
  randomShare,
  tlsOf,
} from './gateway-flags.js';
import { printJson, printLine, printNote } from './print.js';
import { readProvisioningFile } from './provision.js';

// Acceptance test of one charger, step by step, from measurements of the gateway while the running service controls it.

/** `unknown`: the charger could not show the property; this is no reason to refuse it. */
type CheckStatus = 'pass' | 'fail' | 'unknown';

interface CheckFinding {
  readonly check: string;
  readonly status: CheckStatus;
  readonly message: string;
  /** The next step; absent if none is needed. */
  readonly wayOut?: string;
}

type Outcome = Omit<CheckFinding, 'check'>;

interface AcceptanceOptions {
  readonly clock: Clock;
  /** Waiting time for the charger to connect, and again for a car to charge. */
  readonly waitMs: number;
  /** Undefined: the first connector that charges. */
  readonly connectorId: string | undefined;
}

const LOOKS_EVERY_MS = 100;
/** A charger gets one request at a time, and each may take 15 s. */
const PREPARES_WITHIN_MS = 120_000;
const PROVES_WITHIN_MS = 180_000;
/** Longest time in which the current of a car follows a limit. */
const FOLLOWS_WITHIN_MS = 15_000;
/** Longest time until a car charges and the service has granted its share. */
const SETTLES_WITHIN_MS = 60_000;
/** Values arrive within this number of heartbeats. */
const FRESH_HEARTBEATS = 2.5;
/** Assumed accuracy of a meter. */
const TOLERANCE_SHARE = 0.05;
/** A per phase, or kW at the car for DC. */
const TOLERANCE = 0.5;
/** Reactive power and rounding make power and currents differ by up to this share. */
const POWER_FITS_SHARE = 0.2;
const CARRIES_A = 1;
/** The car carries more after a rise of this size: A per phase, or kW at the car for DC. */
const CARRIES = 1;
const RESTART = 'restart the charger during the check';

interface MeterValue {
  readonly body: MeterBody;
  readonly atMs: number;
}

/** The last answer of the charger to each kind of request. */
type Answers = Partial<Record<GatewayRequest['kind'], GatewayAnswer>>;

class ChargerAcceptance implements BridgeMonitor {
  passesLimits = true;
  readonly #options: AcceptanceOptions;
  readonly #values = new Map<ConnectorId, MeterValue[]>();
  readonly #answers: Answers = {};
  /** Behaviour of the charger that contradicts its lease, by connectorId. */
  readonly #alarms = new Map<string, string | undefined>();
  #firmware: string | undefined;
  /** Number of acknowledgements for an applied lease. */
  #applied = 0;

  constructor(options: AcceptanceOptions) {
    this.#options = options;
  }

  sent(message: GatewayMessage<ConnectorId>): void {
    if (message.kind === 'state') {
      this.#firmware = message.body.firmware ?? this.#firmware;
      for (const { id, whyNoLease } of message.body.connectors ?? []) this.#alarms.set(id, whyNoLease);
    } else if (message.kind === 'ack') this.#applied += message.body.result === 'APPLIED' ? 1 : 0;
    else {
      const values = this.#values.get(message.connectorId) ?? [];
      this.#values.set(message.connectorId, values);
      values.push({ body: message.body, atMs: this.#nowMs });
    }
  }

  answered(request: GatewayRequest, answer: GatewayAnswer): void {
    this.#answers[request.kind] = answer;
  }

  /** Yields every check in order, each as soon as it is decided. @param gateway must have exactly one charger */
  async *findings(gateway: OcppGateway): AsyncGenerator<CheckFinding> {
    const [bridge] = gateway.bridges;
    if (bridge === undefined) return;
    const connection = await this.#checkConnection(bridge, gateway);
    yield { check: 'connection', ...connection };
    if (connection.status === 'fail') return;
    yield* this.#checkPreparation();
    const connector = await this.#connectorWithCar(bridge);
    if (connector === undefined) {
      yield {
        check: 'car',
        ...unknown(
          'no connector charges',
          'plug in a car that charges with more than 6 A (DC: more than minPowerKw), and run this again',
        ),
      };
      return;
    }
    yield { check: 'car', ...pass(`charges at connector ${connector.connectorId}`) };
    yield { check: 'meter values', ...(await this.#checkValues(bridge, connector)) };
    const { dc } = connector;
    if (dc === undefined) yield { check: 'phases', ...this.#checkPhases(connector) };
    else yield { check: 'voltage', ...this.#checkVoltage(bridge, connector, dc) };
    const lease = await this.#checkLease(bridge, connector);
    yield { check: 'lease', ...lease };
    if (lease.status === 'fail') return;
    yield* this.#checkDraw(bridge, connector);
  }

  get #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  async #checkConnection(bridge: ChargerBridge, { metrics }: OcppGateway): Promise<Outcome> {
    if (await this.#until(() => bridge.isOpen, this.#options.waitMs)) {
      const { values } = await metrics.chargers.get();
      const protocol = values.find(({ value }) => value > 0)?.labels.protocol;
      return pass(`connected, speaks ${protocol}`);
    }
    const { values } = await metrics.refusals.get();
    const refusals = values.map(({ labels, value }) => `${labels.reason} (${value})`);
    return refusals.length === 0
      ? fail(
          'it did not connect',
          'enter the address of this gateway and its identity in the charger; check network and firewall',
        )
      : fail(
          `it was refused: ${refusals.join(', ')}`,
          'docs/ocpp.md lists the reasons: compare identity, password and version in charger and file',
        );
  }

  async *#checkPreparation(): AsyncGenerator<CheckFinding> {
    // A charger that accepts only watts refuses its first fail-safe, which is in amperes.
    const isDecided = () =>
      this.#answers.setFailsafe?.kind === 'done' ||
      [...this.#alarms.values()].some((why) => why !== undefined);
    await this.#until(isDecided, PREPARES_WITHIN_MS);
    yield {
      check: 'start',
      ...(this.#firmware === undefined
        ? unknown('it did not start during the check, so its firmware is unknown', RESTART)
        : pass(`BootNotification came: ${this.#firmware}`)),
    };
    yield { check: 'profiles', ...judgeAbilities(this.#answers.readAbilities) };
    yield {
      check: 'configuration',
      ...judgeAnswer(this.#answers.sample, {
        done: 'it accepts measurands and interval of its meter values',
        refused:
          'let the maker unlock MeterValuesSampledData and MeterValueSampleInterval (2.0.1: SampledDataCtrlr)',
      }),
    };
    yield {
      check: 'fail-safe',
      ...judgeAnswer(this.#answers.setFailsafe, {
        done: 'it accepts a TxDefaultProfile without end',
        refused: 'it needs the profile SmartCharging and TxDefaultProfile at stack level 0: ask its maker',
      }),
    };
  }

  #whyNot(bridge: ChargerBridge, connectorId: ConnectorId): string | undefined {
    const whyNot = bridge.session.connectors().find((each) => each.connectorId === connectorId)?.whyNot;
    // Before the first request there is no evidence.
    return this.#answers.readAbilities === undefined ? undefined : whyNot;
  }

  async #connectorWithCar(bridge: ChargerBridge): Promise<BridgedConnector | undefined> {
    const { connectorId: wanted, waitMs } = this.#options;
    const chosen = bridge.connectors.filter(
      ({ connectorId }) => wanted === undefined || connectorId === wanted,
    );
    const charging = () =>
      chosen.find(({ connectorId }) => {
        const last = this.#valuesOf(connectorId).at(-1)?.body;
        return last !== undefined && last.status === 'Charging' && last.powerW > 0;
      });
    await this.#until(() => charging() !== undefined, waitMs);
    return charging();
  }

  async #checkValues(bridge: ChargerBridge, { connectorId, phases, dc }: BridgedConnector): Promise<Outcome> {
    const before = this.#valuesOf(connectorId).length;
    const withinMs = FRESH_HEARTBEATS * bridge.heartbeatMs;
    if (!(await this.#until(() => this.#valuesOf(connectorId).length > before, withinMs)))
      return fail(
        `none came within ${withinMs / 1000} s`,
        'set the interval of its meter values to the heartbeat; if it is locked, provision a longer heartbeatS and leaseTtlS',
      );
    const every = `every ${bridge.heartbeatMs / 1000} s`;
    if (dc !== undefined) return judgeDcValues(this.#stateOf(bridge, connectorId).values, dc, every);
    const last = this.#valuesOf(connectorId).at(-1)?.body;
    const missing = [
      ...(last?.currentA === undefined ? ['Current.Import of each phase'] : []),
      ...(last?.voltageV === undefined ? ['Voltage'] : []),
      ...(last?.energyWh === undefined ? ['Energy.Active.Import.Register'] : []),
    ];
    if (last?.currentA === undefined && phases > 1)
      return unknown(
        `${every}, without ${missing.join(', ')}`,
        'all its phases count as used: choose these measurands in the charger if it has them',
      );
    return pass(
      missing.length === 0
        ? `${every}: power, current, voltage, energy`
        : `${every}, without ${missing.join(', ')}`,
    );
  }

  #checkPhases({ connectorId, phases, voltageV }: BridgedConnector): Outcome {
    const last = this.#valuesOf(connectorId).at(-1)?.body;
    if (last?.currentA === undefined)
      return unknown('it measures no currents', 'read a site meter while a car charges');
    const carrying = last.currentA.flatMap((currentA, i) => (currentA > CARRIES_A ? [`L${i + 1}`] : []));
    if (phases === 1 && carrying.length > 1)
      return fail(
        `current on ${carrying.join(', ')}, and one phase in the file`,
        'correct phases in the provisioning file',
      );
    const fromCurrents = last.currentA.reduce(
      (sum, currentA, i) => sum + currentA * (last.voltageV?.[i] || voltageV),
      0,
    );
    if (!fits(fromCurrents, last.powerW))
      return fail(
        `${last.powerW} W, but its currents make ${Math.round(fromCurrents)} W`,
        'units or phases of its meter are wrong: ask its maker; check the number of phases in the file',
      );
    return unknown(
      `current on ${carrying.join(', ')} fits ${last.powerW} W; no charger shows its wiring to the phases of the site`,
      'compare with the site meter while a car of one phase charges, and provision rotation',
    );
  }

  /** A limit in amperes counts at `maxVoltageV`, so no car may have a higher voltage. */
  #checkVoltage(
    bridge: ChargerBridge,
    { connectorId }: BridgedConnector,
    { maxVoltageV }: DcOutput,
  ): Outcome {
    const { unit, values } = this.#stateOf(bridge, connectorId);
    const { powerW, currentA, totalVoltageV: carV } = values ?? {};
    if (carV !== undefined && carV > maxVoltageV)
      return fail(
        `the car has ${rounded(carV)} V, and the file has maxVoltageV ${maxVoltageV}`,
        'provision the highest voltage of its rating plate as maxVoltageV: in amperes it could exceed its grant',
      );
    const fromCurrentW = carV === undefined || currentA === undefined ? undefined : carV * currentA[0];
    if (powerW !== undefined && fromCurrentW !== undefined && !fits(powerW, fromCurrentW))
      return fail(
        `${powerW} W, but its current and its voltage make ${Math.round(fromCurrentW)} W`,
        'units of its meter are wrong: ask its maker',
      );
    const atCar =
      carV === undefined ? 'it does not report the voltage of the car' : `the car has ${rounded(carV)} V`;
    if (unit === 'W') return pass(`it takes watts; ${atCar}`);
    const counted = `it takes amperes, which count at ${maxVoltageV} V`;
    if (carV === undefined)
      return unknown(
        `${counted}; ${atCar}`,
        'compare maxVoltageV with the highest voltage of its rating plate',
      );
    return pass(`${counted}; ${atCar}, and gets ${Math.round((100 * carV) / maxVoltageV)} % of its grant`);
  }

  async #checkLease(bridge: ChargerBridge, connector: BridgedConnector): Promise<Outcome> {
    const { connectorId } = connector;
    const held = () => this.#heldBy(bridge, connector);
    const isKept = () => held().seq > 0 && this.#whyNot(bridge, connectorId) === undefined;
    const isProven = () => isKept() && this.#applied > 0;
    await this.#until(() => isProven() || this.#alarms.get(connectorId) !== undefined, PROVES_WITHIN_MS);
    if (isProven()) {
      const { limit, fallback } = held();
      const { text } = gaugeOf(connector);
      return pass(
        `set to ${text(limit)}, shown in its composite schedule, with ${text(fallback)} after its end`,
      );
    }
    const whyNot = this.#alarms.get(connectorId) ?? this.#whyNot(bridge, connectorId);
    return whyNot === undefined
      ? fail(
          'the service sent it no lease',
          'check that the service runs and has this charger: its log, and /live of the location',
        )
      : fail(
          whyNot,
          'docs/ocpp-chargers.md lists the requirements of a lease; ask the maker for a firmware that meets them',
        );
  }

  /** Withholds limits until the lease ends, as if the service were lost, and lets them pass again. */
  async *#checkDraw(bridge: ChargerBridge, connector: BridgedConnector): AsyncGenerator<CheckFinding> {
    const gauge = gaugeOf(connector);
    const held = () => this.#heldBy(bridge, connector);
    const drawn = () => this.#drawn(connector) ?? 0;
    const isAbove = () => drawn() > gauge.most(held().limit);
    const hasMore = () => drawn() > held().fallback + CARRIES;
    await this.#until(() => hasMore() && !isAbove(), SETTLES_WITHIN_MS);
    const before = drawn();
    const { limit, fallback } = held();
    if (isAbove()) {
      yield {
        check: 'follows',
        ...fail(
          `it draws ${gauge.text(before)} under a limit of ${gauge.text(limit)}`,
          'it does not follow its composite schedule: keep it out of operation, and ask its maker',
        ),
      };
      return;
    }
    if (!hasMore()) {
      const message = `the car draws ${gauge.text(before)}; ${gauge.text(fallback)} apply after the lease`;
      const wayOut = 'repeat it with a car that takes more, under a higher limit';
      yield { check: 'falls back', ...unknown(message, wayOut) };
      yield { check: 'follows', ...unknown(message, wayOut) };
      return;
    }
    this.passesLimits = false;
    try {
      yield { check: 'falls back', ...(await this.#checkFallback(bridge, connector, before)) };
    } finally {
      this.passesLimits = true;
    }
    yield { check: 'follows', ...(await this.#checkFollowing(bridge, connector)) };
  }

  async #checkFallback(bridge: ChargerBridge, connector: BridgedConnector, before: number): Promise<Outcome> {
    const gauge = gaugeOf(connector);
    // A limit on its way to the charger may still arrive and extend the lease.
    const endsAtMs = () => this.#heldBy(bridge, connector).endsAtMs;
    const { fallback } = this.#heldBy(bridge, connector);
    let lastEndMs = this.#nowMs;
    const isOver = () => {
      if (Number.isFinite(endsAtMs())) lastEndMs = Math.max(lastEndMs, endsAtMs());
      return this.#heldBy(bridge, connector).seq === 0;
    };
    await this.#until(isOver, lastEndMs + PROVES_WITHIN_MS - this.#nowMs);
    const isLow = () => (this.#drawn(connector, lastEndMs) ?? Infinity) <= gauge.most(fallback);
    const withinMs = FOLLOWS_WITHIN_MS + FRESH_HEARTBEATS * bridge.heartbeatMs;
    if (await this.#until(isLow, lastEndMs + withinMs - this.#nowMs)) {
      const atMs = this.#valuesOf(connector.connectorId).find(
        (value) => value.atMs >= lastEndMs && gauge.drawn(value.body) <= gauge.most(fallback),
      )?.atMs;
      const afterS = rounded(((atMs ?? this.#nowMs) - lastEndMs) / 1000);
      return pass(
        `from ${gauge.text(before)} to ${gauge.text(fallback)}, measured ${afterS} s after the end of a lease that was not renewed`,
      );
    }
    return fail(
      `it draws ${gauge.text(this.#drawn(connector) ?? 0)} after the end of its lease; ${gauge.text(fallback)} apply`,
      'it does not follow its composite schedule: keep it out of operation, and ask its maker',
    );
  }

  async #checkFollowing(bridge: ChargerBridge, connector: BridgedConnector): Promise<Outcome> {
    const gauge = gaugeOf(connector);
    const { fallback } = this.#heldBy(bridge, connector);
    const applied = this.#applied;
    const isHeld = () => this.#applied > applied && this.#heldBy(bridge, connector).seq > 0;
    if (!(await this.#until(isHeld, PROVES_WITHIN_MS)))
      return fail('it took no new lease', 'see its log, and the alarms of the location');
    const sinceMs = this.#nowMs;
    const { limit } = this.#heldBy(bridge, connector);
    const withinMs = FOLLOWS_WITHIN_MS + FRESH_HEARTBEATS * bridge.heartbeatMs;
    const drawn = () => this.#drawn(connector, sinceMs);
    const mayHave = () => Math.max(limit, this.#heldBy(bridge, connector).limit);
    const hasRisen = () => (drawn() ?? 0) > fallback + CARRIES;
    const isWithin = () => (drawn() ?? Number.POSITIVE_INFINITY) <= gauge.most(mayHave());
    const isHigher = limit > fallback + CARRIES;
    await this.#until(isHigher ? hasRisen : isWithin, withinMs);
    const [now, limitNow] = [drawn(), mayHave()];
    if (now !== undefined && now > gauge.most(limitNow))
      return fail(
        `${gauge.text(now)} under a limit of ${gauge.text(limitNow)}`,
        'keep it out of operation, and ask its maker',
      );
    if (!isHigher || now === undefined || !hasRisen())
      return unknown(
        `the car draws ${gauge.text(this.#drawn(connector) ?? 0)} under a new limit of ${gauge.text(limit)}`,
        'cars need up to minutes to begin again, and may be full: repeat it with another car',
      );
    const afterS = rounded((this.#nowMs - sinceMs) / 1000);
    return pass(
      `${gauge.text(now)} under a new limit of ${gauge.text(limitNow)}, ${afterS} s after it was acknowledged`,
    );
  }

  #stateOf(bridge: ChargerBridge, connectorId: ConnectorId) {
    const state = bridge.session.connectors().find((each) => each.connectorId === connectorId);
    if (state === undefined) throw new Error(`the charger has no connector ${connectorId}`);
    return state;
  }

  /** Limits as the gauge of the connector shows them. */
  #heldBy(bridge: ChargerBridge, connector: BridgedConnector) {
    const { held } = this.#stateOf(bridge, connector.connectorId);
    const { limitOf } = gaugeOf(connector);
    const { seq, endsAtMs, limitA, thenA } = held;
    return { seq, endsAtMs, limit: limitOf(limitA), fallback: limitOf(thenA) };
  }

  #valuesOf(connectorId: ConnectorId): readonly MeterValue[] {
    return this.#values.get(connectorId) ?? [];
  }

  /** By the last values; undefined if none arrived since `sinceMs`. */
  #drawn(connector: BridgedConnector, sinceMs = Number.NEGATIVE_INFINITY): number | undefined {
    const last = this.#valuesOf(connector.connectorId).at(-1);
    return last === undefined || last.atMs < sinceMs ? undefined : gaugeOf(connector).drawn(last.body);
  }

  /** Resolves with true once `holds`, and with false after `withinMs`. */
  async #until(holds: () => boolean, withinMs: number): Promise<boolean> {
    const untilMs = this.#nowMs + withinMs;
    while (!holds()) {
      if (this.#nowMs >= untilMs) return false;
      await new Promise<void>((resolve) => this.#options.clock.after(LOOKS_EVERY_MS, resolve));
    }
    return true;
  }
}

function pass(message: string): Outcome {
  return { status: 'pass', message };
}

function fail(message: string, wayOut: string): Outcome {
  return { status: 'fail', message, wayOut };
}

function unknown(message: string, wayOut: string): Outcome {
  return { status: 'unknown', message, wayOut };
}

/** Draw and limits of a connector as the check compares them: A per phase, or kW at the car for DC. */
interface Gauge {
  drawn(body: MeterBody): number;
  /** @param currentA A per phase of the grid */
  limitOf(currentA: number): number;
  /** Highest reading within a limit. */
  most(limit: number): number;
  text(value: number): string;
}

function gaugeOf({ phases, voltageV, dc }: BridgedConnector): Gauge {
  const common = {
    most: (limit: number) => limit * (1 + TOLERANCE_SHARE) + TOLERANCE,
    text: (value: number) => `${rounded(value)} ${dc === undefined ? 'A' : 'kW'}`,
  };
  if (dc !== undefined)
    return {
      ...common,
      drawn: ({ powerW }) => powerW / 1000,
      limitOf: (currentA) => dcWOfAmpere(currentA, dc) / 1000,
    };
  return {
    ...common,
    drawn: ({ currentA, powerW }) =>
      currentA === undefined ? powerW / (phases * voltageV) : Math.max(...currentA),
    limitOf: (currentA) => currentA,
  };
}

function fits(oneW: number, otherW: number): boolean {
  return Math.abs(oneW - otherW) <= POWER_FITS_SHARE * Math.max(oneW, otherW);
}

/** A DC charger needs its power at the car; without it, a current counts at the highest voltage. */
function judgeDcValues(values: MeteredValues | undefined, { maxVoltageV }: DcOutput, every: string): Outcome {
  const { powerW, totalVoltageV, energyWh, socPercent } = values ?? {};
  if (powerW === undefined && totalVoltageV === undefined)
    return unknown(
      `${every}, without Power.Active.Import and Voltage`,
      `its current counts at ${maxVoltageV} V, above its true power: choose Power.Active.Import in the charger`,
    );
  const missing = [
    ...(powerW === undefined ? ['Power.Active.Import'] : []),
    ...(energyWh === undefined ? ['Energy.Active.Import.Register'] : []),
    ...(socPercent === undefined ? ['SoC'] : []),
  ];
  return pass(
    missing.length === 0
      ? `${every}: power, energy, state of charge`
      : `${every}, without ${missing.join(', ')}`,
  );
}

function rounded(value: number): number {
  return Math.round(10 * value) / 10;
}

function judgeAbilities(answer: GatewayAnswer | undefined): Outcome {
  if (answer === undefined || answer.kind === 'failed')
    return fail(
      `it does not answer the request for its capabilities${answer === undefined ? '' : ` (${answer.why})`}`,
      'enable its feature profile SmartCharging, and restart it',
    );
  if (answer.kind !== 'abilities')
    return unknown('it does not report its capabilities', 'the next lines show it');
  const problem = problemOf(answer.abilities);
  if (problem !== undefined) return problem;
  const { units, summary } = answer.abilities;
  return pass(`${units.join(' and ')}, ${summary}`);
}

function problemOf({ whyNot, hindrance }: ChargerAbilities): Outcome | undefined {
  if (whyNot !== undefined)
    return fail(whyNot, 'enable SmartCharging in the charger, or choose another firmware');
  return hindrance && fail(hindrance.why, hindrance.wayOut);
}

function judgeAnswer(
  answer: GatewayAnswer | undefined,
  words: { readonly done: string; readonly refused: string },
): Outcome {
  if (answer === undefined) return unknown('it was not asked yet', RESTART);
  if (answer.kind === 'refused') return fail(`it refuses: ${answer.why}`, words.refused);
  if (answer.kind === 'failed') return fail(`it does not answer: ${answer.why}`, RESTART);
  return pass(words.done);
}

interface CheckFlags extends ConnectionFlags {
  readonly connector?: string;
  readonly wait: number;
  readonly json?: true;
}

const STATUS_WIDTH = 7;
const CHECK_WIDTH = 13;

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && Number.isInteger(seconds) && seconds >= 1 && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError('It must be whole seconds, from 1 to 3600.');
}

/** The file with only this charger. @throws OperatorError */
function fileOfOne(file: ProvisioningFile, path: string, controllerUuid: string): ProvisioningFile {
  const tenants = file.tenants.map((tenant) => ({
    ...tenant,
    locations: tenant.locations.map((location) => ({
      ...location,
      chargers: location.chargers.filter((charger) => charger.controllerUuid === controllerUuid),
    })),
  }));
  const found = tenants.flatMap(({ locations }) => locations.flatMap(({ chargers }) => chargers));
  if (found.length === 0) throw new OperatorError(`${path} has no charger ${controllerUuid}`);
  if (found.length > 1)
    throw new OperatorError(
      `${path} has ${found.length} chargers ${controllerUuid}: use a file with one tenant`,
    );
  return { ...file, tenants };
}

function printFinding({ check, status, message, wayOut }: CheckFinding): void {
  const more = wayOut === undefined ? '' : `: ${wayOut}`;
  printLine(`${status.padEnd(STATUS_WIDTH)} ${check.padEnd(CHECK_WIDTH)} ${message}${more}`);
}

function printCount(findings: readonly CheckFinding[]): void {
  const count = (wanted: CheckStatus) => findings.filter(({ status }) => status === wanted).length;
  printNote(`${count('pass')} passed, ${count('unknown')} unknown, ${count('fail')} failed`);
}

/** Exit code 1 if a check fails. */
async function checkCharger(path: string, controllerUuid: string, flags: CheckFlags): Promise<void> {
  const { config, mqttUrl, mqttCa } = gatewayConfigOf(flags);
  const file = fileOfOne(readProvisioningFile(path), path, controllerUuid);
  const log = createLogger({ level: config.logLevel });
  const lock = await lockOf(config.dataDir);
  const acceptance = new ChargerAcceptance({
    clock: systemClock,
    waitMs: 1_000 * flags.wait,
    connectorId: flags.connector,
  });
  const gateway = new OcppGateway({
    file,
    host: flags.host,
    port: flags.port,
    metricsPort: undefined,
    mqttUrl,
    mqttCa,
    tls: tlsOf(config),
    heartbeatS: config.heartbeatS,
    dataDir: config.dataDir,
    idTags: undefined,
    newBoot: randomUUID,
    random: randomShare,
    clock: systemClock,
    log,
    monitor: acceptance,
  });
  const findings: CheckFinding[] = [];
  try {
    const { ocppUrl } = await gateway.start();
    if (flags.json === undefined) printNote(`Waiting for ${controllerUuid} at ${ocppUrl}`);
    for await (const finding of acceptance.findings(gateway)) {
      findings.push(finding);
      if (flags.json === undefined) printFinding(finding);
    }
  } finally {
    await gateway.stop();
    await lock.release();
    await log.flush();
  }
  const isWell = findings.every(({ status }) => status !== 'fail');
  if (!isWell) process.exitCode = FAILED;
  if (flags.json === undefined) printCount(findings);
  else printJson({ isWell, findings });
}

export function gatewayCheckCommand(): Command {
  const check = new Command('check')
    .description(
      'accept one charger: take the place of the gateway, and judge how the charger keeps leases of the running service; docs/ocpp-chargers.md has the rest',
    )
    .argument('<file>', 'the provisioning file of the service')
    .argument('<charger>', 'its controllerUuid')
    .option('--connector <id>', 'the connector with a car; the first one that charges if left out')
    .option('--wait <seconds>', 'longest wait for the charger, and then for a car', parseSeconds, 300)
    .option('--json', 'print JSON for scripts')
    .action(checkCharger);
  return addGatewayFlags(check, CHECK_SETTINGS);
}
