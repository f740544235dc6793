// The installation under attack: the shipped service and gateway, an honest tenant, and the attackers' tenant.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type {
  ChargerAddress,
  ConnectorId,
  ControllerUuid,
  LocationId,
  TenantUuid,
} from '../../machines/values/ids.js';
import { type Fleet, startFleet } from '../../sim/charger/fleet.js';
import { OcppCharger } from '../../sim/charger/ocpp-charger.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { systemClock } from '../../src/clock.js';
import type { HttpPrey } from './attack-http.js';
import type { MqttPrey } from './attack-mqtt.js';
import type { OcppPrey } from './attack-ocpp.js';
import { AttackedProcess } from './attack-process.js';
import { pause } from './chaos-parts.js';
import { freePort } from './cut-wire.js';

const COMMAND = fileURLToPath(new URL('../../../cli/headroom.js', import.meta.url));
const HONEST = 'honest' as TenantUuid;
const MOB = 'mob' as TenantUuid;
const BOOKS = ['books-1', 'books-2', 'books-3', 'books-4'];
const MEMBERS = Array.from({ length: 12 }, (_, i) => `mob-${i}`);
const FAILSAFE_A = 6;
const CONNECTOR = {
  connectorId: '1' as ConnectorId,
  phases: 3,
  voltageV: 230,
  maxCurrentA: 32,
  failsafeA: FAILSAFE_A,
} as const;
/** A charger behind the gateway proves its lease first. After a kill, each charger returns at an instant of its own. */
const LEASED_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 100;
/** An honest request may take longer only if it is not the fastest of these tries: the machine may have paused. */
const TRIES = 3;

interface Issued {
  readonly tenants: readonly {
    readonly tenantUuid: string;
    readonly issued: readonly { readonly kind: string; readonly id: string; readonly secret: string }[];
  }[];
}

function chargersYaml(ids: readonly string[]): string {
  return ids
    .map(
      (id) => `
          - controllerUuid: ${id}
            connectors: [{ connectorId: "1", phases: 3, voltageV: 230, maxCurrentA: 32 }]`,
    )
    .join('');
}

/** The file has no secrets, so the command creates all of them. */
const SITES = `tenants:
  - tenantUuid: ${HONEST}
    name: Honest people
    features: [energy-management]
    apiKeys:
      - { scopes: [locations:read, locations:write] }
    locations:
      - locationId: home
        name: Home
        permanentLimitKw: 50
        chargers: ${chargersYaml(['home-mqtt', 'home-ocpp'])}
${BOOKS.map((id) => `      - { locationId: ${id}, name: Books, permanentLimitKw: 50 }`).join('\n')}
  - tenantUuid: ${MOB}
    name: Attackers with a contract
    features: [energy-management]
    apiKeys:
      - scopes: [chargers:write, locations:read, locations:write, clusters:read, clusters:write, org:write, operator:write, meter:write]
    locations:
      - locationId: mob
        name: Mob
        permanentLimitKw: 50
        chargers: ${chargersYaml(MEMBERS)}
`;

export class AttackSite {
  readonly #directory = mkdtempSync(join(tmpdir(), 'headroom-attack-'));
  readonly #secrets = new Map<string, string>();
  readonly service: AttackedProcess;
  readonly gateway: AttackedProcess;
  readonly httpUrl: string;
  readonly #mqttUrl: string;
  readonly #ocppUrl: string;
  readonly #metricsUrl: string;
  #fleet: Fleet | undefined;
  #charger: OcppCharger | undefined;
  /** The longest time until the service was ready. */
  longestStartMs = 0;
  /** The longest time of the fastest try of an honest request. */
  longestAnswerMs = 0;

