// The average import that a tariff bills, as the live view and the event stream show it.
import { kwText } from '../../../machines/values/figures.js';
import type { LocationEntity } from '../../actors/directory.js';
import { toInstant } from '../../wire/instants.js';
import type { PeakShavingView } from './contract.js';

const WS_PER_KWH = 3_600_000;

/** Undefined if the average is not limited. */
export function viewOfPeakShaving({ actor }: LocationEntity): PeakShavingView | undefined {
  const { billedWindow, building } = actor.getSnapshot().context;
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
    nextLeavesKw:
      billedWindow.leavesAtFirstW(building === undefined ? 0 : building.buildingW + building.reserveW) / 1000,
  };
  return { ...view, explanation: explanationOfAverage(view, building !== undefined) };
}

/** The part that changes. */
export function viewOfBilledWindow(location: LocationEntity) {
  const view = viewOfPeakShaving(location);
  if (view === undefined) return undefined;
  const { windowStartsAt, windowEndsAt, usedKwh, leavesKw } = view;
  return { windowStartsAt, windowEndsAt, usedKwh, leavesKw };
}

function explanationOfAverage(
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
