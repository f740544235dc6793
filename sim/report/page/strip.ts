// Draws the time of one connector as a strip: the reason of its limit as colour, power as height, failed links as a
// line.
import { clearedContext, colour } from './element.js';
import { type ConnectorHistory, placeAt } from './unpack.js';
import type { View } from './viewpoint.js';
import { GROUP_OF_REASON, type ReasonGroup } from './words.js';

/** Content of one column of pixels: the mode that lasted longest, and the mean power. */
interface Slice {
  readonly group: ReasonGroup;
  readonly isOnline: boolean;
  readonly isLeased: boolean;
  readonly powerW: number;
}

const LINK_PX = 2;

export function drawStrip(canvas: HTMLCanvasElement, connector: ConnectorHistory, view: View): void {
  const cleared = clearedContext(canvas);
  if (cleared === undefined) return;
  const { context, width, height } = cleared;
  const msPerPx = (view.toMs - view.fromMs) / width;
  const [offline, unleased] = [colour('violation'), colour('muted')];
  for (let x = 0; x < width; x++) {
    const fromMs = view.fromMs + x * msPerPx;
    const slice = sliceOf(connector, fromMs, fromMs + msPerPx);
    if (slice === undefined) continue;
    context.fillStyle = colourOf(slice.group);
    const barPx = Math.round((height * slice.powerW) / connector.peakW);
    if (slice.group !== 'idle') {
      context.globalAlpha = 0.25;
      context.fillRect(x, 0, 1, height - barPx);
    }
    context.globalAlpha = 1;
    context.fillRect(x, height - barPx, 1, barPx);
    if (slice.isOnline && (slice.isLeased || slice.group === 'idle')) continue;
    context.fillStyle = slice.isOnline ? unleased : offline;
    context.fillRect(x, 0, 1, LINK_PX);
  }
}

function sliceOf(connector: ConnectorHistory, fromMs: number, toMs: number): Slice | undefined {
  const { atMs, powerW, modes } = connector;
  let longestMs = 0;
  let longest = -1;
  let energy = 0;
  for (let i = Math.max(placeAt(atMs, fromMs), 0); i < atMs.length; i++) {
    const startsAtMs = Math.max(atMs[i] ?? 0, fromMs);
    if (startsAtMs >= toMs) break;
    const ms = Math.min(atMs[i + 1] ?? toMs, toMs) - startsAtMs;
    energy += ms * (powerW[i] ?? 0);
    if (ms <= longestMs) continue;
    longestMs = ms;
    longest = i;
  }
  const mode = modes[longest];
  if (mode === undefined) return undefined;
  return { group: GROUP_OF_REASON[mode.reason], ...mode, powerW: energy / (toMs - fromMs) };
}

const colours = new Map<ReasonGroup, string>();

function colourOf(group: ReasonGroup): string {
  const held = colours.get(group) ?? colour(group);
  colours.set(group, held);
  return held;
}

/** Colours differ between light and dark, so they are read again after a change. */
export function forgetColours(): void {
  colours.clear();
}
