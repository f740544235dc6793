// Random courses of a charger behind a gateway. They find the mutants that change its requests or messages.
import type { GatewayRequest } from '../../machines/session/gateway-request.js';
import { Dice } from '../machines/agenda.js';
import { type Behaviour, TestCharger } from '../machines/ocpp-charger.js';
import type { Mutant } from './mutants.js';

/** The gateway's machines. No actor of the service has them. */
export const OF_THE_GATEWAY: ReadonlySet<string> = new Set(['chargePoint', 'lease']);

/**
 * `effect`: a request to the charger, a message to the service, a note for the operator, or the wait until the next of
 * them. `state`: a state as the gateway's metrics count it.
 */
type About = 'effect' | 'state';

/** Receives one line. Returns false to end the course. */
type OnLine = (line: string, about: About) => boolean;

/** Honest chargers, and chargers with each fault that leads a session another way. */
const BEHAVIOURS: readonly Behaviour[] = [
  {},
  { hidesIdle: true },
  { hidesSchedule: true },
  { hidesSchedule: true },
  { roundsDown: true },
  { only: 'W' },
  { wholeAmperes: true },
  { losesPeriods: true },
  { refuses: true },
  { ignores: true },
  { answersAfterS: 0.7 },
  { answersAfterS: 1.5, hidesSchedule: true },
  { neverAnswers: true },
  { losesAnswers: true },
  { abilities: { whyNot: 'it has no smart charging' } },
  { abilities: { units: ['A'] } },
];
const KINDS: readonly GatewayRequest['kind'][] = [
  'readAbilities',
  'sample',
  'setFailsafe',
  'setFailsafe',
  'setLease',
  'clear',
  'readSchedule',
  'askStatus',
  'askValues',
];
const ACTS = [
  'grant',
  'grant',
  'renew',
  'plug',
  'plug',
  'cut',
  'reconnect',
  'boot',
  'boot anew',
  'forgetful boot',
  'rejected boot',
  'gateway',
  'behaviour',
  'usual',
  'fail',
  'refuse',
  'time',
  'clock',
  'ceiling',
  'sync',
  'silence',
  'status',
  'values',
] as const;
type Act = (typeof ACTS)[number];
const FIRMWARE = 'Maker Model 1.0';
const NOTHING_READ = { requests: 0, said: 0, notes: 0 };
const ACTS_OF_A_COURSE = 60;
/** Most waits are short, because a configuration is. The longest one exceeds the doubt of a charger's clock. */
const WAITS_S = [0, 0, 0, 1, 1, 3, 6, 6, 16, 16, 35, 150] as const;

const COURSES = 40;

/** Parts that inform people alone: only a metric shows a connection, because the socket itself decides requests. */
const INFORMING = /^chargePoint\.connection/;

/** The courses with the unchanged machines, as far as played. */
export class SessionCourses {
  readonly #known = new Map<number, readonly Line[]>();

  /** The first course that fails or changes under the mutant, with its first other line; undefined if none does. */
  firstChangedBy(mutant: Mutant): string | undefined {
    for (let nth = 1; nth <= COURSES; nth++) {
      const known = this.#linesOf(nth);
      const putBack = mutant.plant();
      try {
        const change = firstChange(nth, known, INFORMING.test(mutant.name));
        if (change !== undefined) return `session course ${nth}: ${change}`;
      } finally {
        putBack();
      }
    }
    return undefined;
  }

  /** Plays all known courses again. @returns the first change */
  firstChangedSince(): string | undefined {
    for (const [nth, known] of this.#known) {
      const change = firstChange(nth, known, true);
      if (change !== undefined) return `session course ${nth}: ${change}`;
    }
    return undefined;
  }

  #linesOf(nth: number): readonly Line[] {
    const known = this.#known.get(nth);
    if (known !== undefined) return known;
    const lines: Line[] = [];
    playCourse(nth, (line, about) => lines.push({ line, about }) > 0);
    this.#known.set(nth, lines);
    return lines;
  }
}

interface Line {
  readonly line: string;
  readonly about: About;
}

