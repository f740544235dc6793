// Shows the stack of profiles as bars: a lane for each priority of each target, and the deciding profile at an instant.

import { compareNaturally } from '../../../machines/values/natural-order.js';
import type { ProfileBar } from '../report-data.js';
import { element, say } from './element.js';
import { createLane, type Lane } from './lane.js';
import type { Site } from './unpack.js';
import type { View, Viewpoint } from './viewpoint.js';
import { iso, kw } from './words.js';

/** More lock lanes than this are collapsed at first. */
const LOCKS_SHOWN = 6;

interface ProfileLane extends Lane {
  readonly target: string;
  readonly bars: readonly { readonly profile: ProfileBar; readonly bar: HTMLElement }[];
}

export function createProfileLanes(viewpoint: Viewpoint): HTMLElement {
  const stacks = element('div');
  const locks = element('details');
  const section = element(
    'section',
    { 'aria-label': 'Profiles' },
    element('h2', {}, 'Profiles'),
    stacks,
    locks,
  );
  let lanes: readonly ProfileLane[] = [];

  function rebuild(site: Site): void {
    const connectors = new Set(site.connectors.map(({ name }) => name));
    lanes = lanesOf(site);
    const ofLocks = lanes.filter(({ target }) => connectors.has(target));
    const others = lanes.filter(({ target }) => !connectors.has(target));
    stacks.replaceChildren(...others.map(({ row }) => row));
    locks.replaceChildren(
      element('summary', {}, `Locks: ${ofLocks.length}`),
      ...ofLocks.map(({ row }) => row),
    );
    locks.open = ofLocks.length <= LOCKS_SHOWN;
    locks.hidden = ofLocks.length === 0;
    section.hidden = lanes.length === 0;
  }

  viewpoint.onChange((view, before) => {
    if (before?.site !== view.site) rebuild(view.site);
    const isMoved = before?.site !== view.site || before.fromMs !== view.fromMs || before.toMs !== view.toMs;
    if (isMoved)
      for (const lane of lanes) for (const { profile, bar } of lane.bars) place(bar, profile, view);
    tellInstant(lanes, view);
  });
  return section;
}

/** The lanes of the location come first, then those of other targets, each by descending priority. */
function lanesOf(site: Site): ProfileLane[] {
  const slots = new Map<string, ProfileBar[]>();
  for (const profile of site.profiles) {
    const slot = `${profile.target} ${profile.priority}`;
    slots.set(slot, [...(slots.get(slot) ?? []), profile]);
  }
  const isOwn = (target: string) => Number(target === site.locationId);
  return [...slots.values()]
    .flatMap((profiles) => {
      const [first] = profiles;
      return first === undefined ? [] : [{ profiles, target: first.target, priority: first.priority }];
    })
    .sort(
      (a, b) =>
        isOwn(b.target) - isOwn(a.target) || compareNaturally(a.target, b.target) || b.priority - a.priority,
    )
    .map(({ profiles, target, priority }) => {
      const lane = createLane(`${target} · priority ${priority}`);
      const bars = profiles.map((profile) => {
        const { limitW, startsAtMs, endsAtMs } = profile;
        const title = `${kw(limitW)}, ${iso(startsAtMs)} to ${iso(endsAtMs)}`;
        return { profile, bar: element('div', { class: 'bar', title }, kw(limitW)) };
      });
      lane.time.append(...bars.map(({ bar }) => bar));
      return { ...lane, target, bars };
    });
}

function place(bar: HTMLElement, { startsAtMs, endsAtMs }: ProfileBar, { fromMs, toMs }: View): void {
  const start = Math.max(startsAtMs, fromMs);
  const end = Math.min(endsAtMs, toMs);
  bar.hidden = end <= start;
  bar.style.left = `${(100 * (start - fromMs)) / (toMs - fromMs)}%`;
  bar.style.width = `${(100 * (end - start)) / (toMs - fromMs)}%`;
}

/** Lanes of a target are in descending order of priority, so its first active profile decides. */
function tellInstant(lanes: readonly ProfileLane[], { instant }: View): void {
  const decided = new Set<string>();
  for (const { target, bars, right, row } of lanes) {
    let active: ProfileBar | undefined;
    for (const { profile, bar } of bars) {
      const isActive = profile.startsAtMs <= instant && instant < profile.endsAtMs;
      if (isActive) active = profile;
      bar.classList.toggle('active', isActive);
    }
    const isDeciding = active !== undefined && !decided.has(target);
    if (isDeciding) decided.add(target);
    row.classList.toggle('deciding', isDeciding);
    say(right, active === undefined ? '' : kw(active.limitW));
  }
}
