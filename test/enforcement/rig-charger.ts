// A virtual charger in a rig: its draw, its limit, and the network between it and the broker.
import type { PhaseRotation } from '../../machines/power/fuses.js';
import type { ConnectorId, ControllerUuid, LocationId } from '../../machines/values/ids.js';
import type { DcRating } from '../../machines/values/units.js';
import { ChargerLink } from '../../sim/charger/charger-link.js';
import { countedV } from '../../sim/charger/direct-current.js';
import { HUNGRY, type Traffic } from '../../sim/charger/traffic.js';
import type { ChargerTraits } from '../../sim/charger/traits.js';
import { VirtualCharger } from '../../sim/charger/virtual-charger.js';
import type { Clock } from '../../src/ports/clock.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import { CHARGER_PASSWORD, HARBOUR } from '../service/running-service.js';

/** One virtual charger with one connector, "1". Defaults: honest, hungry, 32 A on three phases of 230 V. */
export interface ChargerPlan {
  readonly traits?: Partial<ChargerTraits>;
  readonly traffic?: Traffic;
  readonly maxCurrentA?: number;
  readonly phases?: 1 | 3;
  readonly rotation?: PhaseRotation;
  /** The feeder above the charger. */
  readonly feeder?: string;
  /** Makes it a DC connector. `maxCurrentA` is then the current on each phase at the lowest voltage. */
  readonly dc?: DcRating;
  /** A per phase, as provisioned. */
  readonly failsafeA?: number;
  /** The charger's own setting, by default as provisioned. */
  readonly ownFailsafeA?: number;
  /** Its car does not wake up after a pause. */
  readonly neverPause?: boolean;
  readonly operatorMayPause?: boolean;
  /** Provisioned, but no virtual charger: the test drives it, or it never connects. */
  readonly isAbsent?: boolean;
}

export interface RigCharger {
  readonly controllerUuid: string;
  readonly locationId: string;
  readonly charger: VirtualCharger;
  readonly link: ChargerLink;
  /** Physical current on each of its phases, A. For a DC connector, at the lowest voltage. */
  drawnA(): number;
  heldA(): number;
  reason(): string;
  holdsLease(): boolean;
  energyWh(): number;
  /** Number of received limits. */
  limitsHeard(): number;
  /** Number of connections to the broker so far. */
  connections(): number;
  /** The connection seems open, but no message passes either way. */
  setMute(isMute: boolean): void;
  /** Makes the network keep all messages to the charger. `letThrough` delivers all of them at once, in order. */
  holdBack(): void;
  letThrough(): void;
}

export function startRigCharger(options: {
  readonly clock: Clock;
  readonly url: string;
  readonly locationId: string;
  readonly plan: ChargerPlan;
  /** Its position among the chargers of its location, from 1. */
  readonly nth: number;
  /** Called after the charger handed `count` messages to its connection. */
  onSaid(count: number): void;
  /** Called after a limit reached the charger. */
  onHeard(): void;
}): RigCharger {
  const { clock, url, locationId, plan, nth, onSaid, onHeard } = options;
  const {
    maxCurrentA = 32,
    failsafeA = 6,
    ownFailsafeA = failsafeA,
    traits,
    traffic = HUNGRY,
    phases = 3,
  } = plan;
  const controllerUuid = `${locationId}-${nth}`;
  let isMute = false;
  let limitsHeard = 0;
  let connections = 0;
  let heldBack: (() => void)[] | undefined;

  class OverheardCharger extends VirtualCharger {
    override connected(nowMs: number) {
      connections++;
      super.connected(nowMs);
    }

    override takeMessages(nowMs: number, wallMs: number) {
      const messages = super.takeMessages(nowMs, wallMs);
      if (isMute) return [];
      onSaid(messages.length);
      return messages;
    }

    override receiveLimit(connectorId: ConnectorId, limit: LimitMessage, nowMs: number) {
      onHeard();
      limitsHeard++;
      if (isMute) return;
      if (heldBack === undefined) super.receiveLimit(connectorId, limit, nowMs);
      else heldBack.push(() => super.receiveLimit(connectorId, limit, clock.monotonicMs()));
    }

    override receiveSync(nowMs: number) {
      if (!isMute) super.receiveSync(nowMs);
    }
  }

  const charger = new OverheardCharger({
    address: {
      tenantUuid: HARBOUR,
      locationId: locationId as LocationId,
      controllerUuid: controllerUuid as ControllerUuid,
    },
    connectors: [
      {
        connectorId: '1' as ConnectorId,
        phases,
        voltageV: 230,
        maxCurrentA,
        failsafeA: ownFailsafeA,
        ...(plan.dc !== undefined && { dc: plan.dc }),
      },
    ],
    boot: `${controllerUuid}-boot-1`,
    seed: nth,
    traffic,
    startsAtMs: clock.monotonicMs(),
    ...(traits && { traits }),
  });
  const username = `${HARBOUR}/${controllerUuid}`;
  const login = { url, username, password: CHARGER_PASSWORD };
  const link = new ChargerLink({ ...login, charger, clock });
  const held = () => {
    charger.advance(clock.monotonicMs());
    return charger.limits()[0];
  };
  return {
    controllerUuid,
    locationId,
    charger,
    link,
    drawnA() {
      charger.advance(clock.monotonicMs());
      const voltageV = countedV({ phases, voltageV: 230, maxCurrentA, dc: plan.dc ?? null });
      return charger.physicalPowerW() / (phases * voltageV);
    },
    heldA: () => held()?.limitA ?? 0,
    reason: () => held()?.reason ?? '',
    holdsLease: () => Number.isFinite(held()?.endsAtMs),
    energyWh: () => charger.readings()[0]?.energyWh ?? 0,
    limitsHeard: () => limitsHeard,
    connections: () => connections,
    setMute(mute) {
      isMute = mute;
    },
    holdBack() {
      heldBack = [];
    },
    letThrough() {
      const deliveries = heldBack ?? [];
      heldBack = undefined;
      for (const deliver of deliveries) deliver();
    },
  };
}
