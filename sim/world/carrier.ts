// What carries messages between chargers and service, while their wires decide when they arrive.

import type { ChargerAddress, ConnectorAddress, TenantUuid } from '../../machines/values/ids.js';
import type { Seams } from '../../src/service.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { NodeHost } from './node-host.js';
import type { Wire } from './wire.js';

/** What a carrier tells of what passes. */
export interface CarrierEvents {
  /** A limit left the service. */
  limitLeft(connector: ConnectorAddress, limit: LimitMessage): void;
  /** What `from` said reaches the service. */
  heard(from: ChargerAddress, message: ChargerMessage): void;
  /** The broker ended the charger's session, for what it said. */
  cutOff(charger: ChargerAddress): void;
}

/** One life of the service, as its carrier reaches it. */
export interface CarrierLife {
  readonly seams: Pick<Seams, 'createGateway' | 'wrapBus'>;
  /** From here on nothing passes in either direction. */
  end(): void;
}

/** A node among several, as its broker reaches it. */
export interface CarriedNode {
  readonly host: Pick<NodeHost, 'isCutFromBroker' | 'whenItMoves'>;
  /** A limit left it for a charger of the tenant. */
  granted(tenantUuid: TenantUuid): void;
}

export interface Carrier {
  /** For the next life of the service; one at a time, but for nodes that stand by for each other. */
  open(node?: CarriedNode): CarrierLife;
  /** The charger says it now: the service hears it whenever its wire lets it arrive, where a service lives then. */
  say(wire: Wire, message: ChargerMessage): void;
  /** The service hears it once more, at once; absent where that cannot be done. */
  sayAgain?(wire: Wire, message: ChargerMessage): void;
  /** What is said of a whole location, by others than its chargers, reaches the service; false where none lives. */
  hearOfSite(topic: string, payload: string): boolean;
  /** The charger has a new session from now on. */
  connect(wire: Wire, lastWill: ChargerMessage | undefined): void;
  /** The connection broke, which nobody has noticed yet. The world settles before anything else happens. */
  cut(wire: Wire): void;
  /** The broker noticed that the connection broke: it speaks the last will, where there is one. */
  lose(wire: Wire): void;
  /** All sessions are over and nobody speaks a last will. */
  loseAll(): void;
  close(): Promise<void>;
}
