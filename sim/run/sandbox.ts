// A scenario whose service answers requests from outside: back ends try the production REST API on a clock that they
// move.
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EpochMs } from '../../machines/values/time.js';
import type { Clock } from '../../src/ports/clock.js';
import { faultPlanOf } from '../scenario/fault-plan.js';
import { parseBranch } from '../scenario/parse-scenario.js';
import type { Scenario } from '../scenario/scenario.js';
import { sessionsOf } from '../sessions/sessions-of.js';
import { CellRun } from './cell-run.js';
import { undivided } from './cells.js';
import { Queue } from './queue.js';

/** Between two slices the service reads and writes its connections, so that streams receive events during a step. */
const SLICE_MS = 60_000;
const TICK_MS = 100;

interface SandboxOptions {
  /** 0 picks a free port. */
  readonly httpPort: number;
  readonly httpHost: string;
  /** Virtual seconds for each true second; at 0 time stands still between two steps. */
  readonly speed: number;
  /** The true time, which the virtual one follows. */
  readonly clock: Clock;
}

export class Sandbox {
  readonly scenario: Scenario;
  readonly httpUrl: string;
  /** The key of each tenant, with all scopes. */
  readonly apiKeys: ReadonlyMap<string, string>;
  readonly #run: CellRun;
  readonly #queue = new Queue();
  readonly #clock: Clock;
  #speed: number;
  #isClosed = false;

  /** Resolves once the service answers. @throws UnusableFileError if its sessions come from an unusable file. */
  static async open(scenario: Scenario, options: SandboxOptions): Promise<Sandbox> {
    const { httpPort, httpHost } = options;
    const environment = {
      HEADROOM_HTTP_PORT: String(httpPort),
      HEADROOM_HTTP_HOST: httpHost,
      // The back end under test runs on the same machine.
      HEADROOM_WEBHOOK_PRIVATE: 'true',
    };
    const cell = undivided(scenario, sessionsOf(scenario, scenario.seed));
    const run = await CellRun.open(cell, { environment, isJudged: false, newId: randomUUID });
    return new Sandbox(scenario, run, options);
  }

  private constructor(scenario: Scenario, run: CellRun, { speed, clock }: SandboxOptions) {
    this.scenario = scenario;
    this.httpUrl = run.access.httpUrl ?? '';
    this.apiKeys = run.access.apiKeys;
    this.#run = run;
    this.#speed = speed;
    this.#clock = clock;
    this.#flow(clock.monotonicMs(), 0);
  }

  nowMs(): EpochMs {
    return this.#run.nowMs();
  }

  get speed(): number {
    return this.#speed;
  }

  setSpeed(speed: number): void {
    this.#speed = speed;
  }

  /** Lets `ms` pass: windows begin and end, cars come and go, and chargers report, each at its own instant. */
  advance(ms: number): Promise<void> {
    return this.#advanceTo(() => this.nowMs() + ms);
  }

  /** The same, until `untilMs`; it does nothing if steps before it have passed this instant. */
  advanceTo(untilMs: EpochMs): Promise<void> {
    return this.#advanceTo(() => untilMs);
  }

  /** @param instantOf is called after all steps before this one */
  #advanceTo(instantOf: () => EpochMs): Promise<void> {
    return this.#queue.add(async () => {
      const untilMs = instantOf();
      while (this.nowMs() < untilMs && !this.#isClosed) {
        await this.#run.advance(Math.min(untilMs, this.nowMs() + SLICE_MS));
        await nextTurn();
      }
    });
  }

  /** A fault from now on, in the notation of a scenario. @throws UnusableFileError with all its problems */
  inflict(fault: unknown): Promise<void> {
    return this.#queue.add(async () => {
      const text = JSON.stringify({ faults: [fault] });
      const { faults } = parseBranch(text, 'fault', this.scenario, this.nowMs());
      await this.#run.do({ kind: 'faults', plan: faultPlanOf({ faults }, this.scenario.seed) });
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue.add(() => this.#run.close());
  }

  /** Follows the true time. A machine that is too slow for the speed falls behind it, and time never jumps. */
  #flow(beforeMs: number, owedMs: number): void {
    this.#clock.after(TICK_MS, async () => {
      if (this.#isClosed) return;
      const nowMs = this.#clock.monotonicMs();
      const dueMs = owedMs + Math.min(nowMs - beforeMs, 10 * TICK_MS) * this.#speed;
      const wholeMs = Math.floor(dueMs);
      if (wholeMs > 0) await this.advance(wholeMs);
      this.#flow(nowMs, dueMs - wholeMs);
    });
  }
}
