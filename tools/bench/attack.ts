// `npm run attack`: fuzzing, malformed packets, floods and kills against the shipped service and gateway, with checks
// of their bounds.
import { Command, InvalidArgumentError } from 'commander';
import { keepAliveUntil, systemClock } from '../../src/clock.js';
import { Dice } from './attack-dice.js';
import { attackHttp, type HttpTally } from './attack-http.js';
import { Books } from './attack-kills.js';
import { attackMqtt, type MqttTally } from './attack-mqtt.js';
import { attackOcpp, type OcppTally } from './attack-ocpp.js';
import type { AttackedProcess, Held } from './attack-process.js';
import { AttackSite } from './attack-site.js';
import { machine } from './bench.js';
import { pause } from './chaos-parts.js';

/** The conditions at the end; a condition that is not met fails the run. */
const BOUNDS = {
  /** Relative to the memory after the first turn, during which caches fill. */
  heapRatio: 1.25,
  residentRatio: 1.5,
  /** A growth of a few megabytes is noise in a short attack: the process has not yet reached its usual size. */
  heapNoiseBytes: 8e6,
  residentNoiseBytes: 100e6,
  /** Open files of a timer of the database or of an unfinished metrics request. */
  openFilesMore: 3,
  answersWithinMs: 1_000,
  startsWithinMs: 60_000,
  logLineBytes: 4_096,
  /** For each request, packet and frame of the attack. */
  logBytesEach: 1_000,
  logBytesAnyway: 2e6,
};
const TURNS = 5;
const AT_ONCE = { http: 24, mqtt: 16, ocpp: 8 };
/** Share of the packets that go to the gateway. */
const OCPP_SHARE = 0.1;
/** Time in which the last connections end: connections without a login, and connections of a slow request. */
const SETTLES_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 200;
const EVENTS_BEFORE_KILL = 250;
const LEASES_EVERY_KILLS = 10;

interface Options {
  readonly minutes: number;
  readonly requests: number;
  readonly packets: number;
  readonly kills: number;
  readonly seed: number;
}

interface Baseline {
  readonly service: Held;
  readonly gateway: Held;
  readonly mqttConnections: number;
  readonly gatewayLogins: number;
}

class Attack {
  readonly #options: Options;
  readonly #site: AttackSite;
  readonly #dice: Dice;
  readonly #endsAtMs: number;
  readonly #http: HttpTally = { requests: 0, statuses: new Map(), failures: [], hung: 0, refused: 0 };
  readonly #mqtt: MqttTally = { packets: 0, connections: 0, refused: 0 };
  readonly #ocpp: OcppTally = { upgrades: 0, frames: 0, statuses: new Map(), refused: 0 };
  readonly #books: Books;
  #kills = 0;
  #logBytes = 0;
  /** Warnings and errors that each process logged, by message. */
  readonly #complaints = new Map<string, Readonly<Record<string, number>>>();
  /** By charger. */
  readonly #leasesLost = new Map<string, number>();
  readonly lost: string[] = [];
  readonly leaks: string[] = [];
  readonly broken: string[] = [];

  constructor(site: AttackSite, options: Options) {
    this.#site = site;
    this.#options = options;
    this.#dice = new Dice(options.seed);
    this.#endsAtMs = systemClock.monotonicMs() + options.minutes * 60_000;
    this.#books = new Books(() => site.httpUrl, site.honestKey, site.bookIds);
  }

