// Converts the average import that a tariff bills into the form of the live view and of the event stream.
import { kwText } from '../../machines/values/figures.js';
import type { LocationEntity } from '../actors/directory.js';
import { toInstant } from '../wire/instants.js';
import type { PeakShavingView } from '../wire/operator-locations.js';

const WS_PER_KWH = 3_600_000;

/** Undefined if the average is not limited. */
export function viewOfPeakShaving({ actor }: LocationEntity): PeakShavingView | undefined {
  const { billedWindow, peakShaving, building } = actor.getSnapshot().context;
  if (billedWindow === undefined) return undefined;
  const { rule, startsAtMs, endsAtMs, usedWs } = billedWindow;
  const windowS = rule.windowMs / 1000;
  const view = {
    limitKw: rule.limitKw,
    windowS,
    windowStartsAt: toInstant(startsAtMs),
    windowEndsAt: toInstant(endsAtMs),
    usedKwh: round(usedWs / WS_PER_KWH),
    allowedKwh: round((1000 * rule.limitKw * windowS) / WS_PER_KWH),
    leavesKw: billedWindow.leavesW / 1000,
    nextLeavesKw: peakShaving?.thenKw ?? 0,
  };
  return { ...view, explanation: explanationOf(view, building !== undefined) };
}

/** The part that changes. */
export function viewOfBilledWindow(location: LocationEntity) {
  const view = viewOfPeakShaving(location);
  if (view === undefined) return undefined;
  const { windowStartsAt, windowEndsAt, usedKwh, leavesKw } = view;
  return { windowStartsAt, windowEndsAt, usedKwh, leavesKw };
}

function explanationOf(
  { limitKw, usedKwh, allowedKwh, windowEndsAt, leavesKw }: Omit<PeakShavingView, 'explanation'>,
  hasBuilding: boolean,
): string {
  const beside = hasBuilding ? 'beside the building and its reserve ' : '';
  const used = `Of the ${allowedKwh} kWh that an average of ${kwText(limitKw)} allows until ${windowEndsAt}, ${usedKwh} kWh are used`;
  if (leavesKw === 0) return `${used}: ${beside}nothing is left for chargers in this window.`;
  return `${used}: ${beside}chargers may use ${kwText(leavesKw)} for the rest of the window.`;
}

function round(kwh: number): number {
  return Math.round(kwh * 1000) / 1000;
}
