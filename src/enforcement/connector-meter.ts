// Where one connector's meter values enter: numbers go into the ledgers, the machine hears only of a changed mode.
import type { ConnectorEvent } from '../../machines/power/connector.machine.js';
import { linkOf } from '../../machines/power/connector-control.js';
import type { Directory } from '../actors/directory.js';
import type { ConnectorEntity } from '../actors/entities.js';
import type { Enforcement } from './enforcement.js';

/** A connector with the way in for its meter values. */
export function createConnectorEntity(
  parts: Omit<ConnectorEntity, 'meter'>,
  directory: Directory,
  enforcement: Enforcement,
): ConnectorEntity {
  const { location, slot } = parts;
  const connector: ConnectorEntity = {
    ...parts,
    meter: {
      get isCurrent() {
        return slot.isCurrent;
      },
      record(reading, nowMs) {
        const result = location.meters.record(slot, reading, nowMs);
        if (result === 'refused') return result;
        if (result === 'resumed') tellLink(directory, enforcement, connector, { type: 'meter.heard' });
        enforcement.hear(connector, reading, nowMs);
        return result;
      },
    },
  };
  return connector;
}

/** Tells the connector's machine what may move its link; where it did, enforcement is told. */
export function tellLink(
  directory: Directory,
  enforcement: Enforcement,
  connector: ConnectorEntity,
  event: ConnectorEvent,
): void {
  const { location, control } = connector;
  const before = linkOf(control);
  directory.tellLocation(location, { type: 'connector.told', key: control.key, event });
  if (linkOf(control) !== before) enforcement.hearLink(connector, before);
}
