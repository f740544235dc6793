// A gateway's logins at the service last as long as the sockets of their chargers, however those end.
import { randomUUID } from 'node:crypto';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { OcppGateway } from '../../src/gateway/ocpp/ocpp-gateway.js';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { BROKEN, type Flaw } from '../../tools/bench/http-bytes.js';
import { eventually } from '../eventually.js';
import { casesOf } from '../seeds.js';
import { silentLog } from '../service/running-service.js';
import { type OcppSite, runOcppSite } from './ocpp-site.js';
import { askUpgrade, type RawUpgrade } from './raw-upgrade.js';

let running: OcppSite | undefined;

async function site(): Promise<OcppSite> {
  running = await runOcppSite();
  return running;
}

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function loginsAtBroker({ service }: OcppSite): Promise<number> {
  const { values } = await service.metrics.mqttConnections.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

describe('A WebSocket request with the right password', () => {
  it.each(BROKEN)('%s is refused and leaves no login at the service', async (flaw) => {
    const all = await site();
    const asked = Array.from({ length: 5 }, () => askUpgrade(all.ocppUrl, { flaw }));
    for (const { status } of asked) await eventually(() => expect(status()).toBeGreaterThanOrEqual(400));
    await eventually(async () => expect(await loginsAtBroker(all)).toBe(0));
    expect(await all.count('headroom_gateway_logins')).toBe(0);
  });

  it("replaces the charger's connection only until its own socket closes, if it is invalid", async () => {
    const all = await site();
    const charger = all.client();
    await charger.connect();
    const heartbeat = () => charger.call('Heartbeat', {});
    await expect(heartbeat()).resolves.toHaveProperty('currentTime');
    for (const flaw of BROKEN) {
      const { status } = askUpgrade(all.ocppUrl, { flaw });
      await eventually(() => expect(status()).toBeGreaterThanOrEqual(400));
    }
    await eventually(async () => expect(await all.count('headroom_gateway_logins')).toBe(1));
    await eventually(async () => expect(await loginsAtBroker(all)).toBe(1));
    await eventually(() => expect(heartbeat()).resolves.toHaveProperty('currentTime'));
  });
});

describe('A charger with a wrong password', () => {
  it('receives 429 with Retry-After above the attempt limit, and the right password is accepted', async () => {
    const { ocppUrl, client, count } = await site();
    const statuses: (number | undefined)[] = [];
    let last: RawUpgrade | undefined;
    // Every second one more wrong password is allowed.
    while (statuses.length < 200 && (statuses.at(-1) ?? 401) === 401) {
      last = askUpgrade(ocppUrl, { password: 'not the one of this charger' });
      const { status } = last;
      await eventually(() => expect(status()).toBeDefined());
      statuses.push(status());
    }
    expect(statuses.length).toBeGreaterThan(100);
    expect(statuses.at(-1)).toBe(429);
    expect(last?.answer()).toMatch(
      /^HTTP\/1\.1 429 Too Many Requests\r\n(.*\r\n)*retry-after: [1-9]\d*\r\n/i,
    );
    expect(await count('headroom_gateway_refusals_total', { reason: 'attempts' })).toBeGreaterThan(0);
    await expect(client().connect()).resolves.toBeDefined();
  });
});

const CHARGERS = ['one', 'two'] as const;
const fileOf = (chargers: readonly string[]) =>
  parseProvisioning(
    `
tenants:
  - tenantUuid: 0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10
    name: A tenant
    locations:
      - locationId: quay
        name: The quay
        permanentLimitKw: 11
        chargers:
${chargers.map((name) => `          - { controllerUuid: ${name}, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }`).join('\n')}
`,
    'sites.yaml',
  );
const FILE = fileOf(CHARGERS);
const REFUSED = 4;
const UNAVAILABLE = 3;

/** A broker whose answers to logins the test controls, and that can be away. */
async function startSlowBroker() {
  const held: ((code: number | undefined) => void)[] = [];
  const sockets = new Set<Socket>();
  let isAway = false;
  const broker = await Aedes.createBroker({
    authenticate(_client, _username, _password, done) {
      held.push((code) => {
        if (code === undefined) done(null, true);
        else done(Object.assign(new Error('refused'), { returnCode: code }), null);
      });
    },
  });
  const server = createServer((socket) => {
    if (isAway) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    broker.handle(socket);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held,
    connections: () => sockets.size,
    setAway(next: boolean) {
      isAway = next;
      if (isAway) for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => broker.close(() => server.close(() => done())));
    },
  };
}

/** `open` holds the sockets that the test has not closed. */
interface Model {
  readonly open: Set<number>;
  arrived: number;
}

interface Real {
  readonly broker: Awaited<ReturnType<typeof startSlowBroker>>;
  readonly gateway: OcppGateway;
  readonly ocppUrl: string;
  readonly asked: RawUpgrade[];
}

type Command = fc.AsyncCommand<Model, Real>;

class Arrive implements Command {
  readonly #identity: string;
  readonly #flaw: Flaw | undefined;
  constructor(identity: string, flaw: Flaw | undefined) {
    this.#identity = identity;
    this.#flaw = flaw;
  }
  check = () => true;
  async run(model: Model, { broker, ocppUrl, asked }: Real) {
    const before = broker.held.length;
    const one = askUpgrade(ocppUrl, { identity: this.#identity, flaw: this.#flaw });
    model.open.add(model.arrived++);
    asked.push(one);
    // Its login waits at the broker, or was refused because the broker is away.
    await eventually(() => expect(broker.held.length > before || one.status() !== undefined).toBe(true));
  }
  toString = () => `arrive(${this.#identity} ${this.#flaw ?? 'sound'})`;
}

class Answer implements Command {
  readonly #code: number | undefined;
  constructor(code: number | undefined) {
    this.#code = code;
  }
  check = () => true;
  async run(_model: Model, { broker }: Real) {
    broker.held.shift()?.(this.#code);
  }
  toString = () => `answer(${this.#code ?? 'taken'})`;
}

class Close implements Command {
  readonly #index: number;
  readonly #how: 'end' | 'destroy' | 'resetAndDestroy';
  constructor(index: number, how: 'end' | 'destroy' | 'resetAndDestroy') {
    this.#index = index;
    this.#how = how;
  }
  check = ({ open }: Readonly<Model>) => open.size > 0;
  async run({ open }: Model, { asked }: Real) {
    const one = [...open][this.#index % open.size] ?? 0;
    open.delete(one);
    asked[one]?.socket[this.#how]();
  }
  toString = () => `close(${this.#index} ${this.#how})`;
}

class SetAway implements Command {
  readonly #isAway: boolean;
  constructor(isAway: boolean) {
    this.#isAway = isAway;
  }
  check = () => true;
  async run(_model: Model, { broker }: Real) {
    broker.setAway(this.#isAway);
  }
  toString = () => (this.#isAway ? 'away' : 'back');
}

/** The file adds or removes the second charger, also during its login. */
class Provision implements Command {
  readonly #hasBoth: boolean;
  constructor(hasBoth: boolean) {
    this.#hasBoth = hasBoth;
  }
  check = () => true;
  async run(_model: Model, { gateway }: Real) {
    gateway.provision(this.#hasBoth ? FILE : fileOf(CHARGERS.slice(0, 1)));
  }
  toString = () => `provision(${this.#hasBoth ? 'both' : 'one'})`;
}

/** Lets all pending messages arrive. Then each charger with an open web socket has one login. */
class Settle implements Command {
  check = () => true;
  async run(_model: Model, { broker, gateway, asked }: Real) {
    await eventually(async () => {
      for (const answer of broker.held.splice(0)) answer(undefined);
      const web = asked.filter(({ status, isClosed }) => status() === 101 && !isClosed());
      const undecided = asked.filter(({ status, isClosed }) => status() === undefined && !isClosed());
      expect(undecided).toHaveLength(0);
      expect(await loginsOf(gateway)).toBe(web.length);
    });
  }
  toString = () => 'settle';
}

async function loginsOf({ metrics }: OcppGateway): Promise<number> {
  const { values } = await metrics.logins.get();
  return values[0]?.value ?? 0;
}

const COMMANDS = [
  fc
    .record({
      identity: fc.constantFrom(...CHARGERS),
      flaw: fc.option(fc.constantFrom(...BROKEN), { nil: undefined, freq: 2 }),
    })
    .map(({ identity, flaw }) => new Arrive(identity, flaw)),
  fc.constantFrom(undefined, undefined, REFUSED, UNAVAILABLE).map((code) => new Answer(code)),
  fc
    .tuple(fc.nat(20), fc.constantFrom('end', 'destroy', 'resetAndDestroy'))
    .map(([index, how]) => new Close(index, how)),
  fc.boolean().map((isAway) => new SetAway(isAway)),
  fc.boolean().map((hasBoth) => new Provision(hasBoth)),
  fc.constant(new Settle()),
];

describe('For any order of requests, broker answers, invalid requests, closed sockets, outages and changed files', () => {
  it('each login belongs to one open WebSocket, and none remains after all sockets close', async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 30, size: 'max' }), async (commands) => {
        const broker = await startSlowBroker();
        const gateway = new OcppGateway({
          file: FILE,
          host: '127.0.0.1',
          port: 0,
          metricsPort: undefined,
          mqttUrl: broker.url,
          mqttCa: undefined,
          tls: undefined,
          heartbeatS: 10,
          dataDir: undefined,
          idTags: undefined,
          newBoot: randomUUID,
          random: () => 0,
          clock: systemClock,
          log: silentLog,
        });
        const { ocppUrl } = await gateway.start();
        const real: Real = { broker, gateway, ocppUrl, asked: [] };
        try {
          await fc.asyncModelRun(() => ({ model: { open: new Set<number>(), arrived: 0 }, real }), commands);
          for (const { socket } of real.asked) socket.destroy();
          broker.setAway(false);
          await eventually(async () => {
            for (const answer of broker.held.splice(0)) answer(undefined);
            expect(await loginsOf(gateway)).toBe(0);
            expect(broker.connections()).toBe(0);
          });
        } finally {
          for (const { socket } of real.asked) socket.destroy();
          await gateway.stop();
          await broker.close();
        }
      }),
      { numRuns: casesOf(100, 20), endOnFailure: true },
    );
  });
});