  async run(): Promise<void> {
    const { view } = await this.#site.askHonestly();
    let before: Baseline | undefined;
    let after: Baseline | undefined;
    for (let turn = 1; turn <= TURNS && !this.#isOver(); turn++) {
      await this.#playTurn();
      await this.#checkHonest(`turn ${turn}`, view);
      if (turn > 1 && turn < TURNS) continue;
      after = await this.#settled(before);
      before ??= after;
    }
    await this.#checkAnswers();
    if (before === undefined || after === undefined || before === after)
      this.broken.push('the time was over before there was anything to compare');
    else this.#compare(before, after);
    await this.#playKills();
    await this.#checkHonest('the kills', view);
    for (const name of await this.#site.stop()) this.broken.push(`${name} did not end with 0 in time`);
    await this.#checkLogs();
    this.#checkCounts();
    process.stdout.write(`${JSON.stringify(this.#summary(before, after))}\n`);
  }

  readonly #isOver = () => systemClock.monotonicMs() > this.#endsAtMs;

  async #playTurn(): Promise<void> {
    const { requests, packets } = this.#options;
    const share = (count: number) => Math.ceil(count / TURNS);
    const isOver = this.#isOver;
    const plays: (() => Promise<void>)[] = [
      async () =>
        attackHttp(this.#dice, await this.#site.httpPrey(), this.#http, {
          count: Math.min(share(requests), requests - this.#http.requests),
          atOnce: AT_ONCE.http,
          isOver,
        }),
      () =>
        attackMqtt(this.#dice, this.#site.mqttPrey, this.#mqtt, {
          count: share(packets * (1 - OCPP_SHARE)),
          atOnce: AT_ONCE.mqtt,
          isOver,
        }),
      () =>
        attackOcpp(this.#dice, this.#site.ocppPrey, this.#ocpp, {
          count: share(packets * OCPP_SHARE),
          atOnce: AT_ONCE.ocpp,
          isOver,
        }),
    ];
    let isWatched = true;
    const watch = (async () => {
      let lost: readonly string[] = [];
      while (isWatched) {
        const nowLost = this.#site.leaseless;
        for (const id of nowLost)
          if (!lost.includes(id)) this.#leasesLost.set(id, (this.#leasesLost.get(id) ?? 0) + 1);
        lost = nowLost;
        await pause(LOOK_EVERY_MS);
      }
    })();
    // One after another in a random order; sometimes all at once.
    if (this.#dice.isOneIn(3)) await Promise.all(plays.map((play) => play()));
    else
      while (plays.length > 0) {
        const [play] = plays.splice(this.#dice.below(plays.length), 1);
        await play?.();
      }
    isWatched = false;
    await watch;
    process.stdout.write(
      `${this.#http.requests} requests, ${this.#mqtt.packets} MQTT packets, ${this.#ocpp.frames} frames after ${this.#ocpp.upgrades} upgrades\n`,
    );
  }

  /** The honest tenant must be served, its leases must hold, and its data must be unchanged. */
  async #checkHonest(when: string, view: string): Promise<void> {
    const { tookMs, view: now } = await this.#site.askHonestly();
    if (tookMs > BOUNDS.answersWithinMs)
      this.broken.push(`after ${when} an honest request took ${Math.round(tookMs)} ms`);
    if (now !== view) this.broken.push(`after ${when} another tenant's location has changed: ${now}`);
    if (!(await this.#site.areLeased())) this.broken.push(`after ${when} the honest chargers got no lease`);
    for (const { name, crashes } of this.#processes)
      if (crashes > 0) throw new Error(`after ${when}: ${name} has ended by itself`);
  }

  get #processes(): readonly AttackedProcess[] {
    return [this.#site.service, this.#site.gateway];
  }

  /**
   * Waits for connections and requests that end on their own. If more remains than `before`, it waits for the longest
   * time that one may take to end.
   */
  async #settled(before: Baseline | undefined): Promise<Baseline> {
    const untilMs = systemClock.monotonicMs() + SETTLES_WITHIN_MS;
    let last: Baseline | undefined;
    for (;;) {
      const now = await this.#hold();
      const isQuiet = last !== undefined && now.service.openFiles === last.service.openFiles;
      const isSettled =
        before === undefined
          ? isQuiet && now.mqttConnections <= 2
          : now.service.openFiles <= before.service.openFiles &&
            now.gateway.openFiles <= before.gateway.openFiles &&
            now.mqttConnections <= before.mqttConnections;
      if (isSettled || systemClock.monotonicMs() > untilMs) return now;
      last = now;
      await pause(10 * LOOK_EVERY_MS);
    }
  }

  async #hold(): Promise<Baseline> {
    const { service, gateway } = this.#site;
    return {
      mqttConnections: await this.#site.serviceMetric('headroom_mqtt_connections'),
      gatewayLogins: await this.#site.gatewayMetric('headroom_gateway_logins'),
      service: await service.held(),
      gateway: await gateway.held(),
    };
  }

  #compare(before: Baseline, after: Baseline): void {
    for (const name of ['service', 'gateway'] as const) {
      const [was, is] = [before[name], after[name]];
      if (is.openFiles > was.openFiles + BOUNDS.openFilesMore)
        this.leaks.push(`${name}: ${was.openFiles} files open before, ${is.openFiles} after`);
      if (is.heapBytes > BOUNDS.heapRatio * was.heapBytes + BOUNDS.heapNoiseBytes)
        this.leaks.push(`${name}: heap ${inMb(was.heapBytes)} before, ${inMb(is.heapBytes)} after`);
      if (is.residentBytes > BOUNDS.residentRatio * was.residentBytes + BOUNDS.residentNoiseBytes)
        this.leaks.push(
          `${name}: resident ${inMb(was.residentBytes)} before, ${inMb(is.residentBytes)} after`,
        );
    }
    if (after.mqttConnections > 2)
      this.leaks.push(`${after.mqttConnections} logins at the broker for 2 chargers`);
    if (after.gatewayLogins > 1)
      this.leaks.push(`${after.gatewayLogins} logins of the gateway for 1 charger`);
  }

  /** The service's own count also contains answers that no client received. */
  async #checkAnswers(): Promise<void> {
    const failed = await this.#site.serviceMetric('headroom_http_request_seconds_count', /status="5(?!03)/);
    // `/health` answers 503 on a late processor, and gives this reason in its body.
    const unavailable = await this.#site.serviceMetric(
      'headroom_http_request_seconds_count',
      /^(?!.*health").*status="503"/,
    );
    const shed = await this.#site.serviceMetric('headroom_shed_total', /read/);
    if (failed > 0) this.broken.push(`${failed} requests were answered 500 or above`);
    if (unavailable > shed)
      this.broken.push(
        `${unavailable} requests were answered 503, and ${shed} were left undone for want of a processor`,
      );
    this.broken.push(...(failed > 0 || unavailable > shed ? this.#http.failures : []));
    for (const name of ['headroom_actors_rebuilt_total', 'headroom_decision_failures_total']) {
      const count = await this.#site.serviceMetric(name);
      if (count > 0) this.broken.push(`${name} is ${count}`);
    }
    for (const [status, count] of this.#http.statuses)
      if (status >= 500 && status !== 503) this.broken.push(`${count} answers ${status} came`);
    for (const [status, count] of this.#ocpp.statuses)
      if (status >= 500) this.broken.push(`${count} upgrades were answered ${status}`);
    if (this.#http.hung > 0) this.broken.push(`${this.#http.hung} connections hung`);
    const refused = this.#http.refused + this.#mqtt.refused + this.#ocpp.refused;
    if (refused > 0) this.broken.push(`${refused} connections were not taken`);
  }

  async #playKills(): Promise<void> {
    await this.#books.open();
    while (this.#kills < this.#options.kills && !this.#isOver()) {
      let left = 1 + this.#dice.below(EVENTS_BEFORE_KILL);
      // The kill ends the writers, because none of them gets an answer any more.
      let killed: Promise<void> | undefined;
      await this.#books.write(this.#dice, () => {
        left--;
        if (left === 0) killed = this.#site.service.kill();
      });
      await killed;
      this.#kills++;
      if (this.#dice.isOneIn(5)) {
        await this.#site.gateway.kill();
        await this.#site.gateway.start();
      }
      await this.#site.startService();
      this.lost.push(...(await this.#books.check()));
      if (this.#kills % LEASES_EVERY_KILLS !== 0) continue;
      if (!(await this.#site.areLeased()))
        this.broken.push(`after kill ${this.#kills} the honest chargers got no lease`);
      process.stdout.write(`${this.#kills} kills, ${this.#books.acknowledged} writes acknowledged\n`);
    }
    this.lost.push(...(await this.#books.checkHistory()));
    if (this.#books.refused > 0) this.broken.push(`${this.#books.refused} good writes were refused`);
    if (this.#site.longestStartMs > BOUNDS.startsWithinMs)
      this.broken.push(`a start took ${Math.round(this.#site.longestStartMs)} ms`);
  }

  async #checkLogs(): Promise<void> {
    const sent = this.#http.requests + this.#mqtt.packets + this.#ocpp.frames + this.#ocpp.upgrades;
    for (const each of this.#processes) {
      const { bytes, longestBytes, betrayals, complaints } = await each.logFigures(this.#site.secrets);
      if (longestBytes > BOUNDS.logLineBytes)
        this.leaks.push(`${each.name}: a log line of ${longestBytes} bytes`);
      if (betrayals > 0) this.leaks.push(`${each.name}: ${betrayals} log lines with a secret`);
      if (bytes > BOUNDS.logBytesEach * sent + BOUNDS.logBytesAnyway)
        this.leaks.push(`${each.name}: a log of ${inMb(bytes)} for ${sent} requests and packets`);
      this.#logBytes += bytes;
      this.#complaints.set(each.name, complaints);
    }
  }

  /** A run with fewer requests than asked for proves less. */
  #checkCounts(): void {
    const { requests, packets, kills } = this.#options;
    const sent = this.#mqtt.packets + this.#ocpp.frames + this.#ocpp.upgrades;
    if (this.#http.requests < requests || sent < packets || this.#kills < kills)
      this.broken.push(
        `the time was over after ${this.#http.requests} requests, ${sent} packets and ${this.#kills} kills`,
      );
  }

  #summary(before: Baseline | undefined, after: Baseline | undefined): object {
    const { requests, statuses, hung } = this.#http;
    const byStatus = Object.fromEntries([...statuses].sort(([a], [b]) => a - b));
    const { upgrades, frames } = this.#ocpp;
    return {
      machine: machine(),
      seed: this.#options.seed,
      minutes: Number(
        (this.#options.minutes - (this.#endsAtMs - systemClock.monotonicMs()) / 60_000).toFixed(1),
      ),
      requests,
      answers: byStatus,
      hung,
      packets: this.#mqtt.packets + frames + upgrades,
      mqtt: this.#mqtt,
      ocpp: { upgrades, frames, answers: Object.fromEntries(this.#ocpp.statuses) },
      kills: this.#kills,
      acknowledged: this.#books.acknowledged,
      unanswered: this.#books.unanswered,
      lost: this.lost.length,
      leaks: this.leaks.length,
      leasesLost: Object.fromEntries(this.#leasesLost),
      longestAnswerMs: Math.round(this.#site.longestAnswerMs),
      longestStartMs: Math.round(this.#site.longestStartMs),
      logBytes: this.#logBytes,
      logged: Object.fromEntries(this.#complaints),
      before,
      after,
    };
  }
}

function inMb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

async function run(options: Options): Promise<void> {
  // Timers of the clock keep no process alive, and at the end nothing else does.
  keepAliveUntil(2 * (options.minutes + 10) * 60_000, () => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const site = await AttackSite.start();
  const attack = new Attack(site, options);
  try {
    await attack.run();
  } catch (error) {
    attack.broken.push(error instanceof Error ? error.message : String(error));
  } finally {
    await site.remove();
  }
  const found = [
    ...attack.lost.map((each) => `lost: ${each}`),
    ...attack.leaks.map((each) => `leak: ${each}`),
    ...attack.broken,
  ];
  for (const each of found) process.stdout.write(`${each}\n`);
  process.stdout.write(found.length === 0 ? 'held: 0 lost, 0 leaks\n' : 'FAILED\n');
  process.exit(found.length === 0 ? 0 : 1);
}

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 10_000_000)
    throw new InvalidArgumentError('must be a whole number from 0 to 10000000');
  return number;
}

await new Command('attack')
  .description(
    'Attacks the service and the OCPP gateway as they ship, on free ports of this host: malformed requests, packets and frames, floods, and kill -9 under writes. Ends with 1 where a write is lost, something leaks, an answer is 5xx, a process ends or hangs, or an honest client is not served (Linux)',
  )
  .option('--minutes <n>', 'the longest time; what is not done by then fails the run', whole, 60)
  .option('--requests <n>', 'HTTP requests', whole, 100_000)
  .option('--packets <n>', 'MQTT packets, and a tenth of them upgrades and frames of OCPP', whole, 300_000)
  .option('--kills <n>', 'kills of the service under writes; one in five of the gateway, too', whole, 100)
  .option('--seed <n>', 'what is drawn', whole, 1)
  .action(run)
  .parseAsync();
