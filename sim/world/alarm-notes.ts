// Adds the begin and the end of each alarm to the trace, from the changes that the service stores.
import type { AlarmRecord } from '../../src/ports/records.js';
import type { Change } from '../../src/ports/store.js';
import type { Tracer } from './tracer.js';

export class AlarmNotes {
  readonly #tracer: Pick<Tracer, 'add'>;
  readonly #open = new Map<string, AlarmRecord>();

  constructor(tracer: Pick<Tracer, 'add'>) {
    this.#tracer = tracer;
  }

  written(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.kind === 'alarm.begin') {
        this.#open.set(change.alarm.alarmId, change.alarm);
        this.#note(change.alarm, true);
      } else if (change.kind === 'alarm.end') {
        const alarm = this.#open.get(change.alarmId);
        this.#open.delete(change.alarmId);
        if (alarm !== undefined) this.#note(alarm, false);
      }
    }
  }

  #note({ kind: alarm, locationId, controllerUuid, connectorId }: AlarmRecord, isOn: boolean): void {
    const target = controllerUuid === null ? locationId : `${controllerUuid}/${connectorId}`;
    this.#tracer.add({ kind: 'alarm', alarm, target, isOn });
  }
}
