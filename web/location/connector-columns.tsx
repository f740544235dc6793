import { kw, kwText } from '../../machines/values/figures.js';
import type { ConnectorLive } from '../../src/features/live/contract.js';
import { Badge } from '../ui/badge.js';
import { DrawnKw } from '../ui/drawn.js';
import type { Column } from '../ui/table.js';
import { Term } from '../ui/term.js';
import { ocppStateOf, stateOf } from './connector-state.js';
import { Lease } from './lease.js';
import type { ShownConnector } from './location-state.js';
import type { ServerClock } from './server-clock.js';
import { REASON_WORDS } from './words.js';

/** A connector, and the instant of its reading by the service's clock. */
export interface ReadConnector extends ConnectorLive {
  readonly readAtMs: number;
}

const NEVER = -1;

type ConnectorColumn = Column<ReadConnector>;

export function connectorColumns(
  clock: ServerClock,
  onAsk: (connector: ReadConnector) => void,
): readonly ConnectorColumn[] {
  return [NAME, OWN_STATE, POWER, LIMIT_KW, LIMIT_A, leaseColumn(clock), LOCK, reasonColumn(onAsk)];
}

export const NAME: Column<ShownConnector> = {
  key: 'name',
  header: 'Connector',
  isRowHeader: true,
  class: 'name',
  cell: (connector) => <Name connector={connector} />,
  sortValue: nameOf,
};

export const STATE: Column<ShownConnector> = {
  key: 'state',
  header: 'State',
  class: 'state',
  isWideOnly: true,
  cell: (connector) => <State connector={connector} />,
  sortValue: (connector) => stateOf(connector).word,
};

const OWN_STATE: ConnectorColumn = {
  ...STATE,
  cell: (connector) => (
    <>
      <State connector={connector} />
      <OcppState connector={connector} />
    </>
  ),
};

export const POWER: Column<ShownConnector> = {
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

export const LIMIT_A: Column<ShownConnector> = {
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

export const LOCK: Column<ShownConnector> = {
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
      <>
        <NarrowState connector={connector} />
        <span class="narrow-only">
          <OcppState connector={connector} />
        </span>
        <button
          type="button"
          class="button plain"
          aria-label={`${REASON_WORDS[connector.reason]}: why ${nameOf(connector)} has this limit, and its lock`}
          onClick={() => onAsk(connector)}
        >
          {REASON_WORDS[connector.reason]}
        </button>
      </>
    ),
    sortValue: ({ reason }) => REASON_WORDS[reason],
  };
}

export function nameOf({
  controllerUuid,
  connectorId,
}: Pick<ShownConnector, 'controllerUuid' | 'connectorId'>): string {
  return `${controllerUuid} / ${connectorId}`;
}

function State({ connector }: { readonly connector: ShownConnector }) {
  const { word, definition, tone } = stateOf(connector);
  const term = <Term word={word} definition={definition} />;
  return tone === undefined ? term : <span class={`state-word ${tone}`}>{term}</span>;
}

/** The dialog of the connector has the reason against its lease, too. */
function OcppState({ connector }: { readonly connector: ReadConnector }) {
  const state = ocppStateOf(connector);
  if (state === undefined) return null;
  const { word, sentence, tone = 'quiet' } = state;
  return (
    <span class={`ocpp-state small state-word ${tone}`} title={sentence}>
      {word}
    </span>
  );
}

/** Shown next to the reason on a phone, whose screen has no space for the column of states. */
export function NarrowState({ connector }: { readonly connector: ShownConnector }) {
  const { word, tone } = stateOf(connector);
  return <span class={`narrow-only small state-word ${tone ?? 'quiet'}`}>{word}</span>;
}

function Name({ connector }: { readonly connector: ShownConnector }) {
  const { lockLimitKw, powerType } = connector;
  const name = nameOf(connector);
  return (
    <>
      <span class="connector-name" title={name}>
        {name}
      </span>{' '}
      {powerType === 'DC' && <Badge tone="neutral">DC</Badge>}
      {lockLimitKw !== null && (
        <span class="narrow-only">
          <Badge tone="lock">lock</Badge>
        </span>
      )}
    </>
  );
}
