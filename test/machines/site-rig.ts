// A real location with its connectors beside the oracle. Every event goes to both, and the rig compares them after each
// one.
import { expect } from 'vitest';
import { type AnyActorRef, createActor } from 'xstate';
import { physicalConnection } from '../../machines/limits/own-limits.js';
import type { ProfileHolder } from '../../machines/limits/profile.machine.js';
import {
  EMPTY_STACK,
  effectiveLimitKwAt,
  type LimitProfile,
  putProfile,
} from '../../machines/limits/profile-stack.js';
import type { ConnectorEvent } from '../../machines/power/connector.machine.js';
import type { LocationEffect, LocationEvent } from '../../machines/power/location.machine.js';
import {
  type LocationActor,
  locationMachine,
  nextLocationBoundary,
} from '../../machines/power/location.machine.js';
import { wattsOfLimit } from '../../machines/values/units.js';
import { connectorWith, newSupervisor } from './location-parts.js';
import {
  boundariesAfter,
  crossedBetween,
  decidingAt,
  effectiveKwAt,
  type History,
  heldBy,
  limitInForceKw,
  phaseAt,
} from './oracle.js';

export const LOCATION = 'quay-1';
export const CONNECTORS = ['q1-a/1', 'q1-a/2'] as const;
const TARGETS = [LOCATION, ...CONNECTORS];

export interface SiteStart {
  readonly nowMs: number;
  readonly permanentLimitKw: number;
  readonly connectionLimitKw: number | undefined;
  /** The rows at the start. */
  readonly rows: readonly { readonly target: string; readonly profile: LimitProfile }[];
}

