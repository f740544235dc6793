// Data of a report page. Tracks are columns of differences, which compress to a fraction of the size of the events.
import type { LimitReason } from '../../machines/ledger/grant.js';
import type { ChargingStatus } from '../../machines/values/charging-status.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import type { EventOf } from '../log/trace-state.js';
import type { Summary } from './summary.js';

/**
 * A value over time, which applies from its instant to the next. Each number but the first is the difference to the
 * previous one.
 */
export interface Track {
  readonly atMs: readonly number[];
  readonly values: readonly number[];
}

/** State of a connector apart from its power and limit; tracks refer to it by its index in a list. */
export interface ConnectorMode {
  readonly status: ChargingStatus;
  readonly reason: LimitReason;
  readonly isLeased: boolean;
  readonly isOnline: boolean;
}

export interface ConnectorTrack {
  readonly controllerUuid: string;
  readonly connectorId: string;
  /** Columns of differences, as in a Track: ms, W, tenths of A, indexes of `modes`. */
  readonly atMs: readonly number[];
  readonly powerW: readonly number[];
  readonly limitTenthsA: readonly number[];
  readonly modes: readonly number[];
}

/** The rule behind a limit in force, and the state of the grid operator; tracks refer to it by its index in a list. */
export type LimitRule = Pick<EventOf<'limits'>, 'cause' | 'rule' | 'operator'>;

/** Limit of a source other than the location's own profiles; the highest safe integer while it set none. */
export interface SourceTrack {
  readonly name: string;
  readonly limitW: Track;
}

/** Limits as the service applied them. */
export interface LimitTracks {
  readonly limitW: Track;
  /** Indexes of `rules`. */
  readonly rules: Track;
  readonly effectiveW: Track;
  /** Sources that set a limit at some time. */
  readonly sources: readonly SourceTrack[];
  readonly buildingW: Track;
  readonly reserveW: Track;
}

export interface LocationTrack {
  readonly locationId: string;
  readonly powerW: Track;
  /**
   * The limit of the independent oracle, which the power must not exceed: without building, peak shaving and grid
   * operator, and after an unannounced decrease the earlier limit.
   */
  readonly allowedW: Track;
  /** Undefined if the trace lacks them. */
  readonly limits: LimitTracks | undefined;
  readonly connectors: readonly ConnectorTrack[];
}

/** A line of the grid: the highest and the lowest of its phases, phase to neutral, in tenths of a volt. */
export interface LineTrack {
  readonly name: string;
  /** Locations on the line; undefined if the trace lacks them. */
  readonly locationIds: readonly string[] | undefined;
  readonly highestTenthsV: Track;
  readonly lowestTenthsV: Track;
}

/**
 * A profile with the time during which it occupied its slot: from its start or submission to its end or replacement.
 */
export interface ProfileBar extends TimeWindow {
  readonly target: string;
  readonly priority: number;
  readonly limitW: number;
}

/** A span or an instant on the time axis. */
export interface Mark extends TimeWindow {
  readonly kind: 'fault' | 'alarm' | 'action' | 'violation';
  readonly what: string;
  readonly target: string;
  readonly detail: string;
}

/** Data of another run, which the page shows next to the figures and the power of this one. */
export interface ComparedRun {
  readonly title: string;
  /** First instant at which the runs differ; undefined if they are equal. */
  readonly differsAtMs: EpochMs | undefined;
  readonly summary: Summary;
  /** `limitW` is the limit in force. */
  readonly locations: readonly (Pick<LocationTrack, 'locationId' | 'powerW'> & { readonly limitW: Track })[];
}

export interface ReportData {
  /** Name of the scenario. */
  readonly title: string;
  /** Failed expectations, as text. */
  readonly unmet: readonly string[];
  readonly seed: number;
  readonly commit: string;
  readonly hash: string;
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  /** UTC offset of the site's clock. */
  readonly utcOffsetMs: number;
  /**
   * Shortest interval between two recorded changes of a connector's power and limit. All other data are exact to the
   * ms.
   */
  readonly stepMs: number;
  readonly summary: Summary;
  readonly modes: readonly ConnectorMode[];
  readonly rules: readonly LimitRule[];
  readonly locations: readonly LocationTrack[];
  /** Lines of the grid, if the scenario has one. */
  readonly lines: readonly LineTrack[];
  readonly profiles: readonly ProfileBar[];
  readonly marks: readonly Mark[];
  /** Number of marks beyond the limit of the page. */
  readonly marksLeftOut: number;
  /** The run that this one is compared with. */
  readonly compared?: ComparedRun;
}

/** Id of the element that holds the data, as base64 of gzip of JSON. */
export const DATA_ELEMENT_ID = 'report-data';
