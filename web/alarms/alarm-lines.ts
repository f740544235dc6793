// Alarms as lines of a list. Chargers of a location that never connected share one: each would hide the others behind it.
import { NEVER_CONNECTED } from '../../machines/power/link-reasons.js';
import type { AlarmView } from '../../src/wire/operator-history.js';

export interface AlarmLine {
  /** The only one of its line, or the oldest. */
  readonly alarm: AlarmView;
  /** Of a line for chargers that never connected; undefined of any other. */
  readonly chargers: readonly string[] | undefined;
}

/** In the order of the alarms, a shared line last. */
export function alarmLines(alarms: readonly AlarmView[]): readonly AlarmLine[] {
  const single: AlarmLine[] = [];
  const byLocation = new Map<string, AlarmView[]>();
  for (const alarm of alarms) {
    if (alarm.kind !== 'OFFLINE' || alarm.endedAt !== null || alarm.reason !== NEVER_CONNECTED)
      single.push({ alarm, chargers: undefined });
    else byLocation.set(alarm.locationId, [...(byLocation.get(alarm.locationId) ?? []), alarm]);
  }
  return [...single, ...[...byLocation.values()].flatMap(sharedLine)];
}

function sharedLine(alarms: readonly AlarmView[]): AlarmLine[] {
  const [oldest] = alarms.toSorted((a, b) => Date.parse(a.beganAt) - Date.parse(b.beganAt));
  if (oldest === undefined) return [];
  const names = new Set(alarms.flatMap(({ controllerUuid }) => controllerUuid ?? []));
  return [{ alarm: oldest, chargers: [...names].sort(NATURAL.compare) }];
}

const NATURAL = new Intl.Collator(undefined, { numeric: true });

/** Why a line is there: the reason of its alarm, or the chargers that share it. */
export function reasonOf({ alarm, chargers }: AlarmLine): string {
  if (chargers === undefined) return alarm.reason;
  const [count, verb] =
    chargers.length === 1 ? ['1 charger', 'has'] : [`${chargers.length} chargers`, 'have'];
  return `${count} ${verb} not connected since the service started: ${chargers.join(', ')}`;
}
