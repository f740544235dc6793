// Where one connector's meter values enter: numbers go into the ledger, the machine hears only of a changed mode.
import type { MeterSlot } from '../../machines/meter-ledger.js';
import type { ConnectorMeter } from '../ports/telemetry.js';
import type { Directory } from './directory.js';
import type { LocationEntity } from './entities.js';

export function createConnectorMeter(
  directory: Directory,
  location: LocationEntity,
  slot: MeterSlot,
): ConnectorMeter {
  return {
    get isCurrent() {
      return slot.isCurrent;
    },
    record(reading, nowMs) {
      const result = location.meters.record(slot, reading, nowMs);
      if (result === 'changed') tellModes(directory, location, slot);
      return result;
    },
  };
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
