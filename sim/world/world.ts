// A simulated world: the production service on a virtual clock, its chargers, the wires between them, and what is checked.
import { rmSync } from 'node:fs';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { EpochMs } from '../../machines/values/time.js';
import type { Change } from '../../src/ports/store.js';
import type { BilledPeak } from '../checks/billed-watch.js';
import type { Checks } from '../checks/checks.js';
import type { ImportOver } from '../checks/import-watch.js';
import type { FaultKind } from '../trace/trace-event.js';
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
/** Provisions the world, starts its service, and has its chargers connect one after another. */
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

  /** Whatever is put on it happens between the events of the service. */
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

  /** Meter values, limits and acks that chargers and service exchanged. */
  get counts(): Readonly<WorldParts['counts']> {
    return this.#parts.counts;
  }

  /** Of each site whose average import is limited, since the beginning. */
  get billedPeaks(): readonly BilledPeak[] {
    return this.#parts.imports.billed.peaks;
  }

  /** Of each site with a building, since the beginning. */
  get imports(): readonly ImportOver[] {
    return this.#parts.imports.connection.over;
  }

  /** Of each phase of each fuse, since the beginning. */
  get fuses(): readonly FuseLoad[] {
    return this.#parts.power.fuses.loads;
  }

  /** To be called once, before anything else. */
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

  /** Lets time pass; everything that falls due happens at its own instant. */
  advance(ms: number): Promise<void> {
    return this.#parts.pace.advance(ms);
  }

  travelTo(instant: EpochMs): Promise<void> {
    return this.advance(instant - this.nowMs());
  }

  /** A request of the tenant, in no virtual time; `path` begins after `/v1`. Ids of what it makes have `name` in them. */
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
    // Death was meant for this call, or for nobody.
    this.#doom = undefined;
    book.after(call, answer);
    operators.called(call, answer);
    await this.checks.called(call, tenantUuid, answer);
    return answer;
  }

  /** The service is killed, and starts again `downMs` later. */
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

  /** What may become of the service in the middle of a commit. */
  get fates(): readonly CommitFate[] {
    return this.#parts.service.fates;
  }

  /** How many nodes stand by for each other, the one that runs included; 0 where the service is the only one. */
  get nodeCount(): number {
    return this.#parts.nodes?.count ?? 0;
  }

  /** How often another node became the one that runs, the first included. */
  get terms(): number {
    return this.#parts.nodes?.writers.terms ?? 0;
  }

  /** Befalls the node at `place`, or the one that runs, for `ms`; `ahead`: which way its clock goes wrong. */
  strikeNode(fault: NodeFault, place: number | 'active', ms: number, ahead: 1 | -1): void {
    const end = this.#parts.nodes?.strike(fault, place, ahead);
    if (end !== undefined) this.#sufferFor(ms, end);
  }

  /** Every node that lives is well from now on. */
  endNodeFaults(): void {
    const { nodes } = this.#parts;
    if (nodes !== undefined) this.#sufferFor(0, () => nodes.endFaults());
  }

  /** The service dies or freezes before or after the commit that the next call asks for, and is back `downMs` later. */
  dieAtNextWrite(fate: CommitFate, downMs: number): void {
    this.#doom = { fate, downMs };
  }

  /** The broker is gone for `downMs`, and with it every session. */
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

  /** The gateway is killed, and starts again `downMs` later. */
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

  /** The charger starts again at once. */
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

  /** Its connection breaks and is made again `downMs` later. */
  disconnect(run: ChargerRun, downMs: number): void {
    if (run.charger instanceof BridgedCharger) run.charger.breakLine(downMs);
    else this.breakSession(run, downMs);
  }

  /** The connection to the broker breaks, its own or that of who speaks for it. */
  breakSession(run: ChargerRun, downMs: number): void {
    this.#parts.connections.cut(run);
    this.#parts.connections.connectLater(run, downMs + uniformInt(run.luck, 0, RECONNECT_MS));
  }

  /** Something of the kind begins or ends to befall `target`; '' for the service. */
  noteFault(fault: FaultKind, target: string, isOn: boolean): void {
    this.noteTrouble();
    this.#parts.record.fault(fault, target, isOn);
  }

  /** Something goes wrong with chargers or the service now. */
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
        // Without a crash before: the one that runs now heard nothing of what another heard.
        if (!this.#parts.service.hasBroker) this.checks.ended();
        await this.#began();
      },
    });
  }

  /** What befell a node ends after `ms`. What it had begun is over then, before anybody is asked what came of it. */
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
