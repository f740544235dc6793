// A simulated world: the production service on a virtual clock, its chargers, the wires between them, and the checks.
import { rmSync } from 'node:fs';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { EpochMs } from '../../machines/values/time.js';
import type { Change } from '../../src/ports/store.js';
import type { BilledPeak } from '../checks/billed-watch.js';
import type { Checks } from '../checks/checks.js';
import type { ImportOver } from '../checks/import-watch.js';
import type { FaultKind } from '../log/trace-event.js';
import type { Agenda } from './agenda.js';
import { BridgedCharger } from './bridged-charger.js';
import type { ChargerRun } from './charger-run.js';
import { RECONNECT_MS } from './connections.js';
import type { FuseLoad } from './fuse-watch.js';
import type { LimitOracle } from './limit-oracle.js';
import type { PowerWatch, Violation } from './power-watch.js';
import type { RestAnswer } from './rest-client.js';
import { BOOKKEEPING, type CommitFate } from './service-life.js';
import type { NodeFault } from './world-nodes.js';
import type { WorldOptions } from './world-options.js';
import { WorldParts } from './world-parts.js';
import { provisionWorld } from './world-provision.js';
import { NO_ANSWER } from './world-service.js';

const CONNECT_SPREAD_MS = 5_000;
/** Provisions the world, starts its service, and connects its chargers one after another. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const world = new World(options);
  await world.begin();
  return world;
}

export class World {
  readonly #parts: WorldParts;
  #doom: { readonly fate: CommitFate; readonly downMs: number } | undefined;

  constructor(options: WorldOptions) {
    this.#parts = new WorldParts(options);
  }

  /** Work on the agenda happens between the events of the service. */
  get agenda(): Agenda {
    return this.#parts.pace.agenda;
  }

  get oracle(): LimitOracle {
    return this.#parts.oracle;
  }

  get watch(): PowerWatch {
    return this.#parts.power.watch;
  }

  get runs(): readonly ChargerRun[] {
    return this.#parts.chargers.runs;
  }

  get violations(): readonly Violation[] {
    return this.#parts.record.violations;
  }

  get checks(): Checks {
    return this.#parts.checks;
  }

  /** Numbers of messages that chargers and service exchanged: meter values, limits and acks. */
  get counts(): Readonly<WorldParts['counts']> {
    return this.#parts.counts;
  }

  /** For each site whose average import is limited, since the beginning. */
  get billedPeaks(): readonly BilledPeak[] {
    return this.#parts.imports.billed.peaks;
  }

  /** For each site with a building, since the beginning. */
  get imports(): readonly ImportOver[] {
    return this.#parts.imports.connection.over;
  }

  /** For each phase of each fuse, since the beginning. */
  get fuses(): readonly FuseLoad[] {
    return this.#parts.power.fuses.loads;
  }

  /** Must be called once, before anything else. */
  async begin(): Promise<void> {
    const { config, tenants, keys, power, chargers: fleet, connections, grid } = this.#parts;
    await provisionWorld(config, tenants, keys);
    const events = this.#parts.chargerEvents();
    for (const { tenantUuid, locations } of tenants) {
      for (const { locationId, permanentLimitKw, gridLimitKw, chargers } of locations) {
        this.oracle.addLocation(locationId, permanentLimitKw, gridLimitKw ?? null);
        power.look(locationId);
        for (const { controllerUuid, connectors, timing } of chargers)
          fleet.add({ tenantUuid, locationId, controllerUuid }, connectors, events, timing);
      }
    }
    for (const line of grid) this.#parts.createSupply(line).begin();
    await this.#live();
    this.#parts.imports.begin();
    for (const run of this.runs) {
      const afterMs = uniformInt(run.luck, 0, CONNECT_SPREAD_MS);
      if (run.charger instanceof BridgedCharger) run.charger.arriveIn(afterMs);
      else connections.connectLater(run, afterMs);
    }
  }

  nowMs(): EpochMs {
    return this.#parts.clock.nowMs();
  }

  monotonicMs(): number {
    return this.#parts.clock.monotonicMs();
  }

  /** Lets time pass; each due event happens at its own instant. */
  advance(ms: number): Promise<void> {
    return this.#parts.pace.advance(ms);
  }

  travelTo(instant: EpochMs): Promise<void> {
    return this.advance(instant - this.nowMs());
  }

  /**
   * Sends a request of the tenant, in no virtual time; `path` begins after `/v1`. Ids of objects that the call
   * creates contain `name`.
   */
  async call(
    method: string,
    path: string,
    body?: unknown,
    tenantUuid: string = this.#parts.tenants[0]?.tenantUuid ?? '',
    name?: string,
  ): Promise<RestAnswer> {
    const { service, book, pace, operators } = this.#parts;
    if (!service.isUp) return NO_ANSWER;
    const call = { method, path, body };
    book.before(call);
    const answer = await service.ids.during(name, () => service.ask(call, tenantUuid, 'client'));
    await pace.untilIdle();
    // A planned death applies to this call or to none.
    this.#doom = undefined;
    book.after(call, answer);
    operators.called(call, answer);
    await this.checks.called(call, tenantUuid, answer);
    return answer;
  }

  /** Kills the service, and starts it again `downMs` later. */
  crash(downMs: number): void {
    const { service, pace, connections } = this.#parts;
    const bury = service.die();
    if (bury === undefined) return;
    this.checks.ended();
    this.#parts.operators.disturbed();
    pace.soon(bury);
    if (service.hasBroker) connections.loseAll(downMs, [RECONNECT_MS, 2 * RECONNECT_MS]);
    pace.agenda.at(this.monotonicMs() + downMs, () => pace.soon(() => this.#live()));
  }

  /** Possible outcomes of a commit during which the service dies or freezes. */
  get fates(): readonly CommitFate[] {
    return this.#parts.service.fates;
  }

  /** Number of nodes, the active one included; 0 for a single service. */
  get nodeCount(): number {
    return this.#parts.nodes?.count ?? 0;
  }

  /** Number of times that another node became active, the first included. */
  get terms(): number {
    return this.#parts.nodes?.writers.terms ?? 0;
  }

  /**
   * Starts a fault of the node at `place`, or of the active one, for `ms`; `ahead` is the sign of a clock's error.
   */
  strikeNode(fault: NodeFault, place: number | 'active', ms: number, ahead: 1 | -1): void {
    const end = this.#parts.nodes?.strike(fault, place, ahead);
    if (end !== undefined) this.#sufferFor(ms, end);
  }

  /** Ends all faults of the living nodes. */
  endNodeFaults(): void {
    const { nodes } = this.#parts;
    if (nodes !== undefined) this.#sufferFor(0, () => nodes.endFaults());
  }

  /** The service dies or freezes before or after the commit of the next call, and is back `downMs` later. */
  dieAtNextWrite(fate: CommitFate, downMs: number): void {
    this.#doom = { fate, downMs };
  }

  /** The broker is down for `downMs`, and every session ends. */
  restartBroker(downMs: number): void {
    this.#parts.operators.disturbed();
    this.#parts.connections.restartBroker(downMs);
  }

  get isDatabaseBusy(): boolean {
    return this.#parts.service.isDatabaseBusy;
  }

  setDatabaseBusy(isBusy: boolean): void {
    this.#parts.service.isDatabaseBusy = isBusy;
    this.checks.setDatabaseBusy(isBusy);
  }

  /** Kills the gateway, and starts it again `downMs` later. */
  crashGateway(downMs: number): void {
    const { gateway, pace, connections } = this.#parts;
    gateway.die();
    this.#parts.operators.disturbed();
    for (const run of this.runs) {
      if (!(run.charger instanceof BridgedCharger)) continue;
      connections.cut(run);
      run.charger.gatewayDied();
    }
    pace.agenda.at(this.monotonicMs() + downMs, () => gateway.start());
  }

  /** Restarts the charger at once. */
  reboot(run: ChargerRun): void {
    if (run.charger instanceof BridgedCharger) {
      if (run.charger.traits.behaviours.includes('forgets-profiles')) this.checks.forgot(run);
      run.reboot();
      return;
    }
    this.#parts.connections.cut(run);
    run.reboot();
    this.#parts.connections.connectLater(run, uniformInt(run.luck, 0, RECONNECT_MS));
  }

  /** Breaks the charger's connection, which is made again `downMs` later. */
  disconnect(run: ChargerRun, downMs: number): void {
    if (run.charger instanceof BridgedCharger) run.charger.breakLine(downMs);
    else this.breakSession(run, downMs);
  }

  /** Breaks the connection to the broker: the charger's own, or that of its gateway session. */
  breakSession(run: ChargerRun, downMs: number): void {
    this.#parts.connections.cut(run);
    this.#parts.connections.connectLater(run, downMs + uniformInt(run.luck, 0, RECONNECT_MS));
  }

  /** A fault of `target` begins or ends; '' stands for the service. */
  noteFault(fault: FaultKind, target: string, isOn: boolean): void {
    this.noteTrouble();
    this.#parts.record.fault(fault, target, isOn);
  }

  /** A fault affects chargers or the service now. */
  noteTrouble(): void {
    this.#parts.imports.disturbed();
  }

  noteAction(name: string, answer: RestAnswer): void {
    this.#parts.record.action(name, answer);
  }

  report(violation: Omit<Violation, 'atMs'>): void {
    this.#parts.record.report(violation);
  }

  async close(): Promise<void> {
    await this.#parts.pace.untilIdle();
    await this.#parts.service.stop();
    await this.#parts.carrier.close();
    rmSync(this.#parts.dataDir, { recursive: true, force: true });
  }

  async #live(): Promise<void> {
    await this.#parts.service.start(this.#parts.carrier, {
      onWritten: (changes) => {
        this.#parts.record.alarms?.written(changes);
        this.#parts.imports.written(changes);
        this.checks.written(changes);
      },
      fateOf: (changes) => this.#fateOf(changes),
      onBegan: async () => {
        // No crash came before: the active node received none of the messages that another node received.
        if (!this.#parts.service.hasBroker) this.checks.ended();
        await this.#began();
      },
    });
  }

  /** Ends a node's fault after `ms`. Its delayed work is then complete before a check asks for the result. */
  #sufferFor(ms: number, end: () => void): void {
    const { service, pace, outstanding } = this.#parts;
    if (!service.isUp) this.checks.setDatabaseBusy(true);
    pace.agenda.at(this.monotonicMs() + ms, () => {
      end();
      pace.soon(async () => {
        await outstanding.idle();
        await this.#began();
      });
    });
  }

  async #began(): Promise<void> {
    const { service, operators } = this.#parts;
    if (!service.isUp) return;
    operators.restarted();
    this.checks.setDatabaseBusy(service.isDatabaseBusy);
    await this.checks.began();
  }

  #fateOf(changes: readonly Change[]): CommitFate {
    const isAsked = changes.some(({ kind }) => !BOOKKEEPING.has(kind));
    if (this.#doom === undefined || !isAsked) return 'survived';
    const { fate, downMs } = this.#doom;
    this.#doom = undefined;
    if (fate === 'frozenBefore' || fate === 'frozenAfter') {
      const thaw = this.#parts.nodes?.freezeActive();
      if (thaw !== undefined) this.#sufferFor(downMs, thaw);
      return fate;
    }
    this.crash(downMs);
    this.checks.reached.note(fate === 'diedBefore' ? 'diedBeforeCommit' : 'diedAfterCommit');
    return fate;
  }
}
