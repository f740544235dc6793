// The actors of the production service, told turn by turn what a recorded service was told, at the same instants.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EpochMs } from '../../machines/values/time.js';
import { createActorSystem } from '../../src/actor-system.js';
import type { Application } from '../../src/application/application.js';
import { createTelemetry } from '../../src/inbound/mqtt/telemetry.js';
import { createMetrics } from '../../src/metrics.js';
import { limitMessageOf } from '../../src/outbound/mqtt/limit-publisher.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { LimitPublisher } from '../../src/ports/telemetry.js';
import type { LocationLive } from '../../src/wire/operator-locations.js';
import type { DecidedLimit, Input, Life } from './recording-line.js';
import type { RecordedTurn } from './recording-reader.js';
import { createReplayedStore } from './replayed-store.js';

/** The recorded service was told something that this one does not wait for. */
export class ReplayLostError extends Error {}

export interface ReplayedLife {
  /** Tells the service what began the turn. @throws ReplayLostError */
  take(turn: RecordedTurn): Promise<readonly DecidedLimit[]>;
  /** Every location of every tenant as the service knows it at `atMs`, which lies after the last turn. */
  at(atMs: EpochMs): readonly LocationLive[];
}

const QUIET: Log = { debug() {}, info() {}, warn() {}, error() {} };
const PAGE = 1_000;

export function replayLife(life: Life): ReplayedLife {
  const { epoch, timing, staleAfterMs, powerRetentionDays } = life;
  const timers = new Map<number, () => void>();
  const listeners = new Map<number, () => void>();
  const store = createReplayedStore();
  let now = { at: 0, mono: 0 };
  let timersSet = 0;
  let ids: readonly string[] = [];
  let idsTaken = 0;
  let limits: DecidedLimit[] = [];

  const clock: Clock = {
    nowMs: () => now.at,
    monotonicMs: () => now.mono,
    after(_, callback) {
      const n = ++timersSet;
      timers.set(n, callback);
      return () => timers.delete(n);
    },
  };
  const publisher: LimitPublisher = {
    publishLimit({ tenantUuid, locationId, controllerUuid, connectorId }, grant) {
      const { v: _, ...limit } = limitMessageOf(grant);
      limits.push({ tenantUuid, locationId, controllerUuid, connectorId, ...limit });
    },
    requestSync() {},
  };
  const common = { clock, log: QUIET, metrics: createMetrics() };
  const actors = createActorSystem({
    ...common,
    epoch,
    timing,
    staleAfterMs,
    powerRetentionDays,
    publisher,
    store: store.store,
    newId: () => ids[idsTaken++] ?? `unrecorded-${idsTaken}`,
    onTakenOver() {},
    onCredentials() {},
  });
  const { application } = actors;
  const hear = createTelemetry({ sink: actors.meterSink, ...common });

  function enter(input: Input): void {
    switch (input.kind) {
      case 'start':
        // Where it failed, the recorded one did too; what follows from it is compared.
        actors.start().catch(() => {});
        break;
      case 'stop':
        actors.stop().catch(() => {});
        break;
      case 'sync':
        actors.syncChargers();
        break;
      case 'timer':
        fire(input.n);
        break;
      case 'stored':
      case 'unstored':
        if (!store.answer(input))
          throw new ReplayLostError(`it does not ask the database for ${input.method}`);
        break;
      case 'message':
        hear(
          input.topic,
          Buffer.from(input.base64 ?? input.text ?? '', input.base64 === undefined ? 'utf8' : 'base64'),
        );
        break;
      case 'call':
        make(application, input);
        break;
      case 'listen':
        listen(input);
        break;
      case 'unlisten':
        listeners.get(input.n)?.();
        break;
      case 'read':
        break;
    }
  }

  function fire(n: number): void {
    const callback = timers.get(n);
    if (callback === undefined) throw new ReplayLostError('it does not wait for the time that had come');
    timers.delete(n);
    callback();
  }

  function listen({ n, tenantUuid, locationId }: Extract<Input, { kind: 'listen' }>): void {
    try {
      listeners.set(n, Reflect.apply(application.subscribe, application, [tenantUuid, locationId, () => {}]));
    } catch {
      // A call for a location that is not there was refused in the recording, too.
    }
  }

  return {
    async take({ input, ids: made }) {
      now = { at: input.at, mono: input.mono };
      ids = made;
      idsTaken = 0;
      limits = [];
      enter(input);
      // All that this sets off is done before the next thing happens, as it was then.
      await nextTurn();
      return limits;
    },
    at(atMs) {
      now = { at: atMs, mono: now.mono + Math.max(0, atMs - now.at) };
      return store.tenants.flatMap((tenantUuid) => livesOf(application, tenantUuid));
    },
  };
}

/** What it answers went to somebody who is not there now; what it changes shows in what is decided. */
function make(
  application: Application,
  { call, tenantUuid, arguments: given }: Extract<Input, { kind: 'call' }>,
) {
  const answer: Promise<unknown> = Reflect.apply(application[call], application, [
    tenantUuid,
    ...given,
    () => {},
  ]);
  answer.catch(() => {});
}

function livesOf(
  application: Application,
  tenantUuid: Parameters<Application['listLocations']>[0],
): LocationLive[] {
  const lives: LocationLive[] = [];
  let cursor: string | undefined;
  do {
    const page = application.listLocations(tenantUuid, {
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    lives.push(...page.locations.map(({ locationId }) => application.locationLive(tenantUuid, locationId)));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return lives;
}
