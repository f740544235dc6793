// Who may connect to a gateway: by path, version of OCPP, certificate and password, which the service checks.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { withoutSecrets } from '../broker-url.js';
import { namesOf } from '../certificate-names.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { createRareLog, type RareLog } from '../rare-log.js';
import type { ChargerBridge } from './charger-bridge.js';
import { CsmsLink } from './csms-link.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import { type LastWill, Uplink } from './uplink.js';

/** The newest first: a charger that speaks several gets the first of these. */
export const PROTOCOLS = ['ocpp2.1', 'ocpp2.0.1', 'ocpp1.6'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** A charger that was let in. */
export interface Guest {
  readonly bridge: ChargerBridge;
  readonly uplink: Uplink;
  readonly protocol: Protocol;
  /** The management system that the gateway stands in front of. */
  readonly csms: CsmsLink | undefined;
}

/** What a charger says before it is let in. */
export interface Handshake {
  readonly endpoint: string;
  readonly identity: string;
  readonly protocols: ReadonlySet<string>;
  readonly password: Buffer | undefined;
  readonly remoteAddress: string | undefined;
  readonly request: IncomingMessage;
}

/** Why a charger is not let in. */
export interface Refusal {
  readonly status: 400 | 401 | 404 | 503;
  readonly reason: 'unknown' | 'subprotocol' | 'certificate' | 'credentials' | 'unreachable';
  readonly message: string;
}

/** A login that speaks for chargers which show a certificate in place of a password. */
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
const CERTIFICATE: Refusal = { status: 401, reason: 'certificate', message: 'The certificate names another' };
const CREDENTIALS: Refusal = { status: 401, reason: 'credentials', message: 'Wrong user or password' };
const UNREACHABLE: Refusal = { status: 503, reason: 'unreachable', message: 'Headroom cannot be reached' };

/** Chargers wait between attempts so long, the shortest and the longest. */
const RECONNECT_MS = [1_000, 3_000] as const;

export interface DoorOptions {
  readonly mqttUrl: string;
  readonly mqttCa: string | undefined;
  readonly logins: readonly GatewayLogin[];
  /** Of the management system that the gateway stands in front of. */
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
  /** Of gateways' logins, by user name; they last as long as the gateway. */
  readonly #shared = new Map<string, Uplink>();

  /** @param bridges by each path at which its charger may connect */
  constructor(bridges: ReadonlyMap<string, ChargerBridge>, options: DoorOptions) {
    this.#bridges = bridges;
    this.#options = options;
    this.#rareLog = createRareLog(options.clock);
  }

  /** Resolves with why it is not let in, which is counted and logged, or with all that is needed to let it in. */
  async admit(handshake: Handshake): Promise<Guest | Refusal> {
    const admitted = await this.#judge(handshake);
    if ('reason' in admitted) {
      const { reason, message } = admitted;
      const { remoteAddress, endpoint, identity } = handshake;
      // The charger is not told where.
      const place = reason === 'unreachable' ? ` at ${withoutSecrets(this.#options.mqttUrl)}` : '';
      this.#options.metrics.refusals.inc({ reason });
      this.#rareLog(`${remoteAddress} ${reason}`, () =>
        this.#options.log.warn(
          { reason, remoteAddress, path: `${endpoint}/${identity}`.slice(0, 300) },
          `OCPP charger refused: ${message}${place}`,
        ),
      );
    }
    return admitted;
  }

  /** A login that is the charger's own ends with it. */
  async leave({ uplink, csms }: Guest): Promise<void> {
    await csms?.end();
    if (![...this.#shared.values()].includes(uplink)) await uplink.end();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#shared.values()].map((uplink) => uplink.end()));
  }

  async #judge({ endpoint, identity, protocols, password, request }: Handshake): Promise<Guest | Refusal> {
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
        : await this.#logIn(bridge, password);
    if (!(uplink instanceof Uplink)) return uplink;
    const csms = this.#csmsOf(identity, password);
    const chosen = await csms?.open(spoken);
    const protocol = spoken.find((name) => name === chosen) ?? newest;
    return { bridge, uplink, protocol, csms };
  }

  #csmsOf(identity: string, password: Buffer | undefined): CsmsLink | undefined {
    const { csmsUrl: url, random, clock, log, metrics } = this.#options;
    if (url === undefined) return undefined;
    return new CsmsLink({ url, identity, password, random, clock, log, metrics, rareLog: this.#rareLog });
  }

  async #logIn(bridge: ChargerBridge, password: Buffer): Promise<Uplink | Refusal> {
    const { tenantUuid, controllerUuid } = bridge.address;
    return this.#open(tenantUuid, controllerUuid, password, bridge.lastWill());
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
    const uplink = await this.#open(tenantUuid, login.gatewayId, Buffer.from(login.password), undefined);
    if (!(uplink instanceof Uplink)) return uplink;
    // Two chargers may have come at once: the first login counts.
    const first = this.#shared.get(key);
    if (first?.isRefused === false) {
      await uplink.end();
      return first;
    }
    this.#shared.set(key, uplink);
    return uplink;
  }

  async #open(
    tenantUuid: string,
    clientId: string,
    password: Buffer,
    will: LastWill | undefined,
  ): Promise<Uplink | Refusal> {
    const { mqttUrl, mqttCa, random, clock } = this.#options;
    const reconnectMs = Math.round(RECONNECT_MS[0] + (RECONNECT_MS[1] - RECONNECT_MS[0]) * random());
    const username = `${tenantUuid}/${clientId}`;
    const login = { url: mqttUrl, ca: mqttCa, clientId, username, password, reconnectMs, clock };
    const uplink = new Uplink(login, will);
    const failure = await uplink.opened();
    if (failure === undefined) return uplink;
    await uplink.end();
    return failure === 'password' ? CREDENTIALS : UNREACHABLE;
  }
}

/** Whom the charger's certificate names; undefined where none is asked for. */
function certificateNamesOf({ socket }: IncomingMessage): ReadonlySet<string> | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  return namesOf(socket.getPeerCertificate());
}
