// The event log, its webhooks and its stream while the service is killed, and their delay under a steady load.
import { parseArgs } from 'node:util';
import { keepAliveUntil, systemClock } from '../../src/clock.js';
import { Dice } from './attack-dice.js';
import { machine, remark, report } from './bench.js';
import { pause } from './chaos-parts.js';
import { sumOf, type Verdict } from './events-books.js';
import { EventClient, EventReceiver } from './events-clients.js';
import { ENGINES, type Engine, EventSite } from './events-site.js';

const PARTS = ['kills', 'takeovers', 'delay'] as const;

const { values } = parseArgs({
  options: {
    parts: { type: 'string', default: PARTS.join(',') },
    engines: { type: 'string', default: Object.keys(ENGINES).join(',') },
    events: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '10' },
    takeovers: { type: 'string', default: '2' },
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '30' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
});

const LOCATIONS_EACH = 16;
/** Orders to one location must not overtake each other without a wait for their answers. */
const LOCATIONS_EACH_OF_DELAY = 50;
/** A retry takes 5 s, and holds back the later events of its location. */
const REFUSES_ONE_IN = 1_000;
const KILLED_WITHIN_MS = 50;
const COME_AGAIN_AFTER_MS = 100;
const LOOK_EVERY_MS = 20;
/** Without a further arrival. */
const ARRIVES_WITHIN_MS = 60_000;
const GOAL_MS = 1_000;
/** A late load is not made up for all at once. */
const MOST_LATE_MS = 100;

function numberOf(
  name: 'events' | 'kills' | 'takeovers' | 'rate' | 'seconds' | 'minutes' | 'seed',
  least: number,
): number {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < least || number > 1e7)
    throw new Error(`--${name}: must be a whole number from ${least} to 10000000`);
  return number;
}

function chosenOf<Name extends string>(name: 'parts' | 'engines', names: readonly Name[]): readonly Name[] {
  return values[name].split(',').map((word) => {
    const found = names.find((each) => each === word);
    if (found === undefined) throw new Error(`--${name}: is "${word}"; must be some of ${names.join(',')}`);
    return found;
  });
}

const settings = {
  parts: chosenOf('parts', PARTS),
  engines: chosenOf('engines', Object.keys(ENGINES) as Engine[]),
  events: numberOf('events', 1),
  kills: numberOf('kills', 1),
  takeovers: numberOf('takeovers', 1),
  rate: numberOf('rate', 1),
  seconds: numberOf('seconds', 1),
  minutes: numberOf('minutes', 1),
  seed: numberOf('seed', 0),
};

/** A site with its clients. */
class Course {
  readonly dice = new Dice(settings.seed);
  readonly site: EventSite;
  readonly clients: readonly EventClient[];
  readonly receiver: EventReceiver;
  readonly #following: readonly Promise<void>[];

  private constructor(site: EventSite, clients: readonly EventClient[], receiver: EventReceiver) {
    this.site = site;
    this.clients = clients;
    this.receiver = receiver;
    this.#following = clients.map((client) => client.follow());
  }

  static async begin(engine: Engine, nodes: number, locationsEach: number, refusesOneIn: number) {
    const site = await EventSite.start(engine, nodes, locationsEach);
    const clients = site.tenants.map((tenant) => new EventClient(site, tenant));
    const receiver = new EventReceiver(new Dice(settings.seed + 1), refusesOneIn);
    await receiver.open(clients);
    return new Course(site, clients, receiver);
  }

  get acknowledged(): number {
    return this.clients.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  }

