// Dialog about one connector: its limit and the reason in a sentence, its figures, and its locks, if it can have one.
import { useState } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { ConnectorSchedules } from '../../src/features/profiles/contract.js';
import type { GridLimitCause } from '../../src/wire/limit-cause.js';
import { path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { useEvents } from '../api/use-events.js';
import { useClusterName } from '../clusters/use-cluster-name.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/notice.js';
import { Term } from '../ui/term.js';
import { CancellableProfiles } from './cancellable-profiles.js';
import { nameOf, type ReadConnector } from './connector-columns.js';
import { ocppStateOf, stateOf } from './connector-state.js';
import { Figure, FigureRow } from './figure-row.js';
import { FormerProfiles } from './former-profiles.js';
import { Lease } from './lease.js';
import { type LimitChange, type LimitState, stackOf } from './preview.js';
import { OwnPreview } from './preview-view.js';
import { ScheduleForm } from './schedule-form.js';
import { Sentence } from './sentence.js';
import { type ServerClock, useEvery } from './server-clock.js';
import { stackedAt } from './stacked-profiles.js';
import { REASON_WORDS } from './words.js';

/**
 * The stream reports the start, change and end of a lock, but not planned or cancelled ones; therefore this interval.
 */
const LOCKS_EVERY_MS = 5_000;

export function ConnectorDialog({
  connector,
  cause,
  clock,
  onWritten,
  onClose,
}: {
  readonly connector: ReadConnector;
  /** The rule that sets the limit in force of its location. */
  readonly cause: GridLimitCause;
  readonly clock: ServerClock;
  readonly onWritten: () => void;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={nameOf(connector)} onClose={onClose}>
      <div class="stack">
        <Explanation connector={connector} cause={cause} />
        <ConnectorFigures connector={connector} clock={clock} />
        <BehindGateway connector={connector} />
        <h3>Locks</h3>
        <Locks connector={connector} clock={clock} onWritten={onWritten} />
      </div>
    </Dialog>
  );
}

function Explanation({
  connector: { reason, explanation, lockLimitKw },
  cause,
}: {
  readonly connector: ReadConnector;
  readonly cause: GridLimitCause;
}) {
  const clusterId = cause.kind === 'clusterShare' ? cause.clusterId : undefined;
  const clusterName = useClusterName(clusterId);
  return (
    <section aria-label="Reason of this limit" aria-live="polite">
      <Badge tone={lockLimitKw === null ? 'info' : 'lock'}>{REASON_WORDS[reason]}</Badge>
      <p class="explanation">
        <Sentence
          text={clusterId === undefined ? explanation : explanation.replace(clusterId, () => clusterName)}
        />
      </p>
    </section>
  );
}

/** Its state behind an OCPP gateway, with the reason if it keeps no lease. */
function BehindGateway({ connector }: { readonly connector: ReadConnector }) {
  const state = ocppStateOf(connector);
  if (state === undefined) return null;
  const { word, sentence, definition, tone = '' } = state;
  return (
    <section aria-label="Behind the OCPP gateway">
      <p class="behind-gateway">
        <strong class={`state-word ${tone}`}>{word}</strong>
        {sentence.slice(word.length)}. <span class="quiet">{definition}</span>
      </p>
    </section>
  );
}

/** The connector's profiles, read again after an event about a lock and at regular intervals. */
function useSchedules(controllerUuid: string, connectorId: string): Resource<ConnectorSchedules> {
  const address = path`/chargers/${controllerUuid}/connectors/${connectorId}/schedules`;
  const schedules = useResource(
    (client, signal) => client.get<ConnectorSchedules>(address, signal),
    [controllerUuid, connectorId],
  );
  useEvents('lock', (events) => {
    const isAbout = events.some(
      (event) => event.controllerUuid === controllerUuid && event.connectorId === connectorId,
    );
    if (isAbout) schedules.reread();
  });
  useEvery(LOCKS_EVERY_MS, () => {
    if (schedules.error === undefined) schedules.reread();
  });
  return schedules;
}

/** The connector's profiles, and a form for a new one. */
function Locks({
  connector: { controllerUuid, connectorId },
  clock,
  onWritten,
}: {
  readonly connector: ReadConnector;
  readonly clock: ServerClock;
  readonly onWritten: () => void;
}) {
  const [isLocking, setLocking] = useState(false);
  const address = path`/chargers/${controllerUuid}/connectors/${connectorId}`;
  const schedules = useSchedules(controllerUuid, connectorId);
  const reread = () => {
    schedules.reread();
    onWritten();
  };
  const profiles = schedules.value?.profiles;
  if (profiles === undefined)
    return schedules.error === undefined ? null : <ErrorNotice error={schedules.error} />;
  const state: LimitState = { stack: stackOf(profiles), fallbackKw: undefined };
  const preview = (change: LimitChange | undefined) => (
    <OwnPreview state={state} change={change} unlimited="not locked" nowMs={clock.nowMs()} />
  );
  return (
    <>
      {schedules.error !== undefined && <ErrorNotice error={schedules.error} />}
      <CancellableProfiles
        label="Locks"
        profiles={stackedAt(profiles, clock.nowMs())}
        empty="No lock is set."
        address={`${address}/schedules`}
        preview={preview}
        onCancelled={reread}
      />
      <FormerProfiles address={`${address}/history`} held={profiles} clock={clock} />
      {isLocking ? (
        <ScheduleForm
          address={`${address}/schedules`}
          state={state}
          preview={preview}
          submitText="Lock the connector"
          clock={clock}
          onWritten={reread}
          onDone={() => setLocking(false)}
        />
      ) : (
        <div>
          <Button onClick={() => setLocking(true)}>Lock this connector…</Button>
        </div>
      )}
    </>
  );
}

function ConnectorFigures({
  connector,
  clock,
}: {
  readonly connector: ReadConnector;
  readonly clock: ServerClock;
}) {
  const { actualKw, limitKw, reservedKw, socPercent, lastHeardSecondsAgo } = connector;
  const { word, definition } = stateOf(connector);
  return (
    <FigureRow>
      <Figure name="State">
        <Term word={word} definition={definition} />
      </Figure>
      <Figure name="Draws">{kwText(actualKw)}</Figure>
      {socPercent !== null && <Figure name="Battery">{Math.round(socPercent)} %</Figure>}
      <Figure name="Limit" note={limitNote(connector)}>
        {limitKw === null ? '–' : kwText(limitKw)}
      </Figure>
      <Figure
        name="Reserved for it"
        explanation="Its entitlement: the highest power that it may draw by the limits sent to it, and by its fail-safe. No other connector gets this power."
        note="its entitlement now"
      >
        {kwText(reservedKw)}
      </Figure>
      <Figure name="Lease" note="until it must be renewed">
        <Lease leftSeconds={connector.leaseLeftSeconds} readAtMs={connector.readAtMs} clock={clock} />
      </Figure>
      <Figure name="Last heard">
        {lastHeardSecondsAgo === null ? 'never' : `${lastHeardSecondsAgo} s ago`}
      </Figure>
    </FigureRow>
  );
}

function limitNote({ limitA, limitPhases, isPhaseSwitched }: ReadConnector): string {
  if (limitA === null) return 'none was sent';
  const ampere = `${limitA.toFixed(1)} A`;
  if (limitPhases === null) return `${ampere} a phase`;
  return `${ampere} on ${limitPhases === 1 ? 'one phase' : `each of ${limitPhases} phases`}${isPhaseSwitched ? ', switched' : ''}`;
}
