// Outcome of a schedule for all members: first the members that refused it and their reasons, then the others.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { ClusterSchedule } from '../../src/wire/cluster-schedule.js';
import type { Written } from '../api/client.js';
import { Warnings } from '../location/submission-form.js';
import type { LocationNames } from '../locations/use-location-names.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { type Column, Table } from '../ui/table.js';

type Outcome = ClusterSchedule['applied'][number] | ClusterSchedule['errors'][number];

export function ScheduleOutcome({
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
      <Table
        label="What became of it"
        columns={columns}
        rows={rows}
        rowKey={({ locationId }) => locationId}
      />
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
