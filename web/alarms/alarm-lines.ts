// Groups alarms into lines of a list. Chargers of a location that never connected share a line: separate lines would
// hide other alarms.
import { NEVER_CONNECTED } from '../../machines/power/link-reasons.js';
import type { AlarmView } from '../../src/features/alarms/contract.js';

export interface AlarmLine {
  /** The only alarm of the line, or the oldest one. */
  readonly alarm: AlarmView;
  /** All alarms of the line. */
  readonly alarms: readonly AlarmView[];
  /** Undefined unless the line is for chargers that never connected. */
  readonly chargers: readonly string[] | undefined;
}

/** In the order of the alarms, with shared lines last. */
export function alarmLines(alarms: readonly AlarmView[]): readonly AlarmLine[] {
  const single: AlarmLine[] = [];
  const byLocation = new Map<string, AlarmView[]>();
  for (const alarm of alarms) {
    if (alarm.kind !== 'OFFLINE' || alarm.endedAt !== null || alarm.reason !== NEVER_CONNECTED)
      single.push({ alarm, alarms: [alarm], chargers: undefined });
    else byLocation.set(alarm.locationId, [...(byLocation.get(alarm.locationId) ?? []), alarm]);
  }
  return [...single, ...[...byLocation.values()].flatMap(sharedLine)];
}

function sharedLine(alarms: readonly AlarmView[]): AlarmLine[] {
  const [oldest] = alarms.toSorted((a, b) => Date.parse(a.beganAt) - Date.parse(b.beganAt));
  if (oldest === undefined) return [];
  const names = new Set(alarms.flatMap(({ controllerUuid }) => controllerUuid ?? []));
  return [{ alarm: oldest, alarms, chargers: [...names].sort(NATURAL.compare) }];
}

const NATURAL = new Intl.Collator(undefined, { numeric: true });

/** The reason of the alarm, or the chargers that share the line. */
export function reasonOf({ alarm, chargers }: AlarmLine): string {
  if (chargers === undefined) return alarm.reason;
  const [count, verb] =
    chargers.length === 1 ? ['1 charger', 'has'] : [`${chargers.length} chargers`, 'have'];
  return `${count} ${verb} not connected since the service started: ${chargers.join(', ')}`;
}