export class SiteRig {
  nowMs: number;
  /** False after the clock went back. Only before that, the rig checks crossings and the lives of actors. */
  isMonotonic = true;
  readonly #start: SiteStart;
  readonly #history: History;
  readonly #actor: LocationActor;
  #effects: LocationEffect[] = [];
  readonly #sharesKw = new Map<string, number>();
  /** State by the effects alone, as a listener has it. */
  readonly #told = {
    effectiveLimitKw: Number.NaN,
    gridLimitKw: Number.NaN,
    locksKw: new Map<string, number>(),
  };
  /** The last instant of which each target was notified. */
  readonly #settledAtMs = new Map<string, number>();
  #newestMs: number;
  /** The newest instant of which the location was notified. */
  #toldMs: number;
  readonly #changedByTimeAtMs = new Set<number>();
  readonly #profileActors = new Set<AnyActorRef>();

  constructor(start: SiteStart) {
    this.#start = start;
    this.nowMs = start.nowMs;
    this.#newestMs = start.nowMs;
    this.#toldMs = start.nowMs;
    this.#history = {
      submissions: start.rows.map(({ target, profile }) => ({
        ...profile,
        target,
        atMs: Number.NEGATIVE_INFINITY,
      })),
      permanentLimitsKw: [start.permanentLimitKw],
    };
    for (const target of TARGETS) this.#settledAtMs.set(target, start.nowMs);
    const stackOf = (target: string) =>
      start.rows
        .filter((row) => row.target === target)
        .map(({ profile }) => profile)
        .reduce(putProfile, EMPTY_STACK);
    this.#actor = createActor(locationMachine, {
      input: {
        permanentLimitKw: start.permanentLimitKw,
        provisioned:
          start.connectionLimitKw === undefined ? [] : [physicalConnection(start.connectionLimitKw)],
        stack: stackOf(LOCATION),
        connectors: CONNECTORS.map((key) => connectorWith(key, stackOf(key))),
        supervisor: newSupervisor(),
        now: start.nowMs,
        nowMs: start.nowMs,
      },
    });
    this.#actor.on('*', (effect) => this.#effects.push(effect));
    this.#actor.start();
    const { effectiveLimitKw, limitKw } = this.#context().limit;
    Object.assign(this.#told, { effectiveLimitKw, gridLimitKw: limitKw });
    this.#listen();
    expect(effectiveLimitKw).toBe(effectiveKwAt(this.#history, LOCATION, this.nowMs));
    this.#compare();
    this.#compareLocks();
  }

  submit(target: string, profile: LimitProfile): void {
    this.reachBoundary();
    const event = { type: 'profile.submitted', profile, now: this.nowMs } as const;
    const crossed = this.#crossed(target);
    this.#history.submissions.push({ ...profile, target, atMs: this.nowMs });
    this.#settledAtMs.set(target, this.nowMs);
    if (target === LOCATION) this.#tell(event, crossed);
    else this.forwardToConnector(target, event);
  }

  forwardToConnector(key: string, event: ConnectorEvent): void {
    this.#tell({ type: 'connector.event', key, event }, []);
  }

  setPermanentLimit(limitKw: number): void {
    this.reachBoundary();
    const crossed = this.#crossed(LOCATION);
    this.#history.permanentLimitsKw.push(limitKw);
    this.#settledAtMs.set(LOCATION, this.nowMs);
    this.#tell({ type: 'permanentLimit.set', limitKw, now: this.nowMs }, crossed);
  }

  setShare(clusterId: string, shareKw: number | undefined): void {
    if (shareKw === undefined) this.#sharesKw.delete(clusterId);
    else this.#sharesKw.set(clusterId, shareKw);
    const shareW = shareKw && wattsOfLimit(shareKw);
    const share = shareW === undefined ? undefined : { shareW, roomW: shareW, raisesToW: shareW };
    this.#tell({ type: 'clusterShare.set', clusterId, share }, []);
  }

  /** Notifies the location of the current time, as the scheduler does: possibly late or twice. */
  reachBoundary(): void {
    const crossed = this.#crossed(LOCATION);
    for (const target of TARGETS) this.#settledAtMs.set(target, this.nowMs);
    const before = this.#told.effectiveLimitKw;
    this.#tell({ type: 'boundary.reached', now: this.nowMs }, crossed);
    if (this.#told.effectiveLimitKw !== before) {
      if (this.isMonotonic) expect(this.#changedByTimeAtMs.has(this.nowMs)).toBe(false);
      this.#changedByTimeAtMs.add(this.nowMs);
    }
    // A connector ignores times before its newest one until the clock catches up.
    this.#newestMs = Math.max(this.#newestMs, this.nowMs);
    if (this.nowMs === this.#newestMs) this.#compareLocks();
  }

  /** Lets `ms` pass and delivers every boundary at its instant. */
  passPunctually(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const next = nextLocationBoundary(this.#context(), this.nowMs);
      if (next === undefined || next > untilMs) break;
      this.nowMs = next;
      this.reachBoundary();
    }
    this.nowMs = untilMs;
    this.#newestMs = Math.max(this.#newestMs, this.nowMs);
    this.#compare();
  }

  /** Passes all submissions. No profile may remain after that. */
  passEverything(): void {
    const last = Math.max(
      this.nowMs,
      this.#newestMs,
      ...this.#history.submissions.map(({ endsAtMs }) => endsAtMs),
    );
    this.reachBoundary();
    this.passPunctually(last - this.nowMs);
    expect(this.#context().limit.effectiveLimitKw).toBe(this.#history.permanentLimitsKw.at(-1));
    expect(this.#told.locksKw.size).toBe(0);
    expect(this.#liveProfiles()).toBe(0);
    expect(nextLocationBoundary(this.#context(), this.nowMs)).toBeUndefined();
  }

  /** Lets `ms` pass without notifying anything. A negative `ms` sets the clock back. */
  pass(ms: number): void {
    if (ms < 0) this.isMonotonic = false;
    this.nowMs += ms;
    this.#newestMs = Math.max(this.#newestMs, this.nowMs);
    this.#compare();
  }

  #context() {
    return this.#actor.getSnapshot().context;
  }

  #crossed(target: string) {
    return crossedBetween(this.#history, target, this.#settledAtMs.get(target) ?? Number.NaN, this.nowMs);
  }

  #tell(event: LocationEvent, crossed: ReturnType<typeof crossedBetween>): void {
    const before = { ...this.#told };
    if ('now' in event) this.#toldMs = Math.max(this.#toldMs, event.now);
    this.#actor.send(event);
    const effects = this.#listen();
    const changes = effects.filter(({ type }) => type === 'effectiveLimit.changed');
    expect(changes.length).toBe(Number(this.#told.effectiveLimitKw !== before.effectiveLimitKw));
    if (this.isMonotonic) this.#compareCrossings(effects, crossed);
    if ('now' in event) {
      // If the clock went back unnoticed, the newest instant counts.
      const decides = decidingAt(this.#history, LOCATION, this.#toldMs);
      expect(this.#context().limit.effectiveLimitKw).toBe(
        effectiveKwAt(this.#history, LOCATION, this.#toldMs),
      );
      const own = this.#context().sources[0].current?.cause;
      expect(own?.kind === 'profile' ? own.profile.priority : undefined).toBe(decides?.priority);
    }
    this.#compare();
  }

  /** Takes all effects since the last call. */
  #listen(): LocationEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    for (const effect of effects) {
      if (effect.type === 'effectiveLimit.changed') this.#told.effectiveLimitKw = effect.effectiveLimitKw;
      if (effect.type === 'limitInForce.changed') this.#told.gridLimitKw = effect.limitKw;
      if (effect.type === 'connector.unlocked') expect(this.#told.locksKw.delete(effect.key)).toBe(true);
      if (effect.type === 'connector.locked') {
        expect(this.#told.locksKw.get(effect.key)).not.toBe(effect.limitKw);
        this.#told.locksKw.set(effect.key, effect.limitKw);
      }
    }
    return effects;
  }

  #compareCrossings(effects: readonly LocationEffect[], crossed: ReturnType<typeof crossedBetween>): void {
    const sent = effects.flatMap((effect) =>
      effect.type === 'profile.crossed' ? [{ priority: effect.profile.priority, to: effect.status }] : [],
    );
    expect(new Map(sent.map(({ priority, to }) => [priority, to]))).toEqual(
      new Map(crossed.map(({ priority, to }) => [priority, to])),
    );
    expect(sent).toHaveLength(crossed.length);
    const firstStart = sent.findIndex(({ to }) => to !== 'EXPIRED');
    if (firstStart !== -1) expect(sent.slice(firstStart).map(({ to }) => to)).not.toContain('EXPIRED');
  }

  /** Checks the invariants that hold at every moment, with or without delivered boundaries. */
  #compare(): void {
    const context = this.#context();
    const read = effectiveLimitKwAt(context.stack, context.permanentLimitKw, this.nowMs);
    expect(read).toBe(effectiveKwAt(this.#history, LOCATION, this.nowMs));
    expect(this.#told.effectiveLimitKw).toBe(context.limit.effectiveLimitKw);
    expect(this.#told.gridLimitKw).toBe(context.limit.limitKw);
    const { limitKw, effectiveLimitKw } = context.limit;
    const leastKw = limitInForceKw(effectiveLimitKw, this.#start.connectionLimitKw, this.#sharesKw.values());
    // Limits that are equal in whole watts are equal.
    expect(wattsOfLimit(limitKw)).toBe(wattsOfLimit(leastKw));
    expect(nextLocationBoundary(context, this.nowMs)).toBe(
      boundariesAfter(this.#history, TARGETS, this.nowMs)[0],
    );
    for (const [key, connector] of context.connectors) {
      const { value, context: held } = connector.getSnapshot();
      expect(this.#told.locksKw.get(key)).toBe(held.lockLimitKw);
      expect(value.lock).toBe(held.lockLimitKw === undefined ? 'unlocked' : 'locked');
    }
    this.#compareActors();
  }

  /** With all boundaries delivered, every lock matches the profiles of its connector (section 1). */
  #compareLocks(): void {
    for (const key of CONNECTORS) {
      expect(this.#told.locksKw.get(key)).toBe(decidingAt(this.#history, key, this.nowMs)?.limitKw);
    }
  }

  #holders(): [string, ProfileHolder, number][] {
    const location = this.#actor.getSnapshot();
    const { connectors } = location.context;
    const children = Object.keys(location.children).length - connectors.size;
    return [
      [LOCATION, location.context, children],
      ...[...connectors].map(([key, connector]): [string, ProfileHolder, number] => {
        const snapshot = connector.getSnapshot();
        return [key, snapshot.context, Object.keys(snapshot.children).length];
      }),
    ];
  }

  #liveProfiles(): number {
    return this.#holders().reduce((sum, [, { profiles }]) => sum + profiles.size, 0);
  }

  /** Each profile has an actor in the state of its window. Actors of removed profiles have stopped. */
  #compareActors(): void {
    const live = new Set<AnyActorRef>();
    for (const [target, { profiles }, children] of this.#holders()) {
      expect(children).toBe(profiles.size);
      for (const actor of profiles.values()) live.add(actor);
      if (!this.isMonotonic) continue;
      const sent = this.#settledAtMs.get(target) ?? Number.NaN;
      const expected = heldBy(this.#history, target).flatMap((held): [number, string][] => {
        const phase = phaseAt(held, sent);
        // A profile from the rows needs no actor before it begins.
        const lives = held.atMs < this.#start.nowMs ? phase === 'ACTIVE' : phase !== 'EXPIRED';
        return lives ? [[held.priority, phase.toLowerCase()]] : [];
      });
      const actual = [...profiles].map(([priority, actor]) => [priority, actor.getSnapshot().value]);
      expect(actual.sort(byPriority)).toEqual(expected.sort(byPriority));
    }
    for (const actor of this.#profileActors) {
      if (live.has(actor)) continue;
      expect(actor.getSnapshot().status).toBe('stopped');
      this.#profileActors.delete(actor);
    }
    for (const actor of live) this.#profileActors.add(actor);
  }
}

const byPriority = ([a]: readonly unknown[], [b]: readonly unknown[]) => Number(a) - Number(b);