  private constructor([http, mqtt, ocpp, metrics]: readonly [number, number, number, number]) {
    process.once('exit', () => rmSync(this.#directory, { recursive: true, force: true }));
    const file = join(this.#directory, 'site.yaml');
    writeFileSync(file, SITES, { mode: 0o600 });
    this.httpUrl = `http://127.0.0.1:${http}`;
    this.#mqttUrl = `mqtt://127.0.0.1:${mqtt}`;
    this.#ocppUrl = `ws://127.0.0.1:${ocpp}/ocpp`;
    this.#metricsUrl = `http://127.0.0.1:${metrics}/metrics`;
    const environment = { PATH: '/usr/bin:/bin', HEADROOM_DATA_DIR: join(this.#directory, 'data') };
    const log = (name: string) => join(this.#directory, `${name}.log`);
    this.service = new AttackedProcess(
      'service',
      ['serve', '--http-port', String(http), '--mqtt-port', String(mqtt)],
      environment,
      log('service'),
    );
    this.gateway = new AttackedProcess(
      'gateway',
      [
        'gateway',
        'ocpp',
        file,
        '--mqtt-url',
        this.#mqttUrl,
        '--port',
        String(ocpp),
        '--metrics-port',
        String(metrics),
      ],
      environment,
      log('gateway'),
    );
  }

  /** Resolves after everything runs and the honest chargers hold their leases. */
  static async start(): Promise<AttackSite> {
    const ports = [await freePort(), await freePort(), await freePort(), await freePort()] as const;
    const site = new AttackSite(ports);
    try {
      await site.#provision();
      await site.startService();
      await site.gateway.start();
      site.#startChargers();
      if (!(await site.areLeased())) throw new Error('the honest chargers got no lease before the attack');
      return site;
    } catch (error) {
      await site.remove();
      throw error;
    }
  }

  get secrets(): readonly string[] {
    return [...this.#secrets.values()];
  }

  get honestKey(): string {
    return this.#secret(HONEST, 'api-key');
  }

  get bookIds(): readonly string[] {
    return BOOKS;
  }

  get mqttPrey(): MqttPrey {
    const members = MEMBERS.map((id) => ({
      address: addressOf(MOB, 'mob', id),
      login: { clientId: id, username: `${MOB}/${id}`, password: this.#secret(MOB, id) },
    }));
    return { mqttUrl: this.#mqttUrl, members, foreign: addressOf(HONEST, 'home', 'home-mqtt') };
  }

  get ocppPrey(): OcppPrey {
    const members = MEMBERS.map((identity) => ({ identity, password: this.#secret(MOB, identity) }));
    return { ocppUrl: this.#ocppUrl, members };
  }

  /** Every operation in the service's own documentation. */
  async httpPrey(): Promise<HttpPrey> {
    const document = (await (await fetch(`${this.httpUrl}/v1/openapi.json`)).json()) as {
      readonly paths: Readonly<Record<string, object>>;
    };
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method): [string, string] => [method.toUpperCase(), path]),
    );
    return {
      httpUrl: this.httpUrl,
      apiKey: this.#secret(MOB, 'api-key'),
      operations: [...operations, ['GET', '/'], ['GET', '/docs'], ['GET', '/metrics'], ['GET', '/health']],
      own: { locationId: 'mob', controllerUuid: 'mob-1', connectorId: '1', priority: '3', clusterId: 'c-1' },
      foreign: { locationId: 'home', controllerUuid: 'home-mqtt', connectorId: '1', priority: '3' },
    };
  }

  async startService(): Promise<void> {
    const { tookMs } = await this.service.start();
    this.longestStartMs = Math.max(this.longestStartMs, tookMs);
  }

  /**
   * Reads an honest client's view of its location, which no other tenant can change. @returns ms, the fastest of three
   * tries
   */
  async askHonestly(): Promise<{ readonly tookMs: number; readonly view: string }> {
    let tookMs = Number.POSITIVE_INFINITY;
    let view = '';
    for (let i = 0; i < TRIES; i++) {
      const fromMs = systemClock.monotonicMs();
      const answer = await fetch(`${this.httpUrl}/v1/locations/home/history`, {
        headers: { 'x-api-key': this.honestKey },
      });
      view = `${answer.status} ${await answer.text()}`;
      tookMs = Math.min(tookMs, systemClock.monotonicMs() - fromMs);
    }
    this.longestAnswerMs = Math.max(this.longestAnswerMs, tookMs);
    return { tookMs, view };
  }

  /** Waits until both honest chargers hold a lease. @returns true if they do in time */
  async areLeased(): Promise<boolean> {
    const untilMs = systemClock.monotonicMs() + LEASED_WITHIN_MS;
    for (;;) {
      if (this.leaseless.length === 0) return true;
      if (systemClock.monotonicMs() > untilMs) return false;
      await pause(LOOK_EVERY_MS);
    }
  }

  /** The honest chargers that hold no lease now. */
  get leaseless(): readonly string[] {
    const [connector] = this.#fleet?.connectors() ?? [];
    const byMqtt = connector === undefined || connector.leaseLeftS === null ? ['home-mqtt'] : [];
    // The charger does not report a lease, but without one its limit never exceeds its fail-safe.
    const byOcpp = (this.#charger?.limitA ?? 0) > FAILSAFE_A ? [] : ['home-ocpp'];
    return [...byMqtt, ...byOcpp];
  }

  /** The sum of a metric of the service, over the series with matching labels. */
  serviceMetric(name: string, labels = /./): Promise<number> {
    return metricAt(`${this.httpUrl}/metrics`, name, labels);
  }

  gatewayMetric(name: string, labels = /./): Promise<number> {
    return metricAt(this.#metricsUrl, name, labels);
  }

  /** Ends chargers and processes in the usual way. @returns names of the processes that did not end well */
  async stop(): Promise<readonly string[]> {
    await this.#leave();
    const ended = [];
    for (const each of [this.gateway, this.service]) if (!(await each.stop())) ended.push(each.name);
    return ended;
  }

  async remove(): Promise<void> {
    await this.#leave();
    await this.gateway.kill();
    await this.service.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #leave(): Promise<void> {
    await this.#fleet?.stop();
    await this.#charger?.stop();
    this.#fleet = undefined;
    this.#charger = undefined;
  }

  async #provision(): Promise<void> {
    const words = [COMMAND, 'provision', join(this.#directory, 'site.yaml'), '--json'];
    const env = { HEADROOM_DATA_DIR: join(this.#directory, 'data') };
    const { stdout } = await promisify(execFile)(process.execPath, words, { env });
    for (const { tenantUuid, issued } of (JSON.parse(stdout) as Issued).tenants)
      for (const { kind, id, secret } of issued)
        this.#secrets.set(`${tenantUuid} ${kind === 'api-key' ? kind : id}`, secret);
  }

  #secret(tenantUuid: string, what: string): string {
    const secret = this.#secrets.get(`${tenantUuid} ${what}`);
    if (secret === undefined) throw new Error(`nothing was issued for ${tenantUuid} ${what}`);
    return secret;
  }

  #startChargers(): void {
    const address = addressOf(HONEST, 'home', 'home-mqtt');
    this.#fleet = startFleet({
      url: this.#mqttUrl,
      members: [
        {
          address,
          username: `${HONEST}/home-mqtt`,
          password: this.#secret(HONEST, 'home-mqtt'),
          connectors: [CONNECTOR],
        },
      ],
      seed: 1,
      traffic: HUNGRY,
      clock: systemClock,
      traits: {},
    });
    this.#charger = new OcppCharger({
      url: this.#ocppUrl,
      controllerUuid: 'home-ocpp',
      password: this.#secret(HONEST, 'home-ocpp'),
      connector: CONNECTOR,
      seed: 2,
      traffic: HUNGRY,
      clock: systemClock,
    });
    this.#charger.start();
  }
}

function addressOf(tenantUuid: TenantUuid, locationId: string, controllerUuid: string): ChargerAddress {
  return {
    tenantUuid,
    locationId: locationId as LocationId,
    controllerUuid: controllerUuid as ControllerUuid,
  };
}

async function metricAt(url: string, name: string, labels: RegExp): Promise<number> {
  const text = await (await fetch(url)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines
    .filter((line) => labels.test(line))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
