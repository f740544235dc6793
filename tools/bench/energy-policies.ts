// Energy that published algorithms would deliver, step by step: first come, earliest departure, least laxity, equal
// share.
import { STEP_H, type SteppedSession } from './energy-sessions.js';

/** A session that has arrived, and its missing energy. */
interface Waiting {
  readonly session: SteppedSession;
  leftKwh: number;
}

/** A smaller value is a rounding error of zero. */
const NOTHING_KWH = 1e-9;

/** Order of service; of two equal cars, the one that arrived first comes first. */
type Rank = (waiting: Waiting, step: number) => number;

const RANKS = {
  FCFS: ({ session }) => session.from,
  EDF: ({ session }) => session.to,
  LLF: ({ session, leftKwh }, step) => (session.to - step) * STEP_H - leftKwh / session.maxKw,
} as const satisfies Record<string, Rank>;

export const POLICIES = ['FCFS', 'EDF', 'LLF', 'equal share'] as const;
export type Policy = (typeof POLICIES)[number];

/**
 * Highest offer of a station of the data set: 32 A at 208 V. The published algorithms do not know a lower limit of a
 * car.
 */
const STATION_KW = 6.656;

/** The highest offer for a session within a step; the algorithm knows its missing energy. */
function mostKw({ leftKwh }: Waiting): number {
  return Math.min(STATION_KW, leftKwh / STEP_H);
}

function serve(waiting: Waiting, offeredKw: number): void {
  waiting.leftKwh -= Math.min(waiting.session.maxKw, offeredKw) * STEP_H;
}

function serveInOrder(waiting: readonly Waiting[], capKw: number, rank: Rank, step: number): void {
  const order = [...waiting].sort((a, b) => rank(a, step) - rank(b, step));
  let leftKw = capKw;
  for (const each of order) {
    const kw = Math.min(mostKw(each), leftKw);
    leftKw -= kw;
    serve(each, kw);
  }
}

/** Equal shares; the others get the remainder of a car that takes less. Begins with the car that can take least. */
function serveAlike(waiting: readonly Waiting[], capKw: number): void {
  const order = [...waiting].sort((a, b) => mostKw(a) - mostKw(b));
  let leftKw = capKw;
  for (const [served, each] of order.entries()) {
    const kw = Math.min(mostKw(each), leftKw / (order.length - served));
    leftKw -= kw;
    serve(each, kw);
  }
}

/**
 * Energy that `policy` delivers under a cap, kWh: ideal cars, no floor, no delays or losses.
 * @param sessions in the order of arrival.
 */
export function deliveredKwh(policy: Policy, sessions: readonly SteppedSession[], capKw: number): number {
  const coming = [...sessions];
  let there: Waiting[] = [];
  let leftKwh = 0;
  for (let step = sessions[0]?.from ?? 0; coming.length > 0 || there.length > 0; step++) {
    for (let [next] = coming; next !== undefined && next.from <= step; [next] = coming) {
      coming.shift();
      there.push({ session: next, leftKwh: next.energyKwh });
    }
    const gone = there.filter(({ session }) => session.to <= step);
    for (const each of gone) leftKwh += each.leftKwh;
    there = there.filter(({ session, leftKwh: left }) => session.to > step && left > NOTHING_KWH);
    if (policy === 'equal share') serveAlike(there, capKw);
    else serveInOrder(there, capKw, RANKS[policy], step);
  }
  return sessions.reduce((sum, { energyKwh }) => sum + energyKwh, 0) - leftKwh;
}
