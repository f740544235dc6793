// Advice for the caller of a write that leads to a shortage of power: one sentence for each kind, the worst first.
import { SHORTAGES, type Shortage, type Shortfall } from '../../machines/limits/attainability.js';
import type { ConnectorAddress } from '../../machines/values/ids.js';
import type { TimeWindow } from '../../machines/values/time.js';
import { toInstant } from '../wire/instants.js';

/** A location and its shortfalls; at least one. */
export interface Finding {
  readonly locationId: string;
  readonly shortfalls: readonly Shortfall[];
}

const NEEDS: Readonly<Record<Shortage, readonly [needs: string, consequence: string]>> = {
  unattainable: ['the 6 A minimum of locked connectors needs', 'it cannot be kept (LIMIT_UNATTAINABLE)'],
  lastResort: ['the locks may use', 'locked connectors will be throttled'],
  turns: ['the 6 A minimum of all connectors needs', 'connectors will take turns'],
};

/** The shortfall to name first: the earliest one of the worst kind. */
export function worstOf(shortfalls: readonly Shortfall[]): Shortfall | undefined {
  for (const shortage of SHORTAGES) {
    const worst = shortfalls.find((shortfall) => shortfall.shortage === shortage);
    if (worst !== undefined) return worst;
  }
  return undefined;
}

/** ASCII, with the most important words first. `findings` begin with the worst. */
export function adviceOn(findings: readonly Finding[], lookedAt: number): string {
  const [worst] = findings;
  if (worst === undefined) return '';
  const advice = `${worst.locationId}: ${sentencesOn(worst.shortfalls)}`;
  return lookedAt === 1 ? advice : `${findings.length} of ${lookedAt} locations, the worst is ${advice}`;
}

/** Advice on a lock below the minimum of `minimumW`. ASCII. */
export function adviceOnLock(
  { controllerUuid, connectorId }: Pick<ConnectorAddress, 'controllerUuid' | 'connectorId'>,
  limitKw: number,
  minimumW: number,
): string {
  return (
    `${controllerUuid}/${connectorId}: the lock of ${limitKw} kW is less than the 6 A minimum of the connector, ` +
    `${minimumW / 1000} kW: its car may draw that much`
  );
}

function sentencesOn(shortfalls: readonly Shortfall[]): string {
  const sentences = SHORTAGES.flatMap((shortage) => {
    const alike = shortfalls.filter((shortfall) => shortfall.shortage === shortage);
    const [first] = alike;
    if (first === undefined) return [];
    const [needs, consequence] = NEEDS[shortage];
    const more = alike.length > 1 ? ` (the first of ${alike.length} windows)` : '';
    const { neededW, limitW } = first;
    return `${spanOf(first)}${more} ${needs} ${neededW / 1000} kW, the limit is ${limitW / 1000} kW: ${consequence}`;
  });
  return sentences.join('; ');
}

function spanOf({ startsAtMs, endsAtMs }: TimeWindow): string {
  const until = Number.isFinite(endsAtMs) ? `until ${toInstant(endsAtMs)}` : 'on';
  return `from ${toInstant(startsAtMs)} ${until}`;
}
