// What a report page is given: tracks as columns of differences, which compress to a fraction of the events they come from.
import type { LimitReason } from '../../machines/power/grant.js';
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import type { Summary } from './summary.js';

/** A value over time: it holds from its instant to the next. Each number but the first is the difference to the one before. */
export interface Track {
  readonly atMs: readonly number[];
  readonly values: readonly number[];
}

/** All that a connector is besides its power and limit; told by its place in a list. */
export interface ConnectorMode {
  readonly status: ChargingStatus;
  readonly reason: LimitReason;
  readonly isLeased: boolean;
  readonly isOnline: boolean;
}

export interface ConnectorTrack {
  readonly controllerUuid: string;
  readonly connectorId: string;
  /** Columns of differences, like a Track's: ms, W, tenths of A, places in `modes`. */
  readonly atMs: readonly number[];
  readonly powerW: readonly number[];
  readonly limitTenthsA: readonly number[];
  readonly modes: readonly number[];
}

export interface LocationTrack {
  readonly locationId: string;
  readonly powerW: Track;
  readonly limitW: Track;
  readonly connectors: readonly ConnectorTrack[];
}

/** A line of the grid: the highest and the lowest of its phases, phase to neutral, in tenths of a volt. */
export interface LineTrack {
  readonly name: string;
  /** Whom it feeds; undefined in traces that do not say it. */
  readonly locationIds: readonly string[] | undefined;
  readonly highestTenthsV: Track;
  readonly lowestTenthsV: Track;
}

/** A profile while it held its slot: from when it began, or was submitted, to when it ended, or was replaced. */
export interface ProfileBar extends TimeWindow {
  readonly target: string;
  readonly priority: number;
  readonly limitW: number;
}

/** Something that lasted, or happened at one instant. */
export interface Mark extends TimeWindow {
  readonly kind: 'fault' | 'alarm' | 'action' | 'violation';
  readonly what: string;
  readonly target: string;
  readonly detail: string;
}

/** Of another run, what stands beside the figures and the power of this one. */
export interface ComparedRun {
  readonly title: string;
  /** The first instant at which it went another way; undefined where all is the same. */
  readonly differsAtMs: EpochMs | undefined;
  readonly summary: Summary;
  readonly locations: readonly Pick<LocationTrack, 'locationId' | 'powerW' | 'limitW'>[];
}

export interface ReportData {
  /** The name of the scenario. */
  readonly title: string;
  /** What was expected of the run and was not so, in words. */
  readonly unmet: readonly string[];
  readonly seed: number;
  readonly commit: string;
  readonly hash: string;
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  /** Of the site's clock from UTC. */
  readonly utcOffsetMs: number;
  /** Power and limit of a connector are told no more often than this; everything else is told to the millisecond. */
  readonly stepMs: number;
  readonly summary: Summary;
  readonly modes: readonly ConnectorMode[];
  readonly locations: readonly LocationTrack[];
  /** Of the grid, where the scenario has one. */
  readonly lines: readonly LineTrack[];
  readonly profiles: readonly ProfileBar[];
  readonly marks: readonly Mark[];
  /** Marks of which there were too many to show. */
  readonly marksLeftOut: number;
  /** The run that this one is compared with, where there is one. */
  readonly compared?: ComparedRun;
}

/** The id of the element that holds the data, as base64 of gzip of JSON. */
export const DATA_ELEMENT_ID = 'report-data';
