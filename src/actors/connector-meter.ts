// Where one connector's meter values enter: numbers go into the ledgers, the machine hears only of a changed mode.
import type { MeterSlot } from '../../machines/meter-ledger.js';
import type { Directory } from './directory.js';
import type { Enforcement } from './enforcement/enforcement.js';
import type { ConnectorEntity, LocationEntity } from './entities.js';

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
        const before = slot.link;
        const result = location.meters.record(slot, reading, nowMs);
        if (result === 'refused') return result;
        if (result === 'changed') {
          tellModes(directory, location, slot);
          if (slot.link !== before) enforcement.hearLink(location, slot, before);
        }
        enforcement.hear(connector, reading, nowMs);
        return result;
      },
    },
  };
  return connector;
}

/** Tells the connector's machine the modes its slot is in. */
export function tellModes(
  directory: Directory,
  location: LocationEntity,
  { key, link, throttle }: MeterSlot,
): void {
  directory.tellLocation(location, { type: 'connector.told', key, event: { type: 'link.changed', link } });
  directory.tellLocation(location, {
    type: 'connector.told',
    key,
    event: { type: 'throttle.changed', throttle },
  });
}
