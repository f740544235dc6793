// Random faults by seed: of wires, chargers, the service, the gateway, the broker and the database.
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { FaultKind } from '../log/trace-event.js';
import type { ChargerRun } from './charger-run.js';
import { CALM, type Weather, type Wire } from './wire.js';
import type { World } from './world.js';
import type { NodeFault } from './world-nodes.js';

/** Mean time between two faults of a kind, in ms, per charger or for the service. */
export interface Strengths {
  readonly weatherEveryMs: number;
  readonly partitionEveryMs: number;
  readonly rebootEveryMs: number;
  readonly crashEveryMs: number;
  readonly databaseBusyEveryMs: number;
  readonly brokerRestartEveryMs: number;
  /** Undefined without a gateway. */
  readonly gatewayCrashEveryMs?: number;
}

/** Draws the intervals for a seed: all kinds often, or one kind often and the others now and then. */
export function drawStrengths(random: RandomGenerator, hasGateway = false): Strengths {
  const minutes = (least: number, most: number) => 60_000 * least * (most / least) ** uniformFloat64(random);
  return {
    weatherEveryMs: minutes(8, 60),
    partitionEveryMs: minutes(10, 90),
    rebootEveryMs: minutes(12, 120),
    crashEveryMs: minutes(20, 240),
    databaseBusyEveryMs: minutes(20, 120),
    brokerRestartEveryMs: minutes(40, 240),
    ...(hasGateway ? { gatewayCrashEveryMs: minutes(20, 240) } : {}),
  };
}

const LONGEST_PARTITION_MS = 180_000;
const LONGEST_SESSION_BREAK_MS = 20_000;
const LONGEST_STORM_MS = 300_000;
const LONGEST_OUTAGE_MS = 20_000;
const LONGEST_BUSY_MS = 60_000;
const LONGEST_BROKER_RESTART_MS = 15_000;
const NODE_FAULTS = [
  'nodeFrozen',
  'nodeCutFromDatabase',
  'nodeCutFromBroker',
  'nodeClockOff',
  'nodeCutFromNodes',
] as const;
const NODE_FAULT_EVERY_MS = 300_000;
const TROUBLED_EVERY_MS = 30_000;
const LONGEST_NODE_FAULT_MS = 30_000;

export class RandomFaults {
  /** Number of faults so far, by kind. */
  readonly struck = new Map<FaultKind | NodeFault, number>();
  readonly #world: World;
  readonly #random: RandomGenerator;
  readonly #strengths: Strengths;
  #isOver = false;

  /** The faults begin at once. */
  constructor(world: World, seed: number, strengths: Strengths) {
    this.#world = world;
    this.#random = mersenne(seed);
    this.#strengths = strengths;
    for (const run of world.runs) this.#strikeCharger(run);
    this.#strikeService();
    this.#trouble();
    if (world.nodeCount > 0) this.#strikeNodes();
  }

  /** Ends the faults and repairs their effects. */
  end(): void {
    this.#isOver = true;
    this.#world.setDatabaseBusy(false);
    this.#world.endNodeFaults();
    for (const run of this.#world.runs) {
      for (const wire of run.wires) wire.mend();
      if (!run.isConnected) this.#world.disconnect(run, 0);
    }
  }

