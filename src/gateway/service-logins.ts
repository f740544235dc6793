// The logins of a gateway at the service: a charger's own, or one that several chargers without a password share.
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { Clock } from '../ports/clock.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import { type LastWill, type LoginFailure, Uplink } from './uplink.js';

/** A login for chargers without a password of their own: some present a certificate. */
export interface GatewayLogin {
  readonly tenantUuid: string;
  readonly gatewayId: string;
  readonly password: string;
  readonly controllers: ReadonlySet<string>;
}

/** Milliseconds between the attempts of a login, the shortest and the longest. */
const RECONNECT_MS = [1_000, 3_000] as const;

export interface ServiceLoginOptions {
  readonly mqttUrl: string;
  readonly mqttCa: string | undefined;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly clock: Clock;
  readonly metrics: GatewayMetrics;
}

export class ServiceLogins {
  readonly #options: ServiceLoginOptions;
  #provisioned: readonly GatewayLogin[] = [];
  /** Every login that is open or reconnects. */
  readonly #open = new Set<Uplink>();
  /** Logins of gateways by user name; they last as long as their entry in the file. */
  readonly #shared = new Map<string, Uplink>();

  constructor(options: ServiceLoginOptions) {
    this.#options = options;
  }

  /** From now on, chargers may share these logins. */
  provision(logins: readonly GatewayLogin[]): void {
    this.#provisioned = logins;
  }

  /** The login that the charger may share. */
  sharedBy({ tenantUuid, controllerUuid }: ChargerAddress): GatewayLogin | undefined {
    return this.#provisioned.find(
      (one) => one.tenantUuid === tenantUuid && one.controllers.has(controllerUuid),
    );
  }

  /** Logs a charger in. `opened` resolves to the login, or to the reason why it failed. */
  own({ tenantUuid, controllerUuid }: ChargerAddress, password: Buffer, will: LastWill) {
    const uplink = this.#start(tenantUuid, controllerUuid, password, will);
    return { uplink, opened: this.#opened(uplink) };
  }

  /** Logs a gateway in, unless it is already. */
  async shared(login: GatewayLogin): Promise<Uplink | LoginFailure> {
    const userName = userNameOf(login);
    const known = this.#shared.get(userName);
    if (known?.isRefused === false) return known;
    const { tenantUuid, gatewayId, password } = login;
    const uplink = await this.#opened(this.#start(tenantUuid, gatewayId, Buffer.from(password), undefined));
    if (!(uplink instanceof Uplink)) return uplink;
    // The file may have dropped the gateway during the login.
    if (!this.#provisioned.some((each) => userNameOf(each) === userName)) {
      await this.end(uplink);
      return 'password';
    }
    // Two chargers may have come at once: the first login counts.
    const first = this.#shared.get(userName);
    if (first?.isRefused === false) {
      await this.end(uplink);
      return first;
    }
    if (first !== undefined) await this.end(first);
    this.#shared.set(userName, uplink);
    return uplink;
  }

  /** Logs out the gateways that are no longer provisioned. */
  endUnused(): void {
    const used = new Set(this.#provisioned.map(userNameOf));
    for (const [userName, uplink] of this.#shared) {
      if (used.has(userName)) continue;
      this.#shared.delete(userName);
      void this.end(uplink);
    }
  }

  async end(uplink: Uplink): Promise<void> {
    this.#open.delete(uplink);
    this.#count();
    await uplink.end();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((uplink) => this.end(uplink)));
  }

  #start(tenantUuid: string, clientId: string, password: Buffer, will: LastWill | undefined): Uplink {
    const { mqttUrl, mqttCa, random, clock } = this.#options;
    const reconnectMs = Math.round(RECONNECT_MS[0] + (RECONNECT_MS[1] - RECONNECT_MS[0]) * random());
    const username = `${tenantUuid}/${clientId}`;
    const login = { url: mqttUrl, ca: mqttCa, clientId, username, password, reconnectMs, clock };
    const uplink = new Uplink(login, will);
    this.#open.add(uplink);
    this.#count();
    return uplink;
  }

  async #opened(uplink: Uplink): Promise<Uplink | LoginFailure> {
    const failure = await uplink.opened();
    if (failure === undefined) return uplink;
    await this.end(uplink);
    return failure;
  }

  #count(): void {
    this.#options.metrics.logins.set(this.#open.size);
  }
}

function userNameOf({ tenantUuid, gatewayId }: GatewayLogin): string {
  return `${tenantUuid}/${gatewayId}`;
}
