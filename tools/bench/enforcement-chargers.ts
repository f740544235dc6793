// A fleet of chargers that keep to the grant protocol, in a process of their own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { mersenne } from 'pure-rand/generator/mersenne';
import { systemClock } from '../../src/clock.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import { FleetCharger, type Tally } from './fleet-charger.js';
import { connectPacket, createPacketReader, KIND, readSurePublish, subscribePacket } from './mqtt-packets.js';
import { controllerUuidOf, locationIdOf, MQTT_SECRET, TENANT } from './site.js';

export interface FleetPlan {
  readonly locations: number;
  readonly chargersEach: number;
  /** Current that every car always takes, A; if omitted, cars come and go. */
  readonly steadyA?: number;
  /** 10 s if omitted. */
  readonly heartbeatMs?: number;
}

/** Counts since the last `begin`. */
export interface FleetReport {
  readonly heartbeats: number;
  readonly limits: number;
  readonly changes: number;
  readonly broken: number;
  /** Grants that were due in answer to a heartbeat; grants that are still due at the end count as waits, too. */
  readonly answers: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Lag of the fleet's own event loop, which is part of every wait. */
  readonly ownLagP99Ms: number;
  /** Receipts of higher limits, with the first and the last instant of them, epoch ms; 0 if there is none. */
  readonly raises: { readonly count: number; readonly firstAtMs: number; readonly lastAtMs: number };
}

export interface FleetClients {
  /** Resets the counts. */
  begin(): void;
  report(): Promise<FleetReport>;
  stop(): void;
}

const CONNECTING_AT_ONCE = 50;
const MICROS = 1_000;

function kindOf(type: number): number {
  return type & 0xf0;
}

/** Resolves after it is connected and subscribed. */
function connectCharger(url: URL, plan: FleetPlan, nth: number, tally: Tally): Promise<FleetCharger> {
  const controllerUuid = controllerUuidOf(nth);
  const address = {
    tenantUuid: TENANT,
    locationId: locationIdOf(Math.floor(nth / plan.chargersEach)),
    controllerUuid,
  };
  const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
  const charger = new FleetCharger(address, socket, mersenne(nth), tally, plan);
  return new Promise((resolve) => {
    const read = createPacketReader((type, body) => {
      if (kindOf(type) === KIND.publish) {
        const { payload, puback } = readSurePublish(body);
        socket.write(puback);
        charger.applyLimit(JSON.parse(payload.toString()) as LimitMessage);
      } else if (kindOf(type) === KIND.connack) {
        if (body[1] !== 0) throw new Error(`${controllerUuid} was refused`);
        socket.write(subscribePacket(1, [charger.limitTopic]));
      } else if (kindOf(type) === KIND.suback) {
        charger.start();
        resolve(charger);
      }
    });
    socket.on('data', read);
    socket.on('close', () => process.exit(1));
    socket.on('error', () => process.exit(1));
    const username = `${TENANT}/${controllerUuid}`;
    socket.write(connectPacket({ clientId: controllerUuid, username, password: MQTT_SECRET }));
  });
}

async function runFleet(url: URL, plan: FleetPlan): Promise<void> {
  const waits = createHistogram();
  const lag = monitorEventLoopDelay({ resolution: 10 });
  const noRaise = { count: 0, firstAtMs: 0, lastAtMs: 0 };
  let raises = noRaise;
  const tally: Tally = {
    onRaise() {
      const now = systemClock.nowMs();
      raises = { count: raises.count + 1, firstAtMs: raises.firstAtMs || now, lastAtMs: now };
    },
    heartbeats: 0,
    limits: 0,
    changes: 0,
    broken: 0,
    onAnswer: (waitedMs) => waits.record(Math.max(1, Math.round(waitedMs * MICROS))),
  };
  const chargers: FleetCharger[] = [];
  const count = plan.locations * plan.chargersEach;
  while (chargers.length < count) {
    const batch = Math.min(CONNECTING_AT_ONCE, count - chargers.length);
    const first = chargers.length;
    const connecting = Array.from({ length: batch }, (_, i) => connectCharger(url, plan, first + i, tally));
    chargers.push(...(await Promise.all(connecting)));
  }

  function reportOf(): FleetReport {
    const nowMs = systemClock.monotonicMs();
    for (const charger of chargers) {
      const owedMs = charger.owedForMs(nowMs);
      if (owedMs > 1_000) tally.onAnswer(owedMs);
    }
    const { heartbeats, limits, changes, broken } = tally;
    return {
      heartbeats,
      limits,
      changes,
      broken,
      answers: waits.count,
      p50Ms: waits.percentile(50) / MICROS,
      p99Ms: waits.percentile(99) / MICROS,
      maxMs: waits.max / MICROS,
      ownLagP99Ms: lag.percentile(99) / 1e6,
      raises,
    };
  }

  process.on('message', (order) => {
    if (order === 'report') {
      process.send?.(reportOf());
    } else {
      Object.assign(tally, { heartbeats: 0, limits: 0, changes: 0, broken: 0 });
      waits.reset();
      raises = noRaise;
      lag.reset();
      lag.enable();
    }
  });
  process.send?.('ready');
}

/** Starts the fleet in a process of its own; resolves after all chargers are connected. */
export async function startFleetClients(url: string, plan: FleetPlan): Promise<FleetClients> {
  const child = fork(fileURLToPath(import.meta.url), [url]);
  const failed = once(child, 'exit').then(() => {
    throw new Error('the chargers did not stay connected');
  });
  failed.catch(() => {});
  child.send(plan);
  await Promise.race([once(child, 'message'), failed]);
  return {
    begin: () => void child.send('begin'),
    async report() {
      child.send('report');
      const [report] = await Promise.race([once(child, 'message'), failed]);
      return report as FleetReport;
    },
    stop: () => void child.kill(),
  };
}

const [, script, url] = process.argv;
if (script === fileURLToPath(import.meta.url) && url !== undefined) {
  const [plan] = await once(process, 'message');
  await runFleet(new URL(url), plan as FleetPlan);
}
