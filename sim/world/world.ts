// A simulated world: the production service on a virtual clock, its chargers, the wires between them, and what is checked.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { EpochMs } from '../../machines/time.js';
import { type Config, databaseUrlOf, loadConfig } from '../../src/config.js';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import type { Log } from '../../src/ports/log.js';
import { provisionFile } from '../../src/provisioning/provision-file.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { formatApiKey } from '../../src/secrets.js';
import type { Traffic } from '../charger/traffic.js';
import type { ChargerTraits } from '../charger/traits.js';
import { createVirtualCharger } from '../charger/virtual-charger.js';
import { createVirtualClock } from '../virtual-clock.js';
import { type Agenda, createAgenda } from './agenda.js';
import { type ChargerRun, runCharger } from './charger-run.js';
import { LimitOracle } from './limit-oracle.js';
import { createMessageWatch } from './message-watch.js';
import { createNetwork } from './network.js';
import { PowerWatch, type Violation } from './power-watch.js';
import { callService, type RestAnswer } from './rest-client.js';
import { type Outstanding, type ServiceLife, startService } from './service-life.js';

export interface WorldOptions {
  readonly tenants: readonly TenantEntry[];
  readonly seed: number;
  readonly startMs: EpochMs;
  readonly traffic: Traffic;
  /** Of each charger, drawn or given; what is not given is honest. */
  readonly traitsOf?: (controllerUuid: string, random: RandomGenerator) => Partial<ChargerTraits>;
  /** Settings of the service as environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface World {
  readonly agenda: Agenda;
  readonly oracle: LimitOracle;
  readonly watch: PowerWatch;
  readonly runs: readonly ChargerRun[];
  readonly violations: readonly Violation[];
  /** Meter values, limits and acks that chargers and service exchanged. */
  readonly counts: { readonly fromChargers: number; readonly toChargers: number };
  nowMs(): EpochMs;
  monotonicMs(): number;
  /** Lets time pass; everything that falls due happens at its own instant. */
  advance(ms: number): Promise<void>;
  travelTo(instant: EpochMs): Promise<void>;
  /** A request of the tenant, in no virtual time; `path` begins after `/v1`. */
  call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer>;
  /** The service is killed, and starts again `downMs` later. */
  crash(downMs: number): void;
  setDatabaseBusy(isBusy: boolean): void;
  /** The charger starts again at once. */
  reboot(run: ChargerRun): void;
  /** Its connection breaks and is made again `downMs` later. */
  disconnect(run: ChargerRun, downMs: number): void;
  report(violation: Omit<Violation, 'atMs'>): void;
  close(): Promise<void>;
}

/** A charger tries to connect again this long after it lost its connection, and up to as much later. */
const RECONNECT_MS = 2_000;
const CONNECT_SPREAD_MS = 5_000;
const MEMORY = '/dev/shm';

