// Energy by day and ended sessions of a location or one of its connectors, for any days, and both as CSV; of one
// connector also its power.
import { useState } from 'preact/hooks';
import type { EnergyList, PeriodEnergy } from '../../src/features/energy/contract.js';
import type { ConnectorLive } from '../../src/features/live/contract.js';
import { asApiError } from '../api/api-error.js';
import type { ApiClient } from '../api/client.js';
import { useResource } from '../api/resource.js';
import { useSession } from '../session/session.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { Choice, Field } from '../ui/field.js';
import { MeterBar } from '../ui/meter-bar.js';
import { ErrorNotice } from '../ui/notice.js';
import { saveFile } from '../ui/save-file.js';
import { ConnectorPowerSection } from './connector-power.js';
import { DayBars, dayAfter, daysBetween } from './day-bars.js';
import { toLocalInput } from './local-input.js';
import { useEvery } from './server-clock.js';
import { EndedSessions } from './sessions-section.js';

const DAY_MS = 86_400_000;
const FIRST_DAYS = 30;
const LONGEST_DAYS = 366;
const READ_EVERY_MS = 300_000;

interface Props {
  readonly locationId: string;
  readonly connectors: readonly ConnectorLive[];
  /** By the clock of the service. */
  readonly nowMs: number;
}

export function UsageSection({ locationId, connectors, nowMs }: Props) {
  const [fromDay, setFromDay] = useState(() => dayOf(nowMs - (FIRST_DAYS - 1) * DAY_MS));
  const [lastDay, setLastDay] = useState(() => dayOf(nowMs));
  const [chosen, setChosen] = useState('');
  const { client } = useSession();
  const connector = connectors.find((each) => keyOf(each) === chosen);
  const problem = problemOf(fromDay, lastDay);
  const toDay = problem === undefined ? dayAfter(lastDay) : '';
  const of = new URLSearchParams({
    locationId,
    ...(connector && { controllerUuid: connector.controllerUuid, connectorId: connector.connectorId }),
  });
  const energy = `/energy?${of}&from=${fromDay}&to=${toDay}`;
  const sessions = `/sessions?${of}&from=${midnightOf(fromDay)}&to=${midnightOf(toDay)}`;

  function download(path: string, name: string): void {
    client.table(path).then(
      (text) =>
        saveFile(new Blob([text], { type: 'text/csv' }), `${locationId}-${name}-${fromDay}-${lastDay}.csv`),
      (error) => announce(`No file: ${asApiError(error).message}`, 'warning'),
    );
  }

  return (
    <section class="panel stack" aria-label="Energy and sessions">
      <h2>Energy and sessions</h2>
      <div class="usage-filter">
        <Choice
          label="Connector"
          value={chosen}
          options={[['', 'All'], ...connectors.map((each) => [keyOf(each), keyOf(each)] as const)]}
          onChoose={setChosen}
        />
        <Field label="First day" type="date" value={fromDay} onInput={setFromDay} />
        <Field label="Last day" type="date" value={lastDay} error={problem} onInput={setLastDay} />
      </div>
      {problem === undefined && (
        <>
          <Energy path={energy} fromDay={fromDay} toDay={toDay} isOfAll={connector === undefined} />
          {connector !== undefined && (
            <ConnectorPowerSection
              key={chosen}
              connector={connector}
              span={{ fromMs: Date.parse(midnightOf(fromDay)), toMs: Date.parse(midnightOf(toDay)) }}
              nowMs={nowMs}
              fileName={`${connector.controllerUuid}-${connector.connectorId}-power-${fromDay}-${lastDay}`}
            />
          )}
          <h3>Ended sessions</h3>
          <EndedSessions path={sessions} />
          <div class="row">
            <Button onClick={() => download(energy, 'energy')}>Energy as CSV</Button>
            <Button onClick={() => download(sessions, 'sessions')}>Sessions as CSV</Button>
          </div>
        </>
      )}
    </section>
  );
}

function keyOf({
  controllerUuid,
  connectorId,
}: Pick<PeriodEnergy, 'controllerUuid' | 'connectorId'>): string {
  return `${controllerUuid}/${connectorId}`;
}

/** The date of an instant in the viewer's zone. */
function dayOf(atMs: number): string {
  return toLocalInput(atMs).slice(0, 10);
}

/** The begin of a date in the viewer's zone, as the contract writes it; empty without one. */
function midnightOf(day: string): string {
  return day === '' || Number.isNaN(Date.parse(day)) ? '' : new Date(`${day}T00:00`).toISOString();
}

function problemOf(fromDay: string, lastDay: string): string | undefined {
  if (fromDay === '' || lastDay === '') return 'Choose both days.';
  const days = daysBetween(fromDay, lastDay);
  if (Number.isNaN(days) || days < 0) return 'Must not be before the first day.';
  return days >= LONGEST_DAYS ? `Choose at most ${LONGEST_DAYS} days.` : undefined;
}

interface EnergyProps {
  readonly path: string;
  readonly fromDay: string;
  readonly toDay: string;
  readonly isOfAll: boolean;
}

function Energy({ path, fromDay, toDay, isOfAll }: EnergyProps) {
  const days = useResource((client, signal) => allOf(client, `${path}&groupBy=location`, signal), [path]);
  const months = useResource(
    (client, signal) => allOf(client, `${path}&groupBy=connector&resolution=month`, signal),
    [path],
  );
  useEvery(READ_EVERY_MS, () => {
    days.reread();
    months.reread();
  });
  const error = days.error ?? months.error;
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (days.value === undefined || months.value === undefined) return <p class="quiet">Loading…</p>;
  if (days.value.length === 0) return <p class="quiet">No energy in these days.</p>;
  const shares = totalsOf(months.value);
  const mostKwh = Math.max(...shares.map(({ energyKwh }) => energyKwh));
  return (
    <>
      <DayBars days={days.value} fromDay={fromDay} toDay={toDay} />
      {isOfAll && shares.length > 1 && (
        <details>
          <summary>By connector</summary>
          <table class="departures" aria-label="Energy by connector">
            <thead>
              <tr>
                <th scope="col">Connector</th>
                <th scope="col">Energy</th>
                <th scope="col">Of the highest</th>
              </tr>
            </thead>
            <tbody>
              {shares.map(({ key, energyKwh }) => (
                <tr key={key}>
                  <th scope="row">{key}</th>
                  <td>{energyKwh.toFixed(1)} kWh</td>
                  <td>
                    <MeterBar value={energyKwh} limit={mostKwh} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </>
  );
}

async function allOf(client: ApiClient, path: string, signal: AbortSignal): Promise<readonly PeriodEnergy[]> {
  const rows: PeriodEnergy[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: EnergyList = await client.get(`${path}${cursor && `&cursor=${cursor}`}`, signal);
    rows.push(...page.energy);
    cursor = page.nextCursor;
  }
  return rows;
}

/** The sum of each connector, the highest first. */
function totalsOf(
  rows: readonly PeriodEnergy[],
): readonly { readonly key: string; readonly energyKwh: number }[] {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + row.energyKwh);
  return [...sums].map(([key, energyKwh]) => ({ key, energyKwh })).sort((a, b) => b.energyKwh - a.energyKwh);
}
