// A virtual charger in a rig's hands: what it draws and is held to, and the network between it and the broker.
import type { Rotation } from '../../machines/power/fuses.js';
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

/** One virtual charger with the one connector "1", of three phases at 230 V unless said otherwise. What is left out is honest, hungry, 32 A. */
export interface ChargerPlan {
  readonly traits?: Partial<ChargerTraits>;
  readonly traffic?: Traffic;
  readonly maxCurrentA?: number;
  readonly phases?: 1 | 3;
  readonly rotation?: Rotation;
  /** The feeder that it hangs on. */
  readonly feeder?: string;
  /** A DC connector instead; then `maxCurrentA` is that of each phase at the lowest voltage. */
  readonly dc?: DcRating;
  /** A per phase, as provisioned. */
  readonly failsafeA?: number;
  /** What the charger itself is configured to; as provisioned unless said otherwise. */
  readonly ownFailsafeA?: number;
  /** Its car does not wake up after a pause. */
  readonly neverPause?: boolean;
  readonly operatorMayPause?: boolean;
  /** Provisioned, but driven by the test itself or by nobody. */
  readonly isAbsent?: boolean;
}

export interface RigCharger {
  readonly controllerUuid: string;
  readonly locationId: string;
  readonly charger: VirtualCharger;
  readonly link: ChargerLink;
  /** What truly flows, A of each of its phases; of a DC connector at the lowest voltage. */
  drawnA(): number;
  heldA(): number;
  reason(): string;
  holdsLease(): boolean;
  energyWh(): number;
  /** Limits it received. */
  limitsHeard(): number;
  /** How often it came to the broker. */
  connections(): number;
  /** Its connection seems open, and nothing passes either way. */
  setMute(isMute: boolean): void;
  /** The network keeps what is sent to it, until `letThrough` delivers all of it at once, in order. */
  holdBack(): void;
  letThrough(): void;
}

export function startRigCharger(options: {
  readonly clock: Clock;
  readonly url: string;
  readonly locationId: string;
  readonly plan: ChargerPlan;
  /** Its place among the chargers of its location, from 1. */
  readonly nth: number;
  /** It handed so many messages to its connection. */
  onSaid(count: number): void;
  /** A limit reached it. */
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
