// Carries messages between chargers and the service, while the wires decide the instants of arrival.

import type { ChargerAddress, ConnectorAddress, TenantUuid } from '../../machines/values/ids.js';
import type { Seams } from '../../src/service.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { NodeHost } from './node-host.js';
import type { Wire } from './wire.js';

export interface CarrierEvents {
  /** A limit left the service. */
  limitLeft(connector: ConnectorAddress, limit: LimitMessage): void;
  /** A message of `from` reaches the service. */
  received(from: ChargerAddress, message: ChargerMessage): void;
  /** The broker ended the charger's session because of one of the charger's messages. */
  cutOff(charger: ChargerAddress): void;
}

/** The carrier's side of one life of the service. */
export interface CarrierLife {
  readonly seams: Pick<Seams, 'createGateway' | 'wrapBus'>;
  /** From here on no message passes in either direction. */
  end(): void;
}

/** The carrier's side of one node among several. */
export interface CarriedNode {
  readonly host: Pick<NodeHost, 'isCutFromBroker' | 'whenItMoves'>;
  /** A limit left the node for a charger of the tenant. */
  granted(tenantUuid: TenantUuid): void;
}

export interface Carrier {
  /**
   * Prepares the next life of the service. One life is open at a time, except for nodes that stand by for each
   * other.
   */
  open(node?: CarriedNode): CarrierLife;
  /** Sends a charger's message now. The message reaches the service that runs at the instant of arrival, if any. */
  say(wire: Wire, message: ChargerMessage): void;
  /** Delivers the message to the service once more, at once; absent if the carrier cannot do that. */
  sayAgain?(wire: Wire, message: ChargerMessage): void;
  /** Delivers a message about a whole location, whose sender is no charger. False if no service runs. */
  receiveOfSite(topic: string, payload: string): boolean;
  /** The charger has a new session from now on. */
  connect(wire: Wire, lastWill: ChargerMessage | undefined): void;
  /** The connection broke, and no side has noticed that yet. The world settles before anything else happens. */
  cut(wire: Wire): void;
  /** The broker noticed the broken connection: it publishes the last will, if there is one. */
  lose(wire: Wire): void;
  /** All sessions end, and no last will is published. */
  loseAll(): void;
  close(): Promise<void>;
}