  #strikeCharger(run: ChargerRun): void {
    this.#every(this.#strengths.weatherEveryMs, () => {
      const wire = this.#wireOf(run);
      wire.weather = this.#weather();
      this.#later(this.#upTo(LONGEST_STORM_MS), () => {
        wire.weather = CALM;
      });
    });
    this.#every(this.#strengths.partitionEveryMs, () => {
      if (this.#share() < 0.5) this.#partition(this.#wireOf(run));
      else if (this.#wireOf(run) === run.wires[0])
        this.#world.disconnect(run, this.#upTo(LONGEST_PARTITION_MS));
      else this.#world.breakSession(run, this.#upTo(LONGEST_SESSION_BREAK_MS));
    });
    this.#every(this.#strengths.rebootEveryMs, () => {
      this.#count('reboot');
      this.#world.reboot(run);
    });
  }

  /** The charger's only wire, or one of its wires through the gateway. */
  #wireOf({ wires, wire }: ChargerRun): Wire {
    if (wires.length === 1) return wire;
    return wires[uniformInt(this.#random, 0, wires.length - 1)] ?? wire;
  }

  #strikeService(): void {
    const { gatewayCrashEveryMs } = this.#strengths;
    if (gatewayCrashEveryMs !== undefined)
      this.#every(gatewayCrashEveryMs, () => {
        this.#count('gatewayCrash');
        this.#world.crashGateway(this.#upTo(LONGEST_OUTAGE_MS));
      });
    this.#every(this.#strengths.crashEveryMs, () => {
      this.#count('serviceCrash');
      this.#world.crash(this.#upTo(LONGEST_OUTAGE_MS));
    });
    this.#every(this.#strengths.brokerRestartEveryMs, () => {
      this.#count('brokerRestart');
      this.#world.restartBroker(this.#upTo(LONGEST_BROKER_RESTART_MS));
    });
    this.#every(this.#strengths.databaseBusyEveryMs, () => {
      this.#count('databaseBusy');
      this.#world.setDatabaseBusy(true);
      this.#later(this.#upTo(LONGEST_BUSY_MS), () => this.#world.setDatabaseBusy(false));
    });
  }

  /** Some fault is active at any time. */
  #trouble(): void {
    this.#world.noteTrouble();
    this.#later(TROUBLED_EVERY_MS, () => this.#trouble());
  }

  /** Faults of the active node or another one, shorter than its ownership lease or longer. */
  #strikeNodes(): void {
    this.#every(NODE_FAULT_EVERY_MS, () => {
      this.#count('serviceCrash');
      this.#world.crash(this.#upTo(LONGEST_OUTAGE_MS));
    });
    for (const fault of NODE_FAULTS) this.#strikeNodesBy(fault);
  }

  #strikeNodesBy(fault: NodeFault): void {
    this.#every(NODE_FAULT_EVERY_MS, () => {
      this.#count(fault);
      // Half of the faults hit the active node.
      const drawn = uniformInt(this.#random, 0, 2 * this.#world.nodeCount - 1);
      const place = drawn < this.#world.nodeCount ? drawn : 'active';
      this.#world.strikeNode(fault, place, this.#upTo(LONGEST_NODE_FAULT_MS), this.#share() < 0.5 ? 1 : -1);
    });
  }

  #share(): number {
    return uniformFloat64(this.#random);
  }

  #upTo(ms: number): number {
    return uniformInt(this.#random, 1, ms);
  }

  #count(kind: FaultKind | NodeFault): void {
    this.struck.set(kind, (this.struck.get(kind) ?? 0) + 1);
  }

  #later(ms: number, work: () => void): void {
    this.#world.agenda.at(this.#world.monotonicMs() + ms, () => {
      if (!this.#isOver) work();
    });
  }

  /** Repeats `strike` at random intervals (exponentially distributed). */
  #every(meanMs: number, strike: () => void): void {
    const waitMs = Math.ceil(-Math.log(1 - this.#share()) * meanMs);
    this.#later(waitMs, () => {
      strike();
      this.#every(meanMs, strike);
    });
  }

  #weather(): Weather {
    this.#count('loss');
    this.#count('duplication');
    this.#count('delay');
    this.#count('hold');
    return {
      lossShare: 0.5 * this.#share(),
      duplicateShare: 0.5 * this.#share(),
      delayMs: this.#upTo(20_000),
      holdShare: 0.5 * this.#share(),
      holdMs: this.#upTo(120_000),
    };
  }

  #partition(wire: Wire): void {
    this.#count('partition');
    const way = this.#share();
    wire.isCutUp = way < 0.7;
    wire.isCutDown = way > 0.3;
    this.#later(this.#upTo(LONGEST_PARTITION_MS), () => {
      wire.isCutUp = false;
      wire.isCutDown = false;
    });
  }
}