/** The first other line of that course, or its failure; undefined if it is the same. */
function firstChange(nth: number, known: readonly Line[], countsStates: boolean): string | undefined {
  const counted = known.filter(({ about }) => countsStates || about === 'effect');
  let next = 0;
  let change: string | undefined;
  try {
    playCourse(nth, (line, about) => {
      if ((countsStates || about === 'effect') && line !== counted[next++]?.line) change ??= line;
      return change === undefined;
    });
  } catch (error) {
    return `it breaks: ${error}`;
  }
  return change ?? (next < counted.length ? 'it ends early' : undefined);
}

/** Plays the course of that number, until it ends or `onLine` returns false. */
function playCourse(nth: number, onLine: OnLine): void {
  const course = new Course(nth, onLine);
  for (let act = 0; act < ACTS_OF_A_COURSE && !course.isEnough; act++) course.act();
}

class Course {
  readonly #dice: Dice;
  readonly #onLine: OnLine;
  /** A course leaves out half of the acts, because some acts hide others: after a boot nothing is doubted. */
  readonly #acts: readonly Act[];
  readonly #usual: Behaviour;
  #charger: TestCharger;
  #transactions = 0;
  #limitA = 16;
  #thenA = 6;
  /** The service answers each heartbeat. */
  #isRenewed = true;
  #answeredHb = 0;
  #read = NOTHING_READ;
  isEnough = false;

  constructor(nth: number, onLine: OnLine) {
    const dice = new Dice(nth);
    this.#dice = dice;
    this.#onLine = onLine;
    this.#acts = ACTS.filter(() => dice.isOneIn(2));
    this.#usual = dice.isOneIn(2) ? {} : this.#behaviour();
    this.#charger = new TestCharger(this.#usual);
    if (dice.isOneIn(4)) this.#charger.refusing = this.#kind();
    this.#charger.connect();
    if (!dice.isOneIn(4)) this.#charger.boot(FIRMWARE);
    this.#pass(3);
  }

  act(): void {
    const dice = this.#dice;
    const act = this.#acts[dice.below(this.#acts.length)];
    if (act !== undefined) this.#do(act);
    this.#pass(WAITS_S[dice.below(WAITS_S.length)] ?? 0);
  }

  #do(act: Act): void {
    const dice = this.#dice;
    const charger = this.#charger;
    switch (act) {
      case 'grant':
        this.#grant();
        break;
      case 'renew':
        this.#isRenewed = !this.#isRenewed;
        break;
      case 'plug':
        if (charger.isCharging) charger.unplug();
        else charger.plugIn(++this.#transactions);
        break;
      case 'cut':
        charger.cut();
        this.#record();
        charger.nowMs += 1000 * dice.oneOf(0, 1, 20, 90);
        charger.connect();
        break;
      case 'reconnect':
        charger.connect();
        break;
      case 'boot':
        this.#boot(FIRMWARE);
        break;
      case 'boot anew':
        this.#boot('Maker Model 1.1');
        break;
      case 'forgetful boot':
        charger.store.clearAll();
        this.#boot(FIRMWARE);
        break;
      case 'rejected boot':
        this.#boot(FIRMWARE);
        charger.session.rejected();
        break;
      case 'gateway':
        this.#takeOver();
        break;
      case 'behaviour':
        charger.behaviour = this.#behaviour();
        break;
      case 'usual':
        charger.behaviour = this.#usual;
        charger.failing = undefined;
        charger.refusing = undefined;
        charger.isAlive = true;
        break;
      case 'fail':
        charger.failing = dice.isOneIn(2) ? undefined : this.#kind();
        break;
      case 'refuse':
        charger.refusing = dice.isOneIn(2) ? undefined : this.#kind();
        break;
      case 'time': {
        const mayReceiveTime = charger.asksTime(() => this.#grant());
        this.#emit(`may receive the time: ${mayReceiveTime}`);
        if (mayReceiveTime && dice.isOneIn(2)) charger.ownOffsetMs += 1000 * (dice.below(40) - 20);
        break;
      }
      case 'clock':
        charger.ownOffsetMs += 1000 * (dice.below(400) - 200);
        break;
      case 'ceiling':
        charger.ceilingA = dice.oneOf(8, 20, Number.POSITIVE_INFINITY);
        charger.session.review(charger.nowMs);
        break;
      case 'sync':
        charger.session.receiveSync();
        break;
      case 'silence':
        charger.isAlive = !charger.isAlive;
        break;
      case 'status':
        charger.status(dice.oneOf('Available', 'Preparing', 'Charging'));
        break;
      case 'values':
        charger.values();
    }
  }

  #behaviour(): Behaviour {
    return BEHAVIOURS[this.#dice.below(BEHAVIOURS.length)] ?? {};
  }

  #kind() {
    return KINDS[this.#dice.below(KINDS.length)];
  }

  #grant(): void {
    const dice = this.#dice;
    this.#limitA = dice.isOneIn(5) ? 0 : 6 + dice.below(261) / 10;
    this.#thenA = dice.oneOf(0, 6, 6);
    this.#charger.grant(this.#limitA, this.#thenA);
  }