  /** Waits for the last arrivals, and judges. */
  async end(): Promise<{ readonly verdict: Verdict; readonly logged: number; readonly text: string }> {
    const logs = await Promise.all(this.clients.map((client) => client.readLog()));
    const logged = logs.reduce((sum, log) => sum + log.length, 0);
    const arrived = () =>
      this.clients.map(({ books }) => [books.delivered.size, books.streamed.length] as const);
    let last = '';
    for (let sinceMs = systemClock.monotonicMs(); systemClock.monotonicMs() < sinceMs + ARRIVES_WITHIN_MS; ) {
      const now = arrived();
      if (now.every(([delivered, streamed], i) => Math.min(delivered, streamed) >= (logs[i]?.length ?? 0)))
        break;
      if (now.join() !== last) sinceMs = systemClock.monotonicMs();
      last = now.join();
      await pause(LOOK_EVERY_MS);
    }
    // A repeated event would still come.
    await pause(10 * COME_AGAIN_AFTER_MS);
    const verdict = sumOf(this.clients.map(({ books }, i) => books.judge(logs[i] ?? [])));
    for (const client of this.clients) await client.close();
    await Promise.all(this.#following);
    await this.receiver.close();
    const crashes = await this.site.stop();
    const refusals = this.clients.flatMap(({ refused }) => refused);
    if (crashes > 0) throw new Error(`the service ended ${crashes} times by itself`);
    if (refusals.length > 0) throw new Error(`${refusals.length} good orders were refused: ${refusals[0]}`);
    const sum = (count: (client: EventClient) => number) =>
      this.clients.reduce((total, client) => total + count(client), 0);
    const text = [
      `${this.acknowledged} acknowledged and ${sum(({ unanswered }) => unanswered)} unanswered orders`,
      `${logged} events in the log`,
      `${this.receiver.refused} deliveries refused and ${sum(({ books }) => books.repeated)} repeated`,
      `${sum(({ connections }) => connections)} connections of streams`,
    ].join(', ');
    return { verdict, logged, text };
  }
}

/** Orders at a steady rate, of each location one after another. */
class Writers {
  readonly #course: Course;
  #nextAtMs = systemClock.monotonicMs();
  #isOver = false;
  readonly #writing: Promise<unknown>;

  constructor(course: Course) {
    this.#course = course;
    this.#writing = Promise.all(
      course.clients.flatMap((client) =>
        client.tenant.locationIds.map((locationId) => this.#write(client, locationId)),
      ),
    );
  }

