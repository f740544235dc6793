// Fronts and a node over a NATS with delays, repetitions and cuts. A charger belongs to its newest login, and no
// earlier last will takes effect. The code between fronts and node is the production's; bus.test.ts covers MQTT itself.
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { createMqttLogins } from '../../src/inbound/mqtt/logins.js';
import { createMetrics } from '../../src/metrics.js';
import { admit, createSession, NewestSessions, type Session } from '../../src/outbound/mqtt/session.js';
import { FrontBus } from '../../src/outbound/nats/front-bus.js';
import { NatsBus } from '../../src/outbound/nats/nats-bus.js';
import { casesOf } from '../seeds.js';
import { silentLog } from '../service/running-service.js';
import { CREDENTIALS, HARBOUR, SETTINGS, topicOf } from './mqtt/broker-rig.js';
import { type VirtualLink, VirtualNats } from './virtual-nats.js';

const FRONTS = 2;
const CHARGERS = ['q1-a'] as const;
type Charger = (typeof CHARGERS)[number];

/** One connection of a charger at its front. */
interface Visit {
  readonly number: number;
  readonly charger: Charger;
  readonly session: Session;
  /** The front has admitted the charger, which may send. */
  isIn: boolean;
  isOpen: boolean;
  /** Admitted, or refused or gone. No front can then mistake its login for one after a later visit's. */
  isDecided: boolean;
  /** All earlier visits were decided before it began, so every front orders it after them. */
  readonly isClear: boolean;
}

interface Front {
  readonly bus: FrontBus;
  readonly link: VirtualLink;
  readonly newest: NewestSessions;
  readonly visits: Set<Visit>;
}

/** All participants, and the messages that the node received. */
class Model {
  readonly #nats = new VirtualNats();
  readonly #options = {
    url: 'nats://virtual',
    name: 'model',
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  };
  readonly #logins = createMqttLogins(CREDENTIALS);
  readonly fronts: Front[] = [];
  readonly nodeLink = this.#nats.link();
  readonly #node = new NatsBus(this.#options, this.nodeLink);
  /** By charger, the newest visit from which the node has received a message. */
  readonly #spoken = new Map<string, number>();
  readonly wills: number[] = [];
  readonly broken: string[] = [];
  #visits = 0;
  /**
   * The newest visit at the node's last reconnect. The node may not know the order of these visits, and has all
   * chargers report.
   */
  #before = 0;
  /** All visits by charger. */
  readonly #visitsOf = new Map<Charger, Visit[]>();

  async start(): Promise<void> {
    await this.#node.start(
      (topic, payload) => this.#hear(topic, payload.toString()),
      () => {
        this.#before = this.#visits;
      },
    );
    for (let i = 0; i < FRONTS; i++) this.fronts.push(await this.#startFront());
  }

  get links(): readonly VirtualLink[] {
    return this.#nats.links;
  }

  connect(front: Front, charger: Charger): void {
    const login = this.#logins.find(`${HARBOUR}/${charger}`)?.login;
    if (login === undefined) throw new Error('no such charger');
    // A front that does not reach NATS accepts no connections.
    if (!front.newest.isOpen) return;
    const session = createSession({ address: '127.0.0.1', giveWay() {} }, SETTINGS);
    admit(session, login, SETTINGS);
    const before = this.#visitsOf.get(charger) ?? [];
    const visit: Visit = {
      number: ++this.#visits,
      charger,
      session,
      isIn: false,
      isOpen: true,
      isDecided: false,
      isClear: before.every(({ isDecided }) => isDecided),
    };
    front.visits.add(visit);
    this.#visitsOf.set(charger, [...before, visit]);
    void front.newest.enter(session).then((isIn) => {
      visit.isDecided = true;
      if (!isIn) this.close(front, visit);
      if (!visit.isOpen) return;
      visit.isIn = true;
      // The broker ends earlier connections of the same client there.
      for (const other of front.visits)
        if (other.charger === charger && other.number < visit.number) this.close(front, other);
    });
  }

  say(front: Front, { charger, number, isIn, isOpen }: Visit): void {
    if (isIn && isOpen) front.bus.send(topicOf('c/1/meter', charger), Buffer.from(`word ${number}`));
  }

  /** The connection breaks, and the front notices at once: the broker publishes the will, then removes the session. */
  close(front: Front, visit: Visit): void {
    if (!visit.isOpen) return;
    visit.isOpen = false;
    front.visits.delete(visit);
    front.newest.sayWill(visit.session, topicOf('state', visit.charger), Buffer.from(`will ${visit.number}`));
    front.newest.leave(visit.session);
  }

  /** Connects every link, and delivers all pending packets. */
  async settle(): Promise<void> {
    for (const link of this.links) {
      if (link.isCut) link.lose();
      link.connect();
    }
    for (let isMoving = true; isMoving; await nextTurn()) {
      isMoving = false;
      for (const link of this.links) while (link.rise() || link.fall()) isMoving = true;
    }
  }

  async #startFront(): Promise<Front> {
    const link = this.#nats.link();
    const bus = new FrontBus(this.#options, link);
    const front: Front = {
      bus,
      link,
      visits: new Set(),
      newest: new NewestSessions({
        siblings: bus,
        end: (session, why) => {
          for (const visit of front.visits) if (visit.session === session) this.#end(front, visit, why);
        },
        onWill() {},
      }),
    };
    await bus.start(() => {});
    return front;
  }

  #end(front: Front, visit: Visit, why: string): void {
    const isNewest = this.#visitsOf.get(visit.charger)?.at(-1) === visit;
    if (why === 'elsewhere' && isNewest && visit.isClear)
      this.broken.push(`${visit.number} was ended as if its charger were elsewhere`);
    this.close(front, visit);
  }

  #hear(topic: string, text: string): void {
    const [kind, number] = text.split(' ');
    const charger = topic.split('/')[4] ?? '';
    const spoken = this.#spoken.get(charger) ?? 0;
    if (kind === 'word') {
      const visit = this.#visitsOf.get(charger as Charger)?.find((each) => each.number === Number(number));
      // Of concurrent visits, the one that NATS received last is the newer.
      if (visit?.isClear) this.#spoken.set(charger, Math.max(spoken, visit.number));
    }
    if (kind === 'will') this.wills.push(Number(number));
    if (kind === 'will' && Number(number) < spoken && Number(number) > this.#before)
      this.broken.push(`the will of ${number} was taken after a word of ${spoken}`);
  }
}

