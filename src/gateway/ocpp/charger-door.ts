// Decides which charger may connect to a gateway: by path, OCPP version,
// certificate and password. The service checks the password.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { withoutSecrets } from '../../broker-url.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import { namesOf } from '../../tls-files.js';
import type { GatewayMetrics } from '../gateway-metrics.js';
import { type GatewayLogin, ServiceLogins } from '../service-logins.js';
import { type LoginFailure, Uplink } from '../uplink.js';
import { CsmsLink } from './csms-link.js';
import type { OcppBridge } from './ocpp-charger.js';
import { PROTOCOLS, type Protocol } from './ocpp-dialect.js';
import type { SocketScope } from './socket-scope.js';

/** An admitted charger. Its own login and its link to the CSMS end with its socket. */
export interface Guest {
  readonly bridge: OcppBridge;
  readonly uplink: Uplink;
  readonly protocol: Protocol;
  /** The gateway's login that it uses in place of its own. */
  readonly gatewayId: string | undefined;
  /** The CSMS behind the gateway. */
  readonly csms: CsmsLink | undefined;
}

/** The reason for which the provisioning file ends a connection. */
export type Eviction = 'removed' | 'changed';

export interface Handshake {
  readonly endpoint: string;
  readonly identity: string;
  readonly protocols: ReadonlySet<string>;
  readonly password: Buffer | undefined;
  readonly remoteAddress: string | undefined;
  readonly request: IncomingMessage;
}

export interface Refusal {
  readonly status: 400 | 401 | 404 | 429 | 503;
  readonly reason:
    | 'unknown'
    | 'subprotocol'
    | 'certificate'
    | 'credentials'
    | 'attempts'
    | 'unreachable'
    | 'changed';
  readonly message: string;
  /** Seconds until another attempt makes sense. */
  readonly retryAfterS?: number;
}

const UNKNOWN: Refusal = { status: 404, reason: 'unknown', message: 'Unknown charger' };
const SUBPROTOCOL: Refusal = {
  status: 400,
  reason: 'subprotocol',
  message: `Sec-WebSocket-Protocol must name ${PROTOCOLS.join(' or ')}`,
};
const CERTIFICATE: Refusal = {
  status: 401,
  reason: 'certificate',
  message: 'The certificate names another charger',
};
const CREDENTIALS: Refusal = { status: 401, reason: 'credentials', message: 'Wrong user or password' };
/** By default the service checks a name once more within this time, after ten failures at a busy address. */
const RETRY_AFTER_S = 60;
const ATTEMPTS: Refusal = {
  status: 429,
  reason: 'attempts',
  message: 'Too many wrong passwords',
  retryAfterS: RETRY_AFTER_S,
};
const UNREACHABLE: Refusal = { status: 503, reason: 'unreachable', message: 'Headroom cannot be reached' };
/** The charger's entry in the file has changed during its login. */
const CHANGED: Refusal = { status: 503, reason: 'changed', message: 'Try again', retryAfterS: 1 };
const REFUSAL_OF: Readonly<Record<LoginFailure, Refusal>> = {
  password: CREDENTIALS,
  attempts: ATTEMPTS,
  unreachable: UNREACHABLE,
};

export interface DoorOptions {
  readonly mqttUrl: string;
  readonly mqttCa: string | undefined;
  /** URL of the CSMS behind the gateway. */
  readonly csmsUrl: string | undefined;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
}

