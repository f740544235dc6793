// Many virtual chargers on one broker, and what they do together.
import { randomUUID } from 'node:crypto';
import type { ChargerAddress } from '../../machines/ids.js';
import type { Clock } from '../../src/ports/clock.js';
import { type ChargerLink, connectCharger } from './charger-link.js';
import type { Traffic } from './traffic.js';
import { createVirtualCharger, type VirtualCharger, type VirtualConnectorSpec } from './virtual-charger.js';

/** One charger of a fleet and the login it uses. */
export interface FleetMember {
  readonly address: ChargerAddress;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly connectors: readonly VirtualConnectorSpec[];
}

export interface FleetSummary {
  readonly chargers: number;
  readonly online: number;
  readonly charging: number;
  readonly powerKw: number;
  readonly energyKwh: number;
  /** Why chargers are not online, if any said so. */
  readonly lastError: string | undefined;
}

export interface Fleet {
  summary(): FleetSummary;
  stop(): Promise<void>;
}

/** A thousand chargers that start together are spread over this time, as a site's are after a power cut. */
const SPREAD_MS = 5000;
const APART_MS = 20;

/** Starts `members` one after another; charger i draws its cars from `seed + i`. */
export function startFleet(options: {
  readonly url: string;
  readonly members: readonly FleetMember[];
  readonly seed: number;
  readonly traffic: Traffic;
  readonly clock: Clock;
  readonly meterPeriodMs: number;
}): Fleet {
  const { url, members, seed, traffic, clock, meterPeriodMs } = options;
  const running: { readonly link: ChargerLink; readonly charger: VirtualCharger }[] = [];
  const apartMs = Math.min(APART_MS, SPREAD_MS / members.length);

  function start({ connectors, ...login }: FleetMember, i: number): void {
    const startsAtMs = clock.monotonicMs();
    const charger = createVirtualCharger({ connectors, seed: seed + i, traffic, startsAtMs });
    const link = connectCharger({ url, ...login, charger, clock, meterPeriodMs, boot: randomUUID() });
    running.push({ link, charger });
  }

  // The first at once: its socket is what keeps a process alive that does nothing else.
  const cancels = members.map((member, i) =>
    i === 0 ? start(member, i) : clock.after(i * apartMs, () => start(member, i)),
  );
  return {
    summary() {
      const readings = running.flatMap(({ charger }) => charger.readings());
      const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
      return {
        chargers: members.length,
        online: running.filter(({ link }) => link.isOnline()).length,
        charging: readings.filter(({ status }) => status === 'Charging').length,
        powerKw: sum(readings.map(({ powerW }) => powerW)) / 1000,
        energyKwh: sum(readings.map(({ energyWh }) => energyWh)) / 1000,
        lastError: running.map(({ link }) => link.lastError()).find((error) => error !== undefined),
      };
    },
    async stop() {
      for (const cancel of cancels) cancel?.();
      await Promise.all(running.map(({ link }) => link.stop()));
    },
  };
}
