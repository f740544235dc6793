// Applies faults to a world: each episode begins and ends at its instant, and episodes may overlap.
import type { EpochMs } from '../../machines/values/time.js';
import type { FaultKind } from '../log/trace-event.js';
import type { FaultEpisode } from '../scenario/fault-plan.js';
import type { ChargerRun } from '../world/charger-run.js';
import { CALM, type Weather } from '../world/wire.js';
import type { World } from '../world/world.js';

type WeatherFault = 'loss' | 'duplication' | 'delay' | 'hold';
type Episode = FaultEpisode & { readonly kind: FaultKind };

/** The start or the end of an episode. */
interface Moment {
  readonly atMs: EpochMs;
  happen(): void;
}

const WEATHER_FAULTS: readonly FaultKind[] = [
  'loss',
  'duplication',
  'delay',
  'hold',
] satisfies WeatherFault[];

export class FaultPlayer {
  readonly #world: World;
  readonly #runs: ReadonlyMap<string, ChargerRun>;
  /** Current episodes of each charger. */
  readonly #lasting = new Map<ChargerRun, Set<Episode>>();
  #busyDatabases = 0;

  constructor(world: World) {
    this.#world = world;
    this.#runs = new Map(world.runs.map((run) => [run.charger.address.controllerUuid as string, run]));
  }

  /** Puts `plan` on the agenda of the world. Drifting clocks are left out: they are traits of the chargers. */
  play(plan: readonly FaultEpisode[]): void {
    const moments = plan.flatMap((episode) => {
      const { kind } = episode;
      return kind === 'clockDrift' ? [] : this.#momentsOf({ ...episode, kind });
    });
    moments.sort((a, b) => a.atMs - b.atMs);
    this.#playFrom(moments, 0);
  }

  /** Puts only the next moment on the agenda: the work of a world must not grow with the length of its scenario. */
  #playFrom(moments: readonly Moment[], place: number): void {
    const moment = moments[place];
    if (moment === undefined) return;
    const startedAtMs = this.#world.nowMs() - this.#world.monotonicMs();
    this.#world.agenda.at(moment.atMs - startedAtMs, () => {
      moment.happen();
      this.#playFrom(moments, place + 1);
    });
  }

  #momentsOf(episode: Episode): readonly Moment[] {
    const { kind, charger, startsAtMs, endsAtMs } = episode;
    const target = charger?.controllerUuid ?? '';
    const run = this.#runs.get(target);
    return [
      {
        atMs: startsAtMs,
        happen: () => {
          this.#world.noteFault(kind, target, true);
          this.#begin(episode, run);
        },
      },
      {
        atMs: endsAtMs,
        happen: () => {
          this.#end(episode, run);
          this.#world.noteFault(kind, target, false);
        },
      },
    ];
  }

  #begin(episode: Episode, run: ChargerRun | undefined): void {
    const downMs = episode.endsAtMs - episode.startsAtMs;
    if (episode.kind === 'serviceCrash') this.#world.crash(downMs);
    else if (episode.kind === 'brokerRestart') this.#world.restartBroker(downMs);
    else if (episode.kind === 'gatewayCrash') this.#world.crashGateway(downMs);
    else if (episode.kind === 'databaseBusy') this.#world.setDatabaseBusy(++this.#busyDatabases > 0);
    else if (run !== undefined && episode.kind === 'reboot') this.#world.reboot(run);
    else if (run !== undefined) this.#befall(run, episode, true);
  }

  #end(episode: Episode, run: ChargerRun | undefined): void {
    if (episode.kind === 'databaseBusy') this.#world.setDatabaseBusy(--this.#busyDatabases > 0);
    else if (run !== undefined && episode.kind !== 'reboot') this.#befall(run, episode, false);
  }

  #befall(run: ChargerRun, episode: Episode, isOn: boolean): void {
    const episodes = this.#lasting.get(run) ?? new Set();
    this.#lasting.set(run, episodes);
    if (isOn) episodes.add(episode);
    else episodes.delete(episode);
    for (const [i, wire] of run.wires.entries()) {
      // A charger without a gateway has only one link.
      const own = i === 0 ? 'charger' : 'broker';
      const here = run.wires.length === 1 ? [...episodes] : [...episodes].filter(({ link }) => link === own);
      wire.weather = weatherOf(here);
      wire.isCutUp = isCut(here, 'up');
      wire.isCutDown = isCut(here, 'down');
    }
  }
}

/** The worst fault of each kind counts. */
function weatherOf(episodes: readonly Episode[]): Weather {
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

function isCut(episodes: readonly Episode[], way: 'up' | 'down'): boolean {
  return episodes.some(
    ({ kind, direction }) => kind === 'partition' && (direction === 'both' || direction === way),
  );
}