export class ChargerDoor {
  /** By each path at which its charger may connect. */
  #bridges: ReadonlyMap<string, OcppBridge> = new Map();
  readonly #options: DoorOptions;
  readonly #rareLog: RareLog;
  readonly #logins: ServiceLogins;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#rareLog = createRareLog(options.clock);
    this.#logins = new ServiceLogins(options);
  }

  /** From now on, these chargers may connect. It closes no connection: `evictionOf` names the connections that must end. */
  provision(bridges: readonly OcppBridge[], logins: readonly GatewayLogin[]): void {
    this.#bridges = pathsOf(bridges);
    this.#logins.provision(logins);
  }

  /** Undefined: the guest may stay. */
  evictionOf({ bridge, gatewayId }: Pick<Guest, 'bridge' | 'gatewayId'>): Eviction | undefined {
    const present = this.#bridges.get(pathOf(bridge));
    if (present === undefined) return 'removed';
    const hasItsLogin =
      gatewayId === undefined || this.#logins.sharedBy(bridge.address)?.gatewayId === gatewayId;
    return present === bridge && hasItsLogin ? undefined : 'changed';
  }

  /** Logs out the gateways that the file no longer names. Their chargers have been disconnected before. */
  endUnusedLogins(): void {
    this.#logins.endUnused();
  }

  /**
   * Admits or refuses a charger. A refusal is counted and logged. Resources opened for the charger end with `scope`.
   * @returns undefined if the socket is gone by then
   */
  async admit(handshake: Handshake, scope: SocketScope): Promise<Guest | Refusal | undefined> {
    const judged = await this.#judge(handshake, scope);
    if (scope.isEnded) return undefined;
    const admitted = 'reason' in judged ? judged : (this.#refusalOf(judged) ?? judged);
    if ('reason' in admitted) this.#note(admitted, handshake);
    return admitted;
  }

  async close(): Promise<void> {
    await this.#logins.close();
  }

  /** The file may have changed during the login. */
  #refusalOf(guest: Guest): Refusal | undefined {
    const eviction = this.evictionOf(guest);
    if (eviction === undefined) return undefined;
    return eviction === 'removed' ? UNKNOWN : CHANGED;
  }

  #note({ reason, message }: Refusal, { remoteAddress, endpoint, identity }: Handshake): void {
    // Only the log names the address, not the answer to the charger.
    const place = reason === 'unreachable' ? ` at ${withoutSecrets(this.#options.mqttUrl)}` : '';
    this.#options.metrics.refusals.inc({ reason });
    this.#rareLog(`${remoteAddress} ${reason}`, () =>
      this.#options.log.warn(
        { reason, remoteAddress, path: `${endpoint}/${identity}`.slice(0, 300) },
        `OCPP charger refused: ${message}${place}`,
      ),
    );
  }

  async #judge(
    { endpoint, identity, protocols, password, request }: Handshake,
    scope: SocketScope,
  ): Promise<Guest | Refusal> {
    const bridge = this.#bridges.get(`${endpoint}/${identity}`);
    if (bridge === undefined) return UNKNOWN;
    const spoken = PROTOCOLS.filter((name) => protocols.has(name));
    const [newest] = spoken;
    if (newest === undefined) return SUBPROTOCOL;
    const names = certificateNamesOf(request);
    if (names !== undefined && !names.has(identity)) return CERTIFICATE;
    const login = password === undefined ? this.#logins.sharedBy(bridge.address) : undefined;
    const uplink = await (password !== undefined
      ? this.#logIn(bridge, password, scope)
      : login === undefined || names === undefined
        ? 'password'
        : this.#logins.shared(login));
    if (!(uplink instanceof Uplink)) return REFUSAL_OF[uplink];
    const csms = this.#csmsOf(identity, password);
    if (csms !== undefined) scope.add(() => csms.end());
    const chosen = scope.isEnded ? undefined : await csms?.open(spoken);
    const protocol = spoken.find((name) => name === chosen) ?? newest;
    return { bridge, uplink, protocol, gatewayId: login?.gatewayId, csms };
  }

  #csmsOf(identity: string, password: Buffer | undefined): CsmsLink | undefined {
    const { csmsUrl: url, random, clock, log, metrics } = this.#options;
    if (url === undefined) return undefined;
    return new CsmsLink({ url, identity, password, random, clock, log, metrics, rareLog: this.#rareLog });
  }

  #logIn(bridge: OcppBridge, password: Buffer, scope: SocketScope): Promise<Uplink | LoginFailure> {
    const { uplink, opened } = this.#logins.own(bridge.address, password, bridge.lastWill());
    scope.add(() => this.#logins.end(uplink));
    return opened;
  }
}

function pathOf({ address: { tenantUuid, controllerUuid } }: OcppBridge): string {
  return `/ocpp/${tenantUuid}/${controllerUuid}`;
}

/** The tenant may be left out of a path if the controllerUuid is unique. */
function pathsOf(bridges: readonly OcppBridge[]): ReadonlyMap<string, OcppBridge> {
  const paths = new Map<string, OcppBridge>();
  const named = new Map<string, number>();
  for (const { address } of bridges)
    named.set(address.controllerUuid, (named.get(address.controllerUuid) ?? 0) + 1);
  for (const bridge of bridges) {
    const { controllerUuid } = bridge.address;
    paths.set(pathOf(bridge), bridge);
    if (named.get(controllerUuid) === 1) paths.set(`/ocpp/${controllerUuid}`, bridge);
  }
  return paths;
}

/** Names in the charger's certificate; undefined if none is required. */
function certificateNamesOf({ socket }: IncomingMessage): ReadonlySet<string> | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  return namesOf(socket.getPeerCertificate());
}