  async until(acknowledged: number): Promise<void> {
    while (this.#course.acknowledged < acknowledged) await pause(LOOK_EVERY_MS);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#writing;
  }

  async #write(client: EventClient, locationId: string): Promise<void> {
    while (!this.#isOver) {
      const nowMs = systemClock.monotonicMs();
      this.#nextAtMs = Math.max(this.#nextAtMs + 1_000 / settings.rate, nowMs - MOST_LATE_MS);
      await pause(Math.max(0, this.#nextAtMs - nowMs));
      if (!(await client.cause(locationId))) await pause(COME_AGAIN_AFTER_MS);
    }
  }
}

let isBroken = false;

function judge(what: string, verdict: Verdict): void {
  const faults = Object.entries(verdict).filter(([, count]) => count > 0);
  const isMet = faults.length === 0;
  isBroken ||= !isMet;
  const measured = isMet ? '0' : faults.map(([name, count]) => `${name} ${count}`).join(', ');
  report([
    { name: `${what}: events lost, reordered, doubled or undelivered`, measured, goal: '0', met: isMet },
  ]);
}

async function runKills(
  what: string,
  course: Course,
  planned: number,
  kill: (course: Course) => Promise<number>,
): Promise<void> {
  const fromMs = systemClock.monotonicMs();
  const isOver = () => systemClock.monotonicMs() > fromMs + 60_000 * settings.minutes;
  const writers = new Writers(course);
  let kills = 0;
  for (let target = 0; kills < planned && !isOver(); ) {
    target += 1 + course.dice.below((2 * settings.events) / planned);
    await writers.until(target);
    await pause(course.dice.below(KILLED_WITHIN_MS));
    kills += await kill(course);
    if (kills % 10 <= 1) remark(`${kills} kills, ${course.acknowledged} orders acknowledged`);
  }
  while (course.acknowledged < settings.events && !isOver()) await pause(LOOK_EVERY_MS);
  await writers.stop();
  const { verdict, logged, text } = await course.end();
  const seconds = Math.round((systemClock.monotonicMs() - fromMs) / 1_000);
  remark(`${what}, ${seconds} s: ${kills} kills, ${text}`);
  if (isOver()) remark(`${what}: ${settings.minutes} minutes were over; --minutes`);
  judge(`${what}, ${kills} kills, ${logged} events`, verdict);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

async function runDelay(engine: Engine): Promise<void> {
  const course = await Course.begin(engine, 1, LOCATIONS_EACH_OF_DELAY, 0);
  const { rate, seconds } = settings;
  const places = course.clients.flatMap((client) =>
    client.tenant.locationIds.map((locationId) => ({ client, locationId })),
  );
  const fromMs = systemClock.monotonicMs() + 500;
  const sending: Promise<boolean>[] = [];
  for (let i = 0; i < rate * seconds; ) {
    const nowMs = systemClock.monotonicMs();
    for (; i < rate * seconds && fromMs + (1_000 * i) / rate <= nowMs; i++) {
      const place = places[i % places.length];
      if (place !== undefined)
        sending.push(place.client.cause(place.locationId, fromMs + (1_000 * i) / rate));
    }
    await pause(1);
  }
  await Promise.all(sending);
  const tookS = (systemClock.monotonicMs() - fromMs) / 1_000;
  const { verdict, logged, text } = await course.end();
  const name = `${ENGINES[engine]}, ${rate} events/s for ${seconds} s`;
  remark(`${name}: ${text}, ${(logged / tookS).toFixed(0)} events/s written`);
  judge(name, verdict);
  for (const way of ['webhook', 'stream'] as const) {
    const [fromSent, fromAnswer]: [number[], number[]] = [[], []];
    for (const { books } of course.clients)
      for (const { source, atMs } of way === 'webhook' ? books.delivered.values() : books.streamed) {
        const { sentAtMs, answeredAtMs } = books.causes.get(source) ?? {};
        if (sentAtMs !== undefined) fromSent.push(atMs - sentAtMs);
        if (answeredAtMs !== undefined) fromAnswer.push(atMs - answeredAtMs);
      }
    const measuredOf = (delays: readonly number[]) =>
      `${quantile(delays, 0.5).toFixed(0)} ms, p99 ${quantile(delays, 0.99).toFixed(0)} ms`;
    report([
      {
        name: `… from the cause to the ${way}: from its answer on`,
        measured: `${measuredOf(fromSent)}: ${measuredOf(fromAnswer)}`,
        goal: `p99 ≤ ${GOAL_MS} ms`,
        met: quantile(fromSent, 0.99) <= GOAL_MS,
      },
    ]);
  }
}

const LONGEST_MS = 4 * 3_600_000;
// Timers of the clock keep no process alive.
keepAliveUntil(LONGEST_MS, () => process.exit(1));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
remark(`${machine()}; seed ${settings.seed}`);
if (settings.parts.includes('kills'))
  for (const engine of settings.engines)
    await runKills(
      ENGINES[engine],
      await Course.begin(engine, 1, LOCATIONS_EACH, REFUSES_ONE_IN),
      settings.kills,
      ({ site, dice }) => site.killAndStart(dice),
    );
if (settings.parts.includes('takeovers'))
  await runKills(
    'Takeovers of two nodes on PostgreSQL',
    await Course.begin('postgres', 2, LOCATIONS_EACH, REFUSES_ONE_IN),
    settings.takeovers,
    async ({ site }) => {
      await site.killOwner();
      return 1;
    },
  );
if (settings.parts.includes('delay')) for (const engine of settings.engines) await runDelay(engine);
process.exit(isBroken ? 1 : 0);