const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('pump' as const), at: fc.nat(FRONTS), which: fc.constant(0) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('connect' as const),
      at: fc.nat(FRONTS - 1),
      which: fc.nat(CHARGERS.length - 1),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('say' as const), at: fc.nat(FRONTS - 1), which: fc.nat(2) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('break' as const), at: fc.nat(FRONTS - 1), which: fc.nat(2) }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('rise' as const),
      at: fc.nat(FRONTS),
      which: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('fall' as const),
      at: fc.nat(FRONTS),
      which: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('cut' as const, 'lose' as const),
      at: fc.nat(FRONTS),
      which: fc.constant(0),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('return' as const), at: fc.nat(FRONTS), which: fc.constant(0) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function play(steps: readonly Step[], { isDoubled }: { readonly isDoubled: boolean }): Promise<Model> {
  const model = new Model();
  await model.start();
  for (const [i, { do: what, at, which }] of steps.entries()) {
    const link = model.links[at];
    const front = model.fronts[at];
    const visit = front && [...front.visits][which % Math.max(1, front.visits.size)];
    if (what === 'connect' && front) model.connect(front, CHARGERS[which] ?? 'q1-a');
    else if (what === 'say' && front && visit) model.say(front, visit);
    else if (what === 'break' && front && visit) model.close(front, visit);
    else if (what === 'rise' && isDoubled && which > 6) link?.repeat(7 * i);
    else if (what === 'rise') for (let n = 0; n < which && n < 3; n++) link?.rise();
    else if (what === 'pump') while (link?.rise() || link?.fall());
    else if (what === 'fall') for (let i = 0; i < which; i++) link?.fall();
    else if (what === 'cut' && link) link.isCut = true;
    else if (what === 'lose') link?.lose();
    else if (what === 'return') {
      if (link?.isCut) link.lose();
      link?.connect();
    }
    await nextTurn();
  }
  return model;
}

it.each([{ isDoubled: false }, { isDoubled: true }])(
  'no last will applies after a message of a newer connection, and a charger keeps at most one connection: %j',
  async (setting) => {
    let wills = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async (steps) => {
        const model = await play(steps, setting);
        expect(model.broken).toEqual([]);
        await model.settle();
        expect(model.broken).toEqual([]);
        wills += model.wills.length;
        for (const charger of CHARGERS) {
          const open = model.fronts.flatMap(({ visits }) =>
            [...visits].filter((visit) => visit.charger === charger),
          );
          expect(open.length).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: casesOf(3_000) },
    );
    expect(wills).toBeGreaterThan(0);
  },
);
