// Decides which charger may connect to a gateway: by path, OCPP version,
// certificate and password. The service checks the password.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { withoutSecrets } from '../broker-url.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { createRareLog, type RareLog } from '../rare-log.js';
import { namesOf } from '../tls-files.js';
import type { ChargerBridge } from './charger-bridge.js';
import { CsmsLink } from './csms-link.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import type { SocketScope } from './socket-scope.js';
import { type LastWill, type LoginFailure, Uplink } from './uplink.js';

/** The newest first: a charger that supports several gets the first of these. */
export const PROTOCOLS = ['ocpp2.1', 'ocpp2.0.1', 'ocpp1.6'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** An admitted charger. Its own login and its link to the CSMS end with its socket. */
export interface Guest {
  readonly bridge: ChargerBridge;
  readonly uplink: Uplink;
  readonly protocol: Protocol;
  /** The CSMS behind the gateway. */
  readonly csms: CsmsLink | undefined;
}

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
  readonly reason: 'unknown' | 'subprotocol' | 'certificate' | 'credentials' | 'attempts' | 'unreachable';
  readonly message: string;
  /** Seconds until another attempt makes sense. */
  readonly retryAfterS?: number;
}

/** A login for chargers that present a certificate in place of a password. */
export interface GatewayLogin {
  readonly tenantUuid: string;
  readonly gatewayId: string;
  readonly password: string;
  readonly controllers: ReadonlySet<string>;
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
const REFUSAL_OF: Readonly<Record<LoginFailure, Refusal>> = {
  password: CREDENTIALS,
  attempts: ATTEMPTS,
  unreachable: UNREACHABLE,
};

/** Milliseconds between the attempts of a login, the shortest and the longest. */
const RECONNECT_MS = [1_000, 3_000] as const;

export interface DoorOptions {
  readonly mqttUrl: string;
  readonly mqttCa: string | undefined;
  readonly logins: readonly GatewayLogin[];
  /** URL of the CSMS behind the gateway. */
  readonly csmsUrl: string | undefined;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
}

export class ChargerDoor {
  readonly #bridges: ReadonlyMap<string, ChargerBridge>;
  readonly #options: DoorOptions;
  readonly #rareLog: RareLog;
  /** Every login at the service that is open or reconnects. */
  readonly #logins = new Set<Uplink>();
  /** Logins of gateways by user name; they last as long as the gateway. */
  readonly #shared = new Map<string, Uplink>();

  /** @param bridges by each path at which its charger may connect */
  constructor(bridges: ReadonlyMap<string, ChargerBridge>, options: DoorOptions) {
    this.#bridges = bridges;
    this.#options = options;
    this.#rareLog = createRareLog(options.clock);
  }

  /**
   * Admits or refuses a charger. A refusal is counted and logged. Resources opened for the charger end with `scope`.
   * @returns undefined if the socket is gone by then
   */
  async admit(handshake: Handshake, scope: SocketScope): Promise<Guest | Refusal | undefined> {
    const admitted = await this.#judge(handshake, scope);
    if (scope.isEnded) return undefined;
    if ('reason' in admitted) this.#note(admitted, handshake);
    return admitted;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#logins].map((uplink) => this.#logOut(uplink)));
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
    const uplink =
      password === undefined
        ? await this.#logInByCertificate(bridge, names !== undefined)
        : await this.#logIn(bridge, password, scope);
    if (!(uplink instanceof Uplink)) return uplink;
    const csms = this.#csmsOf(identity, password);
    if (csms !== undefined) scope.add(() => csms.end());
    const chosen = scope.isEnded ? undefined : await csms?.open(spoken);
    const protocol = spoken.find((name) => name === chosen) ?? newest;
    return { bridge, uplink, protocol, csms };
  }

  #csmsOf(identity: string, password: Buffer | undefined): CsmsLink | undefined {
    const { csmsUrl: url, random, clock, log, metrics } = this.#options;
    if (url === undefined) return undefined;
    return new CsmsLink({ url, identity, password, random, clock, log, metrics, rareLog: this.#rareLog });
  }

  async #logIn(bridge: ChargerBridge, password: Buffer, scope: SocketScope): Promise<Uplink | Refusal> {
    const { tenantUuid, controllerUuid } = bridge.address;
    const uplink = this.#start(tenantUuid, controllerUuid, password, bridge.lastWill());
    scope.add(() => this.#logOut(uplink));
    return this.#opened(uplink);
  }

  async #logInByCertificate(bridge: ChargerBridge, hasCertificate: boolean): Promise<Uplink | Refusal> {
    const { tenantUuid, controllerUuid } = bridge.address;
    const login = this.#options.logins.find(
      (one) => one.tenantUuid === tenantUuid && one.controllers.has(controllerUuid),
    );
    if (!hasCertificate || login === undefined) return CREDENTIALS;
    const key = `${tenantUuid}/${login.gatewayId}`;
    const known = this.#shared.get(key);
    if (known?.isRefused === false) return known;
    const uplink = await this.#opened(
      this.#start(tenantUuid, login.gatewayId, Buffer.from(login.password), undefined),
    );
    if (!(uplink instanceof Uplink)) return uplink;
    // Two chargers may have come at once: the first login counts.
    const first = this.#shared.get(key);
    if (first?.isRefused === false) {
      await this.#logOut(uplink);
      return first;
    }
    if (first !== undefined) await this.#logOut(first);
    this.#shared.set(key, uplink);
    return uplink;
  }

  #start(tenantUuid: string, clientId: string, password: Buffer, will: LastWill | undefined): Uplink {
    const { mqttUrl, mqttCa, random, clock } = this.#options;
    const reconnectMs = Math.round(RECONNECT_MS[0] + (RECONNECT_MS[1] - RECONNECT_MS[0]) * random());
    const username = `${tenantUuid}/${clientId}`;
    const login = { url: mqttUrl, ca: mqttCa, clientId, username, password, reconnectMs, clock };
    const uplink = new Uplink(login, will);
    this.#logins.add(uplink);
    this.#countLogins();
    return uplink;
  }

  async #opened(uplink: Uplink): Promise<Uplink | Refusal> {
    const failure = await uplink.opened();
    if (failure === undefined) return uplink;
    await this.#logOut(uplink);
    return REFUSAL_OF[failure];
  }

  async #logOut(uplink: Uplink): Promise<void> {
    this.#logins.delete(uplink);
    this.#countLogins();
    await uplink.end();
  }

  #countLogins(): void {
    this.#options.metrics.logins.set(this.#logins.size);
  }
}

/** Names in the charger's certificate; undefined if none is required. */
function certificateNamesOf({ socket }: IncomingMessage): ReadonlySet<string> | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  return namesOf(socket.getPeerCertificate());
}
