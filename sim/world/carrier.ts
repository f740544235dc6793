// What carries messages between chargers and service once it is decided when they arrive.

import type { ConnectorAddress } from '../../machines/ids.js';
import type { Seams } from '../../src/service.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Wire } from './wire.js';

/** What a carrier tells of what passes. */
export interface CarrierEvents {
  /** A limit left the service. */
  limitLeft(connector: ConnectorAddress, limit: LimitMessage): void;
}

/** One life of the service, as its carrier reaches it. */
export interface CarrierLife {
  readonly seams: Pick<Seams, 'gateway' | 'wrapBus'>;
  /** From here on nothing passes in either direction. */
  end(): void;
}

export interface Carrier {
  /** For the next life of the service; one at a time. */
  open(): CarrierLife;
  /** Where the service of this life is, once it has started. */
  started?(mqttUrl: string): void;
  /** What the charger said arrives now; nothing of it where no service lives. */
  arriveUp(wire: Wire, message: ChargerMessage): void;
  /** The charger has a new session from now on; the carrier may need the world to wait for it. */
  connect(wire: Wire, lastWill: ChargerMessage | undefined): void;
  /** The session ended, and the broker noticed: it speaks the last will, where there is one. */
  lose(wire: Wire, lastWill: ChargerMessage | undefined): void;
  /** All sessions are over and nobody speaks a last will. */
  loseAll(): void;
  close(): Promise<void>;
}
