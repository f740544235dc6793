// Records the limits, the power and the alarms of a story, line by line, apart from answers and stream.
import { connectorKey, type TenantUuid } from '../../machines/values/ids.js';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import type { Scenario } from '../../sim/scenario/scenario.js';
import { sessionsOf } from '../../sim/sessions/sessions-of.js';
import { createArrivals } from '../../sim/sessions/visit.js';
import { createWorld, type World } from '../../sim/world/world.js';
import { createActorSystem } from '../../src/actor-system.js';
import type { Clock } from '../../src/ports/clock.js';
import type { TelemetryHandler } from '../../src/ports/telemetry.js';
import type { Seams } from '../../src/service.js';
import { effectOf } from './effects.js';

/** `effect`: a limit, power or alarm. `answer`: the answer to a request, or an event of the stream. */
export type About = 'effect' | 'answer';

/** Receives one line. Returns false to end the story. */
export type OnLine = (line: string, about: About) => boolean;

/** Inputs of the service besides the messages of the virtual chargers. */
export interface Ear {
  readonly sink: TelemetryHandler;
  readonly clock: Clock;
  /** From now on, all due work of the service is late by `lateMs`, as if its processor had other work. */
  starve(lateMs: number): void;
}

export type Deed = (world: World, ask: Ask, ear: Ear) => Promise<void> | void;
export type Ask = (method: string, path: string, body?: unknown) => Promise<void>;

export interface Story {
  readonly name: string;
  readonly scene: Scenario;
  readonly lastsMinutes: number;
  /** By minute. */
  readonly deeds: readonly (readonly [minute: number, deed: Deed])[];
  /** Requests of every half minute. */
  readonly reads: readonly string[];
}

export const MINUTE_MS = 60_000;
export const TENANT = 'harbour' as TenantUuid;
const LOOK_EVERY_MINUTES = 0.5;

type Tell = (line: string, about: About) => void;

/**
 * A scenario of one tenant.
 * @param locations as in its provisioning file
 * @param rest further fields of the scenario file
 */
export function sceneOf(name: string, lastsMinutes: number, locations: string, rest = ''): Scenario {
  return parseScenario(
    `name: ${name}
start: 2026-06-01T12:00:00Z
duration: ${lastsMinutes}m
provision:
  tenants:
    - tenantUuid: ${TENANT}
      name: Harbour Charging
      features: [energy-management]
      locations:
${locations}
${rest}`,
    'story.yaml',
  );
}

export function call(method: string, path: string, body?: unknown): Deed {
  return (_, ask) => ask(method, path, body);
}

/** Runs the production service and its chargers through the story, until it ends or `onLine` returns false. */
export async function tellStory(story: Story, onLine: OnLine): Promise<void> {
  let isEnough = false;
  let ear: Ear | undefined;
  const tell: Tell = (line, about) => {
    isEnough ||= !onLine(line, about);
  };
  const world = await openWorld(story.scene, tell, (heard) => {
    ear = heard;
  });
  const ask: Ask = async (method, path, body) => {
    const answer = await world.call(method, path, body);
    // Each request has an id of its own, and a refusal contains it.
    const answered = JSON.stringify(answer.body)?.replace(/"requestId":"[^"]*"/, '');
    tell(`${method} ${path}: ${answer.status} ${answered}`, 'answer');
  };
  try {
    for (let minute = 0; minute < story.lastsMinutes && !isEnough; minute += LOOK_EVERY_MINUTES) {
      for (const [atMinute, deed] of story.deeds)
        if (atMinute === minute && ear !== undefined) await deed(world, ask, ear);
      for (const path of story.reads) await ask('GET', path);
      await world.advance(LOOK_EVERY_MINUTES * MINUTE_MS);
    }
  } finally {
    await world.close();
  }
}

function openWorld(scene: Scenario, tell: Tell, onSystem: (ear: Ear) => void): Promise<World> {
  const { provision, seed, startsAtMs } = scene;
  const arrivals = createArrivals(sessionsOf(scene, seed), startsAtMs);
  const createActors: Seams['createActors'] = (options) => {
    let lateMs = 0;
    const { clock } = options;
    const system = createActorSystem({
      ...options,
      clock: { ...clock, after: (delayMs, callback) => clock.after(delayMs + lateMs, callback) },
    });
    const starve = (ms: number) => {
      lateMs = ms;
    };
    onSystem({ sink: system.telemetryHandler, clock, starve });
    const listen = () =>
      system.application.subscribe(TENANT, undefined, (event) =>
        tell(`stream ${JSON.stringify(event)}`, 'answer'),
      );
    const start = system.start.bind(system);
    return Object.assign(system, { start: () => start().then(() => void listen()) });
  };
  return createWorld({
    tenants: provision.tenants,
    seed,
    startMs: startsAtMs,
    visitorsOf:
      ({ controllerUuid }) =>
      (connectorId) =>
        arrivals(connectorKey({ controllerUuid, connectorId })),
    onEvent(event) {
      const effect = effectOf(event);
      if (effect !== undefined) tell(JSON.stringify(effect), 'effect');
    },
    seams: { createActors },
  });
}
