// Plays a scenario's faults on a world: each episode begins and ends at its instant, and episodes may overlap.
import type { FaultEpisode } from '../scenario/fault-plan.js';
import type { FaultKind } from '../trace/trace-event.js';
import type { ChargerRun } from '../world/charger-run.js';
import { CALM, type Weather } from '../world/wire.js';
import type { World } from '../world/world.js';

type WeatherFault = 'loss' | 'duplication' | 'delay' | 'hold';
type Episode = FaultEpisode & { readonly kind: FaultKind };

/** An episode begins or ends; ms since the start of the world. */
interface Moment {
  readonly atMs: number;
  happen(): void;
}

const WEATHER_FAULTS: readonly FaultKind[] = [
  'loss',
  'duplication',
  'delay',
  'hold',
] satisfies WeatherFault[];

/** Puts `plan` on the agenda of `world`. Clocks that drift are traits of chargers and no business of this. */
export function playFaults(world: World, plan: readonly FaultEpisode[], startsAtMs: number): void {
  const runs = new Map(world.runs.map((run) => [run.charger.address.controllerUuid as string, run]));
  const lasting = new Map<ChargerRun, Set<Episode>>();
  let busy = 0;

  function startOf(episode: Episode): () => void {
    const downMs = episode.endsAtMs - episode.startsAtMs;
    if (episode.kind === 'serviceCrash') return () => world.crash(downMs);
    if (episode.kind === 'brokerRestart') return () => world.restartBroker(downMs);
    if (episode.kind === 'databaseBusy') return () => world.setDatabaseBusy(++busy > 0);
    const run = runs.get(episode.charger?.controllerUuid ?? '');
    if (run === undefined) return () => {};
    if (episode.kind === 'reboot') return () => world.reboot(run);
    return () => befall(run, episode, true);
  }

  function endOf(episode: Episode): () => void {
    if (episode.kind === 'databaseBusy') return () => world.setDatabaseBusy(--busy > 0);
    const run = runs.get(episode.charger?.controllerUuid ?? '');
    if (run === undefined || episode.kind === 'reboot') return () => {};
    return () => befall(run, episode, false);
  }

  function befall(run: ChargerRun, episode: Episode, isOn: boolean): void {
    const episodes = lasting.get(run) ?? new Set();
    lasting.set(run, episodes);
    if (isOn) episodes.add(episode);
    else episodes.delete(episode);
    run.wire.weather = weatherOf(episodes);
    run.wire.isCutUp = isCut(episodes, 'up');
    run.wire.isCutDown = isCut(episodes, 'down');
  }

  const moments: Moment[] = [];
  for (const episode of plan) {
    const { kind, charger } = episode;
    if (kind === 'clockDrift') continue;
    const known = { ...episode, kind };
    const target = charger?.controllerUuid ?? '';
    const [begin, end] = [startOf(known), endOf(known)];
    moments.push(
      {
        atMs: episode.startsAtMs - startsAtMs,
        happen() {
          world.noteFault(kind, target, true);
          begin();
        },
      },
      {
        atMs: episode.endsAtMs - startsAtMs,
        happen() {
          end();
          world.noteFault(kind, target, false);
        },
      },
    );
  }
  moments.sort((a, b) => a.atMs - b.atMs);
  // Only the next one waits: what a world has to do must not grow with the length of its scenario.
  planFrom(0);

  function planFrom(place: number): void {
    const moment = moments[place];
    if (moment === undefined) return;
    world.agenda.at(moment.atMs, () => {
      moment.happen();
      planFrom(place + 1);
    });
  }
}

/** The worst of each kind counts. */
function weatherOf(episodes: ReadonlySet<Episode>): Weather {
  let isCalm = true;
  let { lossShare, duplicateShare, delayMs, holdShare, holdMs } = CALM;
  for (const { kind, share, upToMs } of episodes) {
    if (!WEATHER_FAULTS.includes(kind)) continue;
    isCalm = false;
    if (kind === 'loss') lossShare = Math.max(lossShare, share);
    else if (kind === 'duplication') duplicateShare = Math.max(duplicateShare, share);
    else if (kind === 'delay') delayMs = Math.max(delayMs, upToMs);
    else [holdShare, holdMs] = [Math.max(holdShare, share), Math.max(holdMs, upToMs)];
  }
  return isCalm ? CALM : { lossShare, duplicateShare, delayMs, holdShare, holdMs };
}

function isCut(episodes: ReadonlySet<Episode>, way: 'up' | 'down'): boolean {
  return [...episodes].some(
    ({ kind, direction }) => kind === 'partition' && (direction === 'both' || direction === way),
  );
}
