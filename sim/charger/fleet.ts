// Runs many virtual chargers on one broker and sums up their state.
import { randomUUID } from 'node:crypto';
import type { LeaseTiming, LimitReason } from '../../machines/ledger/grant.js';
import type { ChargingStatus } from '../../machines/values/charging-status.js';
import type { ChargerAddress, ConnectorId, ControllerUuid, LocationId } from '../../machines/values/ids.js';
import type { Clock } from '../../src/ports/clock.js';
import { ChargerLink, type ChargerTls } from './charger-link.js';
import { countedV } from './direct-current.js';
import type { Traffic } from './traffic.js';
import type { ChargerTraits } from './traits.js';
import { VirtualCharger } from './virtual-charger.js';
import type { VirtualConnectorSpec } from './virtual-connector.js';

export interface FleetMember {
  readonly address: ChargerAddress;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Lease timing of this charger alone; undefined leaves the fleet's. */
  readonly timing?: LeaseTiming | undefined;
  readonly connectors: readonly VirtualConnectorSpec[];
}

/** One connector now. `powerW` is physical power; `limitA` is per phase, `limitW` for all phases of the connector. */
export interface FleetConnector {
  readonly locationId: LocationId;
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
  readonly status: ChargingStatus;
  readonly powerW: number;
  readonly limitA: number;
  readonly limitW: number;
  readonly reason: LimitReason;
  /** Remaining lease of its grant; null without a lease. */
  readonly leaseLeftS: number | null;
}

export interface FleetSummary {
  readonly chargers: number;
  readonly online: number;
  readonly charging: number;
  readonly powerKw: number;
  /** Sum of the connectors' limits. */
  readonly allowedKw: number;
  readonly energyKwh: number;
  readonly connectors: number;
  /** Number of connectors that hold a lease. */
  readonly leased: number;
  /** Number of connectors for each reason of their limit. */
  readonly reasons: Readonly<Partial<Record<LimitReason, number>>>;
  /** Connection error of one of the chargers, if any. */
  readonly lastError: string | undefined;
}

export interface Fleet {
  summary(): FleetSummary;
  connectors(): readonly FleetConnector[];
  stop(): Promise<void>;
}

/** The starts of a thousand chargers are spread over this time, as at a site after a power cut. */
const SPREAD_MS = 5000;
const APART_MS = 20;

function sumOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function countReasons(connectors: readonly FleetConnector[]): FleetSummary['reasons'] {
  const counts: Partial<Record<LimitReason, number>> = {};
  for (const { reason } of connectors) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

/** Example: `fairShare 4, idle 1`; the most frequent reason comes first. */
export function formatReasons(reasons: FleetSummary['reasons']): string {
  const counts = Object.entries(reasons).sort(([, a], [, b]) => b - a);
  return counts.map(([reason, count]) => `${reason} ${count}`).join(', ');
}

function connectorsOf(charger: VirtualCharger, nowMs: number): readonly FleetConnector[] {
  const { locationId, controllerUuid } = charger.address;
  const readings = charger.readings();
  return charger.limits().flatMap(({ limitA, reason, endsAtMs }, i) => {
    const [spec, reading] = [charger.connectors[i], readings[i]];
    if (spec === undefined || reading === undefined) return [];
    const { connectorId } = spec;
    const leaseLeftS = Number.isFinite(endsAtMs) ? Math.max(0, Math.round((endsAtMs - nowMs) / 1000)) : null;
    const powerW = Math.round(charger.physicalPowerW(connectorId));
    const { status } = reading;
    const limitW = Math.round(limitA * spec.phases * countedV(spec));
    return [{ locationId, controllerUuid, connectorId, status, powerW, limitA, limitW, reason, leaseLeftS }];
  });
}

/** Starts `members` one after another; charger i draws its cars from `seed + i`. */
export function startFleet(options: {
  readonly url: string;
  readonly members: readonly FleetMember[];
  readonly seed: number;
  readonly traffic: Traffic;
  readonly clock: Clock;
  readonly traits: Partial<ChargerTraits>;
  readonly tls?: ChargerTls | undefined;
}): Fleet {
  const { url, members, seed, traffic, clock, traits, tls } = options;
  const running: { readonly link: ChargerLink; readonly charger: VirtualCharger }[] = [];
  const apartMs = Math.min(APART_MS, SPREAD_MS / members.length);

  function start({ username, password, timing, ...member }: FleetMember, i: number): void {
    const startsAtMs = clock.monotonicMs();
    const boot = randomUUID();
    const own = timing === undefined ? traits : { ...traits, meterPeriodMs: timing.heartbeatMs };
    const charger = new VirtualCharger({ ...member, boot, seed: seed + i, traffic, startsAtMs, traits: own });
    running.push({ link: new ChargerLink({ url, username, password, tls, charger, clock }), charger });
  }

  function connectors(): readonly FleetConnector[] {
    const nowMs = clock.monotonicMs();
    return running.flatMap(({ charger }) => connectorsOf(charger, nowMs));
  }

  // The first charger starts at once: its socket keeps a process alive that does nothing else.
  const cancels = members.map((member, i) =>
    i === 0 ? start(member, i) : clock.after(i * apartMs, () => start(member, i)),
  );
  return {
    connectors,
    summary() {
      const all = connectors();
      const readings = running.flatMap(({ charger }) => charger.readings());
      return {
        chargers: members.length,
        online: running.filter(({ link }) => link.isOnline()).length,
        charging: all.filter(({ status }) => status === 'Charging').length,
        powerKw: sumOf(all.map(({ powerW }) => powerW)) / 1000,
        allowedKw: sumOf(all.map(({ limitW }) => limitW)) / 1000,
        energyKwh: sumOf(readings.map(({ energyWh }) => energyWh)) / 1000,
        connectors: all.length,
        leased: all.filter(({ leaseLeftS }) => leaseLeftS !== null).length,
        reasons: countReasons(all),
        lastError: running.map(({ link }) => link.lastError()).find((error) => error !== undefined),
      };
    },
    async stop() {
      for (const cancel of cancels) cancel?.();
      await Promise.all(running.map(({ link }) => link.stop()));
    },
  };
}
