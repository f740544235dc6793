// The fronts of a cluster: a NATS, the fronts as processes, and a balancer that forwards chargers to running fronts.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { systemClock } from '../../src/clock.js';
import { freePort } from './cut-wire.js';

const CONNECT_AGAIN_MS = 50;

interface Front {
  readonly name: string;
  readonly process: ChildProcess;
  /** undefined until the front reports that it is ready. */
  port: number | undefined;
  readonly starts: number;
}

/** Starts a front with the settings that all of them share. */
type StartProcess = (environment: NodeJS.ProcessEnv) => ChildProcess;

export class ClusterFronts {
  readonly #startProcess: StartProcess;
  readonly #fronts: Front[] = [];
  readonly #balancer = createServer((charger) => this.#carry(charger));
  readonly #sockets = new Set<Socket>();
  #nats: ChildProcess | undefined;
  #natsPort = 0;
  #next = 0;

  constructor(startProcess: StartProcess) {
    this.#startProcess = startProcess;
  }

  get busUrl(): string {
    return `nats://127.0.0.1:${this.#natsPort}`;
  }

  /** @throws if nats-server is not installed */
  async startBus(): Promise<void> {
    if (this.#natsPort === 0) this.#natsPort = await freePort();
    const nats = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(this.#natsPort)], { stdio: 'ignore' });
    await new Promise<void>((resolve, reject) => {
      nats.once('spawn', resolve);
      nats.once('error', () => reject(new Error('fronts need nats-server, which is not installed')));
    });
    this.#nats = nats;
  }

  /** Starts this number of fronts and the balancer; resolves to the URL for chargers. */
  async start(count: number): Promise<string> {
    for (let i = 1; i <= count; i++) await this.#startFront(`front-${i}`);
    this.#balancer.listen(0, '127.0.0.1');
    await once(this.#balancer, 'listening');
    return `mqtt://127.0.0.1:${(this.#balancer.address() as AddressInfo).port}`;
  }

  /** Kills a front and starts it again; `done` resolves after it accepts chargers. */
  restartFront(draw: number): { readonly name: string; readonly done: Promise<void> } {
    const front = this.#fronts[draw % this.#fronts.length];
    if (front === undefined) throw new Error('the cluster has no fronts');
    const restart = async () => {
      await end(front.process);
      await this.#startFront(front.name);
    };
    return { name: front.name, done: restart() };
  }

  /** Kills NATS and starts it again. */
  async restartBus(): Promise<void> {
    await end(this.#nats);
    await this.startBus();
  }

  /** One line for each front; `/metrics` of a front has the number of its connections. */
  names(): readonly string[] {
    return this.#fronts.map(({ name, process, port, starts }) => {
      const isOver = process.exitCode !== null || process.signalCode !== null;
      const state = isOver ? 'ended' : port === undefined ? 'starting' : `MQTT at port ${port}`;
      return starts === 1 ? `${name}: ${state}` : `${name}: ${state}, start ${starts}`;
    });
  }

  async stop(): Promise<void> {
    this.#balancer.close();
    for (const socket of this.#sockets) socket.destroy();
    for (const front of this.#fronts) await end(front.process);
    await end(this.#nats);
  }

  async #startFront(name: string): Promise<void> {
    const child = this.#startProcess({ HEADROOM_BUS_URL: this.busUrl });
    const known = this.#fronts.findIndex((each) => each.name === name);
    const front: Front = {
      name,
      process: child,
      port: undefined,
      starts: (this.#fronts[known]?.starts ?? 0) + 1,
    };
    if (known === -1) this.#fronts.push(front);
    else this.#fronts[known] = front;
    child.on('exit', () => {
      front.port = undefined;
    });
    await new Promise<void>((resolve, reject) => {
      child.on('exit', () => reject(new Error(`${name} ended before it was ready`)));
      if (child.stdout === null) throw new Error('a front without an output');
      createInterface({ input: child.stdout }).on('line', (line) => {
        front.port = Number(new URL(JSON.parse(line).mqttUrl).port);
        resolve();
      });
    });
  }

  /**
   * Distributes chargers over the fronts in rotation. If none runs, the connection closes after a moment, and the
   * charger tries again.
   */
  #carry(charger: Socket): void {
    this.#hold(charger);
    const living = this.#fronts.filter(({ port }) => port !== undefined);
    const { port } = living[this.#next++ % living.length] ?? {};
    if (port === undefined) {
      systemClock.after(CONNECT_AGAIN_MS, () => charger.destroy());
      return;
    }
    const front = this.#hold(connect(port, '127.0.0.1'));
    charger.pipe(front);
    front.pipe(charger);
    charger.once('close', () => front.destroy());
    front.once('close', () => charger.destroy());
  }

  #hold(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
