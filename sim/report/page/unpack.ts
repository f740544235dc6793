// Converts the columns of differences in a report to values that the page can search and draw.
import type { ConnectorSummary } from '../connector-account.js';
import type { ConnectorMode, LocationTrack, Mark, ProfileBar, ReportData, Track } from '../report-data.js';
import type { LocationSummary } from '../summary.js';

export interface ConnectorHistory {
  readonly name: string;
  readonly controllerUuid: string;
  readonly connectorId: string;
  /** Ascending; each other column has one value for each instant. */
  readonly atMs: Float64Array;
  readonly powerW: Float64Array;
  readonly limitTenthsA: Float64Array;
  readonly modes: readonly ConnectorMode[];
  /** Never 0, because it is a divisor. */
  readonly peakW: number;
  readonly summary: ConnectorSummary | undefined;
}

export interface History {
  readonly atMs: Float64Array;
  readonly values: Float64Array;
}

export interface Site {
  readonly locationId: string;
  readonly powerW: History;
  readonly limitW: History;
  readonly connectors: readonly ConnectorHistory[];
  /** Profiles of the location, of its chargers and connectors, and of targets that span several locations. */
  readonly profiles: readonly ProfileBar[];
  readonly marks: readonly Mark[];
  readonly summary: LocationSummary | undefined;
  /** Lines that feed the location; all lines if the trace lacks this assignment. */
  readonly lines: readonly GridLine[];
  /** The same location in the compared run. */
  readonly compared: ComparedSite | undefined;
}

export interface ComparedSite {
  readonly powerW: History;
  readonly limitW: History;
}

/** The highest and the lowest of its phases. */
export interface GridLine {
  readonly name: string;
  readonly highestTenthsV: History;
  readonly lowestTenthsV: History;
}

/** Data of the location with this index in the report; undefined if there is none. */
export function siteAt(data: ReportData, place: number): Site | undefined {
  const track = data.locations[place];
  if (track === undefined) return undefined;
  const summary = data.summary.locations.find(({ locationId }) => locationId === track.locationId);
  const connectors = track.connectors.map((connector): ConnectorHistory => {
    const { controllerUuid, connectorId } = connector;
    const powerW = summed(connector.powerW);
    return {
      controllerUuid,
      connectorId,
      name: `${controllerUuid}/${connectorId}`,
      powerW,
      atMs: summed(connector.atMs),
      limitTenthsA: summed(connector.limitTenthsA),
      modes: modesOf(connector.modes, data.modes),
      peakW: powerW.reduce((peak, value) => Math.max(peak, value), 1),
      summary: summary?.connectors.find(
        (held) => held.controllerUuid === controllerUuid && held.connectorId === connectorId,
      ),
    };
  });
  const concerns = concernOf(data, track.locationId);
  return {
    locationId: track.locationId,
    connectors,
    summary,
    ...historiesOf(track),
    lines: linesOf(data, track.locationId),
    compared: comparedSite(data, track.locationId),
    profiles: data.profiles.filter(({ target }) => concerns(target)),
    marks: data.marks.filter(({ target }) => concerns(target)),
  };
}

function historiesOf({ powerW, limitW }: Pick<LocationTrack, 'powerW' | 'limitW'>): ComparedSite {
  return { powerW: historyOf(powerW), limitW: historyOf(limitW) };
}

function linesOf({ lines }: ReportData, locationId: string): readonly GridLine[] {
  return lines
    .filter(({ locationIds }) => locationIds?.includes(locationId) ?? true)
    .map(({ name, highestTenthsV, lowestTenthsV }) => ({
      name,
      highestTenthsV: historyOf(highestTenthsV),
      lowestTenthsV: historyOf(lowestTenthsV),
    }));
}

function historyOf({ atMs, values }: Track): History {
  return { atMs: summed(atMs), values: summed(values) };
}

function comparedSite({ compared }: ReportData, locationId: string): ComparedSite | undefined {
  const track = compared?.locations.find((each) => each.locationId === locationId);
  return track && historiesOf(track);
}

/** Index of the last instant at or before `instant`; -1 if there is none. */
export function placeAt(atMs: Float64Array, instant: number): number {
  let low = 0;
  let high = atMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((atMs[middle] ?? 0) <= instant) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The value that applies at `instant`; undefined before the first value. */
export function valueAt({ atMs, values }: History, instant: number): number | undefined {
  return values[placeAt(atMs, instant)];
}

export interface ConnectorMoment {
  readonly powerW: number;
  readonly limitTenthsA: number;
  readonly mode: ConnectorMode;
}

export function momentAt(connector: ConnectorHistory, instant: number): ConnectorMoment | undefined {
  const place = placeAt(connector.atMs, instant);
  const mode = connector.modes[place];
  if (mode === undefined) return undefined;
  return { powerW: connector.powerW[place] ?? 0, limitTenthsA: connector.limitTenthsA[place] ?? 0, mode };
}

function summed(differences: readonly number[]): Float64Array {
  const values = new Float64Array(differences.length);
  let value = 0;
  for (const [i, difference] of differences.entries()) {
    value += difference;
    values[i] = value;
  }
  return values;
}

function modesOf(differences: readonly number[], all: readonly ConnectorMode[]): ConnectorMode[] {
  const modes: ConnectorMode[] = [];
  for (const place of summed(differences)) {
    const mode = all[place];
    if (mode === undefined) throw new RangeError(`The report has no mode ${place}`);
    modes.push(mode);
  }
  return modes;
}

/** A target without a location of its own, such as a cluster or the service, concerns every location. */
function concernOf(data: ReportData, locationId: string): (target: string) => boolean {
  const elsewhere = new Set<string>();
  for (const track of data.locations) {
    if (track.locationId === locationId) continue;
    elsewhere.add(track.locationId);
    for (const { controllerUuid, connectorId } of track.connectors) {
      elsewhere.add(controllerUuid).add(`${controllerUuid}/${connectorId}`);
    }
  }
  return (target) => !elsewhere.has(target);
}
