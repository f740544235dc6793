// Charging sessions that have ended at a location, and the departures that they kept or missed.
import type { EndedSessionView, SessionList } from '../../src/features/sessions/contract.js';
import { path } from '../api/client.js';
import { useResource } from '../api/resource.js';
import { Badge } from '../ui/badge.js';
import { localText } from '../ui/time.js';
import { useEvery } from './server-clock.js';

const ROWS = 20;
const READ_EVERY_MS = 60_000;

export function SessionsSection({ locationId }: { readonly locationId: string }) {
  const list = useResource(
    (client, signal) =>
      client.get<SessionList>(path`/sessions?locationId=${locationId}&limit=${ROWS}`, signal),
    [locationId],
  );
  useEvery(READ_EVERY_MS, () => list.reread());
  const { value } = list;
  if (value === undefined || value.sessions.length === 0) return null;
  return (
    <section class="panel stack" aria-label="Sessions">
      <h2>Sessions of the last 24 hours</h2>
      <table class="departures" aria-label="Ended sessions">
        <thead>
          <tr>
            <th scope="col">Connector</th>
            <th scope="col">Came – left</th>
            <th scope="col">Energy</th>
          </tr>
        </thead>
        <tbody>
          {value.sessions.map((session) => (
            <tr
              key={`${session.controllerUuid}/${session.connectorId} ${session.startTime} ${session.sessionId}`}
            >
              <th scope="row">
                {session.controllerUuid}/{session.connectorId}
              </th>
              <td>
                {localText(session.startTime, true)} – {localText(session.endTime, true)}
              </td>
              <td>
                {session.energyKwh.toFixed(1)} kWh <Departure session={session} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {value.nextCursor !== null && <p class="quiet small">The newest {ROWS} are shown.</p>}
    </section>
  );
}

function Departure({ session: { departure, endTime } }: { readonly session: EndedSessionView }) {
  if (departure === null) return null;
  if (departure.isKept) return <Badge tone="good">Kept</Badge>;
  const isEarly = Date.parse(endTime) < Date.parse(departure.departureTime);
  return (
    <>
      <Badge tone="warning">Missed {departure.missingKwh.toFixed(1)} kWh</Badge>
      {isEarly && ' Left early'}
    </>
  );
}