  #boot(firmware: string): void {
    const charger = this.#charger;
    if (charger.isCharging) charger.unplug();
    if (this.#dice.isOneIn(2)) charger.cut().connect();
    charger.boot(firmware);
    if (this.#dice.isOneIn(4)) this.#interrupt();
  }

  /** The connection breaks while a slow charger is configured. */
  #interrupt(): void {
    const charger = this.#charger;
    const { behaviour } = charger;
    charger.behaviour = { ...behaviour, answersAfterS: 1 };
    this.#pass(this.#dice.below(8));
    charger.behaviour = behaviour;
    if (this.#dice.isOneIn(2)) charger.cut();
    charger.connect();
  }

  /** The gateway restarts with its stored facts, or with fewer. */
  #takeOver(): void {
    const before = this.#charger;
    const { boots, store, nowMs, ownOffsetMs, transaction, isCharging, ceilingA, failing, refusing } = before;
    const { provenFirmware, fallbacksA } = before.session;
    before.cut();
    const proven = provenFirmware === undefined ? {} : { provenFirmware };
    const kept = this.#dice.isOneIn(4) ? {} : { fallbacksA };
    this.#charger = new TestCharger(before.behaviour, { boots, ...proven, ...kept });
    const same = { store, ownOffsetMs, transaction, isCharging, ceilingA, failing, refusing };
    Object.assign(this.#charger, { ...same, nowMs: nowMs + 1000 * this.#dice.oneOf(1, 30) });
    this.#read = NOTHING_READ;
    this.#answeredHb = 0;
    this.#charger.connect();
    const report = this.#dice.oneOf('sent', 'sent', 'missing', 'lost');
    if (report === 'sent') this.#charger.status(isCharging ? 'Charging' : 'Available');
    if (report === 'lost') this.#charger.failing = 'askStatus';
    if (this.#dice.isOneIn(2)) this.#interrupt();
  }

  #pass(seconds: number): void {
    for (let s = 0; s <= seconds && !this.isEnough; s++) {
      this.#charger.pass(s === seconds ? 0.1 : 1);
      this.#record();
      const { hb } = this.#charger;
      if (!this.#isRenewed || hb === this.#answeredHb) continue;
      this.#answeredHb = hb;
      this.#charger.grant(this.#limitA, this.#thenA);
      this.#record();
    }
  }

  #record(): void {
    const { requests, said, notes, session, nowMs } = this.#charger;
    for (const request of requests.slice(this.#read.requests))
      this.#emit(`request ${JSON.stringify(request)}`);
    for (const message of said.slice(this.#read.said)) this.#emit(`message ${JSON.stringify(message)}`);
    for (const note of notes.slice(this.#read.notes)) this.#emit(`note ${note}`);
    this.#read = { requests: requests.length, said: said.length, notes: notes.length };
    this.#emit(`wake ${session.nextDueMs(nowMs) - nowMs}`);
    for (const { state } of session.connectors()) this.#emit(state, 'state');
  }

  #emit(line: string, about: About = 'effect'): void {
    this.isEnough ||= !this.#onLine(line, about);
  }
}
