// Page of one cluster: the power of its members against the cap, their shares, and actions.
import '../location/location.css';
import './clusters.css';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { kw, kwText } from '../../machines/values/figures.js';
import type { Cluster, ClusterDetail } from '../../src/features/clusters/contract.js';
import type { ClusterSchedule } from '../../src/features/profiles/contract.js';
import { path, type Written } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { useEvents } from '../api/use-events.js';
import { Figure, FigureRow } from '../location/figure-row.js';
import { freshDraft, messagesByField, type ProfileDraft, requestOf } from '../location/profile-draft.js';
import { PROFILE_FIELDS, ProfileFields } from '../location/profile-fields.js';
import { type ServerClock, useEvery, useStreamClock } from '../location/server-clock.js';
import { SubmissionForm, Warnings } from '../location/submission-form.js';
import { useSubmission } from '../location/use-submission.js';
import { type LocationNames, useLocationNames } from '../locations/use-location-names.js';
import { readLocations } from '../locations/use-locations.js';
import { hrefOf } from '../route.js';
import { useTitle } from '../shell/title.js';
import { announce } from '../ui/announce.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { DrawnKw, EstimateNote, estimateText } from '../ui/drawn.js';
import { MeterBar } from '../ui/meter-bar.js';
import { ErrorNotice } from '../ui/notice.js';
import { type Column, Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { CapBadge, StatusBadge } from './cluster-badges.js';
import { changeOf, draftOf } from './cluster-draft.js';
import { ClusterForm } from './cluster-form.js';
import { changed, type MemberChange, scaleOf } from './cluster-live.js';
import { ConfirmDialog } from './confirm-dialog.js';

// Table of the members of a cluster: the effective limit of each, its share of the cap, and its power.
type Member = ClusterDetail['liveStatus']['locations'][number];

function MemberTable({
  cluster,
  names,
  onWritten,
}: {
  readonly cluster: ClusterDetail;
  readonly names: LocationNames;
  readonly onWritten: () => void;
}) {
  const [asked, setAsked] = useState<string>();
  const columns = useMemo(() => memberColumns(names, setAsked), [names]);
  const { locations } = cluster.liveStatus;
  return (
    <section class="stack" aria-label="Members">
      <h2>Members: {locations.length}</h2>
      <Table
        label="Members"
        columns={columns}
        rows={locations}
        rowKey={({ locationId }) => locationId}
        firstOrder={{ key: 'name', direction: 'ascending' }}
      />
      {asked !== undefined && (
        <ConfirmDialog
          title="Remove a member"
          text={`${names(asked)} leaves the cluster ${cluster.name}. The cap then no longer limits it, and the others share it alone.`}
          actionText="Remove the member"
          doneText={`${names(asked)} is no longer a member.`}
          write={(client) => client.delete(path`/clusters/${cluster.clusterId}/locations/${asked}`)}
          onDone={() => {
            setAsked(undefined);
            onWritten();
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}

function memberColumns(
  names: LocationNames,
  onRemove: (locationId: string) => void,
): readonly Column<Member>[] {
  return [
    {
      key: 'name',
      header: 'Location',
      isRowHeader: true,
      class: 'name',
      cell: ({ locationId }) => (
        <a href={hrefOf('locations', locationId)} title={names(locationId)}>
          {names(locationId)}
        </a>
      ),
      sortValue: ({ locationId }) => names(locationId),
    },
    figure('setLimitKw', 'Effective limit kW'),
    figure('effectiveLimitKw', 'Share kW'),
    {
      key: 'actualKw',
      header: 'Power kW',
      align: 'end',
      class: 'figure',
      cell: ({ actualKw, estimatedKw }) => (
        <DrawnKw actualKw={actualKw} estimate={estimateText(estimatedKw)} />
      ),
      sortValue: ({ actualKw }) => actualKw,
    },
    {
      key: 'use',
      header: 'Use',
      class: 'use',
      isWideOnly: true,
      cell: ({ actualKw, effectiveLimitKw }) => <MeterBar value={actualKw} limit={effectiveLimitKw} />,
    },
    {
      key: 'remove',
      header: 'Change',
      class: 'remove',
      cell: ({ locationId }) => (
        <button
          type="button"
          class="button plain"
          aria-label={`Remove ${names(locationId)}`}
          onClick={() => onRemove(locationId)}
        >
          Remove
        </button>
      ),
    },
  ];
}

function figure(key: 'setLimitKw' | 'effectiveLimitKw', header: string): Column<Member> {
  return {
    key,
    header,
    align: 'end',
    class: 'figure',
    cell: ({ [key]: value }) => kw(value),
    sortValue: ({ [key]: value }) => value,
  };
}

// Actions on a cluster: a schedule for all members, a change, and deletion.

// Outcome of a schedule for all members: first the members that refused it and their reasons, then the others.
type Outcome = ClusterSchedule['applied'][number] | ClusterSchedule['errors'][number];

function ScheduleOutcome({
  written,
  names,
  onDone,
}: {
  readonly written: Written<ClusterSchedule>;
  readonly names: LocationNames;
  readonly onDone: () => void;
}) {
  const { applied, errors, totalLocations } = written.body;
  const summary = useRef<HTMLParagraphElement>(null);
  const columns = useMemo(() => outcomeColumns(names), [names]);
  const rows = useMemo((): readonly Outcome[] => [...errors, ...applied], [errors, applied]);
  // The outcome replaces the form, whose button had the focus.
  useEffect(() => summary.current?.focus(), []);
  return (
    <div class="stack outcome">
      <p ref={summary} tabIndex={-1}>
        <strong>
          {applied.length} of {totalLocations} members took it
          {errors.length > 0 ? `, ${errors.length} did not.` : '.'}
        </strong>
      </p>
      <Warnings texts={written.warnings} />
      <Table label="Outcome" columns={columns} rows={rows} rowKey={({ locationId }) => locationId} />
      <div class="row">
        <Button kind="primary" onClick={onDone}>
          OK
        </Button>
      </div>
    </div>
  );
}

function outcomeColumns(names: LocationNames): readonly Column<Outcome>[] {
  return [
    {
      key: 'name',
      header: 'Location',
      isRowHeader: true,
      class: 'name',
      cell: ({ locationId }) => names(locationId),
    },
    {
      key: 'outcome',
      header: 'Outcome',
      class: 'result',
      cell: (outcome) =>
        'error' in outcome ? (
          <>
            <Badge tone="bad">Failed</Badge> {outcome.error.error.message}{' '}
            <span class="quiet small">{outcome.error.error.code}</span>
          </>
        ) : (
          <>
            <Badge tone={outcome.status === 'ACTIVE' ? 'good' : 'info'}>{outcome.status}</Badge> effective
            limit now {kwText(outcome.effectiveLimitKw)}
          </>
        ),
    },
  ];
}

// Form for one schedule for all members of a cluster. Each member accepts or refuses it on its own, and both are shown.
function ClusterScheduleForm({
  clusterId,
  clock,
  names,
  onWritten,
  onDone,
}: {
  readonly clusterId: string;
  readonly clock: ServerClock;
  readonly names: LocationNames;
  readonly onWritten: () => void;
  /** Called after the user has read the outcome. */
  readonly onDone: () => void;
}) {
  const [draft, setDraft] = useState<ProfileDraft>(() => freshDraft(clock.nowMs()));
  const submission = useSubmission<ClusterSchedule>(({ body, warnings }) => {
    const { applied, errors, totalLocations } = body;
    const isWhole = errors.length === 0 && warnings.length === 0;
    announce(`${applied.length} of ${totalLocations} members took it.`, isWhole ? 'good' : 'warning');
    onWritten();
  });
  const { error, written } = submission;
  const messages = messagesByField(error, PROFILE_FIELDS);
  if (written !== undefined) return <ScheduleOutcome written={written} names={names} onDone={onDone} />;
  return (
    <SubmissionForm
      submission={submission}
      write={(client) => client.post(path`/clusters/${clusterId}/schedules`, requestOf(draft))}
      isToldAtFields={messages.size > 0}
      focusOn="select"
      submitText="Set the schedule for all members"
      onDone={onDone}
    >
      <p class="quiet">Each member gets its own profile: the limit is for each, not for all together.</p>
      <ProfileFields
        draft={draft}
        messages={messages}
        onChange={(part) => setDraft((before) => ({ ...before, ...part }))}
      />
    </SubmissionForm>
  );
}

interface Props {
  readonly cluster: ClusterDetail;
  readonly names: LocationNames;
  readonly clock: ServerClock;
  readonly onWritten: () => void;
}

function ClusterActions({ cluster, names, clock, onWritten }: Props) {
  const [open, setOpen] = useState<'schedule' | 'change' | 'delete'>();
  const close = () => setOpen(undefined);
  return (
    <div class="row">
      <Button kind="primary" onClick={() => setOpen('schedule')}>
        Set a schedule for all…
      </Button>
      <Button onClick={() => setOpen('change')}>Change…</Button>
      <Button kind="danger" onClick={() => setOpen('delete')}>
        Delete…
      </Button>
      {open === 'schedule' && (
        <Dialog title="Set a schedule for all members" onClose={close}>
          <ClusterScheduleForm
            clusterId={cluster.clusterId}
            clock={clock}
            names={names}
            onWritten={onWritten}
            onDone={close}
          />
        </Dialog>
      )}
      {open === 'change' && (
        <Dialog title="Change the cluster" onClose={close}>
          <Change cluster={cluster} onWritten={onWritten} onDone={close} />
        </Dialog>
      )}
      {open === 'delete' && (
        <ConfirmDialog
          title="Delete the cluster"
          text={`The cluster ${cluster.name} is deleted for good. Its locations stay, and the cap no longer limits them.`}
          actionText="Delete the cluster"
          doneText={`The cluster ${cluster.name} was deleted.`}
          write={(client) => client.delete(path`/clusters/${cluster.clusterId}`)}
          onDone={() => location.assign(hrefOf('clusters'))}
          onClose={close}
        />
      )}
    </div>
  );
}

function Change({
  cluster,
  onWritten,
  onDone,
}: {
  readonly cluster: Cluster;
  readonly onWritten: () => void;
  readonly onDone: () => void;
}) {
  const [before] = useState(() => draftOf(cluster));
  const { value: locations, error } = useResource(readLocations, []);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (locations === undefined) return <p class="quiet">Loading…</p>;
  return (
    <ClusterForm
      first={before}
      locations={locations}
      isNew={false}
      submitText="Change the cluster"
      write={(client, draft) => {
        const change = changeOf(draft, before);
        // An empty change is not sent, because the service would refuse it.
        if (Object.keys(change).length === 0) return Promise.resolve({ body: cluster, warnings: [] });
        return client.patch<Cluster>(path`/clusters/${cluster.clusterId}`, change);
      }}
      onWritten={onWritten}
      onDone={onDone}
    />
  );
}

// Current state of a cluster: the total power of its members, and the scaling of their limits by the cap.
function ClusterHead({ cluster }: { readonly cluster: ClusterDetail }) {
  const { limitKw, liveStatus } = cluster;
  const { actualTotalKw, sumLocationLimits, withinLimit } = liveStatus;
  return (
    <section class="panel stack" aria-label="Now">
      <FigureRow>
        <Figure
          name="Draws"
          note={limitKw === null ? 'all members' : <MeterBar value={actualTotalKw} limit={limitKw} />}
        >
          <strong class="draw">{kwText(actualTotalKw)}</strong>
        </Figure>
        <Figure name="Cap" note={<CapBadge limitKw={limitKw} isWithin={withinLimit} />}>
          {limitKw === null ? '–' : kwText(limitKw)}
        </Figure>
        <Figure name="Effective limits" note="of all members together">
          {kwText(sumLocationLimits)}
        </Figure>
        <Figure name="Scale" note="of each effective limit">
          {percentText(scaleOf(cluster))}
        </Figure>
      </FigureRow>
      <p class="cause">{sentenceOf(cluster)}</p>
      <EstimateNote estimatedKw={liveStatus.estimatedTotalKw} />
    </section>
  );
}

function sentenceOf(cluster: ClusterDetail): string {
  const { status, limitKw, liveStatus } = cluster;
  if (limitKw === null) return 'The cluster has no cap: it limits no member.';
  if (status === 'INACTIVE') return 'The cluster is INACTIVE: it limits no member.';
  if (scaleOf(cluster) === 1) return 'The effective limits together are within the cap: it limits no member.';
  return `Effective limits of ${kwText(liveStatus.sumLocationLimits)} share a cap of ${kwText(limitKw)}: the share of each member is ${percentText(scaleOf(cluster))} of its effective limit.`;
}

function percentText(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

// Reads one cluster; events about its members keep it up to date.

/** The stream has no events about changes of a cluster by others. */
const EVERY_MS = 30_000;

function useCluster(clusterId: string): Resource<ClusterDetail> {
  const resource = useResource(
    (client, signal) => client.get<ClusterDetail>(path`/clusters/${clusterId}`, signal),
    [clusterId],
  );
  const { update, reread } = resource;
  const change = (changes: ReadonlyMap<string, MemberChange>) => update((detail) => changed(detail, changes));
  useEvents('power', (events) =>
    change(
      new Map(
        events.map(({ locationId, actualKw, estimatedKw }) => [
          locationId,
          { actualKw, estimatedKw: estimatedKw ?? undefined },
        ]),
      ),
    ),
  );
  useEvents('effectiveLimit', (events) =>
    change(
      new Map(
        events.map(({ locationId, effectiveLimitKw }) => [locationId, { setLimitKw: effectiveLimitKw }]),
      ),
    ),
  );
  useEvery(EVERY_MS, () => reread());
  return resource;
}

export function ClusterPage({ clusterId }: { readonly clusterId: string }) {
  const { value, error, reread } = useCluster(clusterId);
  const names = useLocationNames();
  const clock = useStreamClock();
  // The cluster was deleted meanwhile, so its last state is not shown.
  const cluster = error?.code === 'CLUSTER_NOT_FOUND' ? undefined : value;
  useTitle(cluster?.name ?? 'Cluster');
  return (
    <div class="stack location cluster">
      <div>
        <a class="small" href={hrefOf('clusters')}>
          All clusters
        </a>
        <h1>
          {cluster?.name ?? 'Cluster'} {cluster !== undefined && <StatusBadge status={cluster.status} />}
        </h1>
        <p class="quiet small">{clusterId}</p>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {value === undefined && error === undefined && <p class="quiet">Loading…</p>}
      {cluster !== undefined && (
        <>
          <ClusterHead cluster={cluster} />
          <ClusterActions cluster={cluster} names={names} clock={clock} onWritten={() => reread()} />
          <MemberTable cluster={cluster} names={names} onWritten={() => reread()} />
          <p class="quiet small">
            Created <Time at={cluster.createdAt} />, last changed <Time at={cluster.updatedAt} />
          </p>
        </>
      )}
    </div>
  );
}