export async function createWorld(options: WorldOptions): Promise<World> {
  const { tenants, seed, startMs } = options;
  const clock = createVirtualClock(startMs);
  const agenda = createAgenda(clock);
  const monotonicMs = () => clock.monotonicMs();
  const random = mersenne(seed);
  const network = createNetwork({ agenda, random: mersenne(seed + 1), monotonicMs });
  const outstanding: Outstanding = { count: 0 };
  const violations: Violation[] = [];
  const runs: ChargerRun[] = [];
  const work: (() => Promise<void>)[] = [];
  const counts = { fromChargers: 0, toChargers: 0 };
  const dataDir = mkdtempSync(join(fastestDirectory(), 'headroom-world-'));
  const config = configOf(dataDir, options.environment);
  const keys = new Map(
    tenants.map(({ tenantUuid }, i) => [
      tenantUuid as string,
      formatApiKey(`world${i}`.padEnd(8, '0'), `secret${i}`.padEnd(43, '0')),
    ]),
  );
  let life: ServiceLife | undefined;
  let isBusy = false;
  let ids = 0;
  let boots = 0;

  const oracle = new LimitOracle();
  const violate = (violation: Violation) => void (violations.length < 1_000 && violations.push(violation));
  const report: World['report'] = (violation) => violate({ atMs: clock.nowMs(), ...violation });
  const watch = new PowerWatch({ oracle, refresh, onViolation: violate });
  const messages = createMessageWatch(report);
  const log: Log = {
    debug() {},
    info() {},
    warn() {},
    error: (fields, message) =>
      report({ invariant: 'P14', target: 'service', detail: `${message} ${describe(fields)}` }),
  };

  async function live(): Promise<void> {
    const bus = network.createBus((topic, payload) => {
      counts.toChargers++;
      messages.limitLeft(topic, payload);
    });
    life = await startService({
      ...{ config, clock, log, outstanding },
      bus,
      newId: () => `id-${++ids}`,
      isDatabaseBusy: () => isBusy,
    });
  }

  /** Waits for what the service does outside the thread, which takes no virtual time. */
  async function settle(): Promise<void> {
    await null;
    await null;
    while (outstanding.count > 0 || work.length > 0) {
      const next = work.shift();
      if (next === undefined) await nextTurn();
      else await next();
      if (outstanding.count === 0) await nextTurn();
    }
  }

  async function advance(ms: number): Promise<void> {
    let isThere = false;
    agenda.at(clock.monotonicMs() + ms, () => {
      isThere = true;
    });
    while (!isThere && clock.step()) await settle();
  }

  function reconnect(run: ChargerRun, afterMs: number): void {
    agenda.at(clock.monotonicMs() + afterMs, () => {
      if (life === undefined) reconnect(run, RECONNECT_MS);
      else if (!run.isConnected) run.connect();
    });
  }

  const drawn = new Map<ChargerRun, number>();
  function measure(run: ChargerRun): boolean {
    const powerW = run.charger.physicalPowerW();
    const changeW = powerW - (drawn.get(run) ?? 0);
    drawn.set(run, powerW);
    if (changeW !== 0) watch.change(run.charger.address.locationId, changeW);
    return changeW !== 0;
  }

  function noteChange(run: ChargerRun): void {
    if (measure(run)) watch.check(run.charger.address.locationId, clock.nowMs());
  }

  /** A charger without a connection is looked after now and then only; its cars may have done something since. */
  function refresh(locationId: string): void {
    for (const run of runs) {
      if (run.charger.address.locationId !== locationId) continue;
      run.charger.advance(clock.monotonicMs());
      measure(run);
    }
  }

  await provision(config, tenants, keys);
  for (const { locations } of tenants) {
    for (const { locationId, permanentLimitKw, gridLimitKw } of locations) {
      oracle.addLocation(locationId, permanentLimitKw, gridLimitKw ?? null);
    }
  }
  for (const { tenantUuid, locations } of tenants) {
    for (const { locationId, chargers } of locations) {
      for (const { controllerUuid, connectors } of chargers) {
        const charger = createVirtualCharger({
          address: { tenantUuid, locationId, controllerUuid },
          ...{
            connectors,
            boot: `boot-${++boots}`,
            seed: seed + runs.length,
            traffic: options.traffic,
            startsAtMs: 0,
          },
          traits: options.traitsOf?.(controllerUuid, random) ?? {},
        });
        const sending = {
          ...network,
          send(wire: Parameters<typeof network.send>[0], message: Parameters<typeof network.send>[1]) {
            counts.fromChargers++;
            messages.saidByCharger(message);
            network.send(wire, message);
          },
        };
        runs.push(
          runCharger({
            charger,
            agenda,
            network: sending,
            monotonicMs,
            wallMs: () => clock.nowMs(),
            onChange: noteChange,
          }),
        );
      }
    }
  }
  await live();
  for (const run of runs) reconnect(run, uniformInt(random, 0, CONNECT_SPREAD_MS));

  return {
    ...{ agenda, oracle, watch, runs, violations, counts, report, advance },
    nowMs: () => clock.nowMs(),
    monotonicMs,
    travelTo: (instant) => advance(instant - clock.nowMs()),
    async call(method, path, body, tenantUuid = tenants[0]?.tenantUuid ?? '') {
      if (life === undefined) return { status: 0, body: undefined };
      const answer = await callService(life.httpUrl, keys.get(tenantUuid) ?? '', { method, path, body });
      await settle();
      return answer;
    },
    crash(downMs) {
      const dying = life;
      if (dying === undefined) return;
      life = undefined;
      work.push(() => dying.kill());
      for (const run of runs) {
        run.disconnect();
        reconnect(run, downMs + RECONNECT_MS + uniformInt(random, 0, RECONNECT_MS));
      }
      agenda.at(clock.monotonicMs() + downMs, () => void work.push(live));
    },
    setDatabaseBusy(busy) {
      isBusy = busy;
    },
    reboot(run) {
      run.disconnect();
      run.reboot(`boot-${++boots}`);
      reconnect(run, uniformInt(random, 0, RECONNECT_MS));
    },
    disconnect(run, downMs) {
      run.disconnect();
      reconnect(run, downMs + uniformInt(random, 0, RECONNECT_MS));
    },
    async close() {
      await settle();
      await life?.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** In memory where the host offers that: a world's commits need not outlast the host. */
function fastestDirectory(): string {
  return existsSync(MEMORY) ? MEMORY : tmpdir();
}

function configOf(dataDir: string, environment: Readonly<Record<string, string>> = {}): Config {
  return loadConfig(
    {},
    { HEADROOM_HTTP_PORT: '0', HEADROOM_MQTT_PORT: '0', HEADROOM_DATA_DIR: dataDir, ...environment },
  );
}

async function provision(
  config: Config,
  tenants: readonly TenantEntry[],
  keys: ReadonlyMap<string, string>,
): Promise<void> {
  const administration = await createAdministration({ databaseUrl: databaseUrlOf(config) });
  const entries = tenants.map((tenant) => {
    const key = keys.get(tenant.tenantUuid);
    const own = tenant.apiKeys[0];
    return own === undefined || key === undefined ? tenant : { ...tenant, apiKeys: [{ ...own, key }] };
  });
  for await (const _ of provisionFile(administration, { tenants: entries }, { dryRun: false, atMs: 0 }));
  await administration.close();
}

function describe(fields: object): string {
  const error = 'err' in fields ? fields.err : undefined;
  return error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(fields);
}
