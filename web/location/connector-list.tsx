// The connectors of a location: limit, power and reason of each; a dialog shows one in detail.
import { useMemo, useState } from 'preact/hooks';
import type { LocationLive } from '../../src/features/live-contract.js';
import { Field } from '../ui/field.js';
import { Table } from '../ui/table.js';
import { connectorColumns, nameOf, type ReadConnector } from './connector-columns.js';
import { ConnectorDialog } from './connector-dialog.js';
import type { ServerClock } from './server-clock.js';
import { keyOfConnector } from './use-location.js';

/** A shorter list needs no search field. */
const FILTERED_FROM = 12;

export function ConnectorList({
  live,
  clock,
  onWritten,
}: {
  readonly live: LocationLive;
  readonly clock: ServerClock;
  readonly onWritten: () => void;
}) {
  const [wanted, setWanted] = useState('');
  const [askedKey, setAskedKey] = useState<string>();
  const columns = useMemo(
    () => connectorColumns(clock, (connector) => setAskedKey(keyOfConnector(connector))),
    [clock],
  );
  const connectors = useMemo(() => {
    const readAtMs = Date.parse(live.at);
    return live.connectors.map((connector): ReadConnector => ({ ...connector, readAtMs }));
  }, [live.connectors]);
  const shown = connectors.filter((connector) =>
    nameOf(connector).toLowerCase().includes(wanted.trim().toLowerCase()),
  );
  const asked = connectors.find((connector) => keyOfConnector(connector) === askedKey);
  return (
    <section class="stack connectors" aria-label="Connectors">
      <div class="row between">
        <h2>Connectors: {connectors.length}</h2>
        {connectors.length >= FILTERED_FROM && (
          <Field label="Filter connectors" type="search" value={wanted} onInput={setWanted} />
        )}
      </div>
      <Table
        label="Connectors"
        columns={columns}
        rows={shown}
        rowKey={keyOfConnector}
        firstOrder={{ key: 'name', direction: 'ascending' }}
        empty={connectors.length === 0 ? 'This location has no connectors.' : 'No connector has this name.'}
      />
      {asked !== undefined && (
        <ConnectorDialog
          connector={asked}
          cause={live.gridLimitCause}
          clock={clock}
          onWritten={onWritten}
          onClose={() => setAskedKey(undefined)}
        />
      )}
    </section>
  );
}
