// The columns of the table of connectors.
import type { ConnectorLive } from '../../src/wire/operator-locations.js';
import { Badge } from '../ui/badge.js';
import { DrawnKw } from '../ui/drawn.js';
import { kw, kwText } from '../ui/figures.js';
import type { Column } from '../ui/table.js';
import { Term } from '../ui/term.js';
import { Lease } from './lease.js';
import type { ServerClock } from './server-clock.js';
import { STATUS_DEFINITIONS } from './status-definitions.js';
import { REASON_WORDS } from './words.js';

/** A connector as it was read, with when that was on the service's clock. */
export interface ReadConnector extends ConnectorLive {
  readonly readAtMs: number;
}

const NEVER = -1;

type ConnectorColumn = Column<ReadConnector>;

export function connectorColumns(
  clock: ServerClock,
  onAsk: (connector: ReadConnector) => void,
): readonly ConnectorColumn[] {
  return [NAME, STATE, POWER, LIMIT_KW, LIMIT_A, leaseColumn(clock), LOCK, reasonColumn(onAsk)];
}

const NAME: ConnectorColumn = {
  key: 'name',
  header: 'Connector',
  isRowHeader: true,
  class: 'name',
  cell: (connector) => <Name connector={connector} />,
  sortValue: nameOf,
};

const STATE: ConnectorColumn = {
  key: 'state',
  header: 'State',
  class: 'state',
  isWideOnly: true,
  cell: ({ status, chargingStatus }) => <State status={status} chargingStatus={chargingStatus} />,
  sortValue: ({ chargingStatus }) => chargingStatus ?? '',
};

const POWER: ConnectorColumn = {
  key: 'actualKw',
  header: 'Power kW',
  align: 'end',
  class: 'figure',
  cell: ({ actualKw, isEstimated }) => (
    <DrawnKw
      actualKw={actualKw}
      estimate={isEstimated ? 'It is an estimate, because the connector is silent.' : undefined}
    />
  ),
  sortValue: ({ actualKw }) => actualKw,
};

const LIMIT_KW: ConnectorColumn = {
  key: 'limitKw',
  header: 'Limit kW',
  align: 'end',
  class: 'figure',
  cell: ({ limitKw }) => (limitKw === null ? '–' : kw(limitKw)),
  sortValue: ({ limitKw }) => limitKw ?? NEVER,
};

const LIMIT_A: ConnectorColumn = {
  key: 'limitA',
  header: 'Limit A',
  align: 'end',
  class: 'figure',
  isWideOnly: true,
  cell: ({ limitA }) => (limitA === null ? '–' : limitA.toFixed(1)),
  sortValue: ({ limitA }) => limitA ?? NEVER,
};

function leaseColumn(clock: ServerClock): ConnectorColumn {
  return {
    key: 'lease',
    header: 'Lease',
    align: 'end',
    class: 'figure',
    isWideOnly: true,
    cell: ({ leaseLeftSeconds, readAtMs }) => (
      <Lease leftSeconds={leaseLeftSeconds} readAtMs={readAtMs} clock={clock} />
    ),
    sortValue: ({ leaseLeftSeconds }) => leaseLeftSeconds ?? NEVER,
  };
}

const LOCK: ConnectorColumn = {
  key: 'lock',
  header: 'Lock',
  class: 'lock-column',
  isWideOnly: true,
  cell: ({ lockLimitKw }) => lockLimitKw !== null && <Badge tone="lock">{kwText(lockLimitKw)}</Badge>,
  sortValue: ({ lockLimitKw }) => lockLimitKw ?? NEVER,
};

function reasonColumn(onAsk: (connector: ReadConnector) => void): ConnectorColumn {
  return {
    key: 'reason',
    header: 'Why',
    class: 'why',
    cell: (connector) => (
      <button
        type="button"
        class="button plain"
        aria-label={`${REASON_WORDS[connector.reason]}: why ${nameOf(connector)} has this limit, and its lock`}
        onClick={() => onAsk(connector)}
      >
        {REASON_WORDS[connector.reason]}
      </button>
    ),
    sortValue: ({ reason }) => REASON_WORDS[reason],
  };
}

export function nameOf({ controllerUuid, connectorId }: ConnectorLive): string {
  return `${controllerUuid} / ${connectorId}`;
}

function State({ status, chargingStatus }: Pick<ConnectorLive, 'status' | 'chargingStatus'>) {
  if (status === 'INACTIVE') return <>INACTIVE</>;
  if (chargingStatus === null) return <>–</>;
  return <Term word={chargingStatus} definition={STATUS_DEFINITIONS[chargingStatus]} />;
}

function Name({ connector }: { readonly connector: ReadConnector }) {
  const { link, lockLimitKw, powerType } = connector;
  const name = nameOf(connector);
  return (
    <>
      <span class="connector-name" title={name}>
        {name}
      </span>{' '}
      {powerType === 'DC' && <Badge tone="neutral">DC</Badge>}
      {link !== 'online' && <Badge tone={link === 'stale' ? 'warning' : 'bad'}>{link}</Badge>}
      {lockLimitKw !== null && (
        <span class="narrow-only">
          <Badge tone="lock">lock</Badge>
        </span>
      )}
    </>
  );
}
