// Charging sessions that have ended at a location, and the departures that they kept or missed.
import type { EndedSessionView, SessionList } from '../../src/features/sessions/contract.js';
import { useResource } from '../api/resource.js';
import { Badge } from '../ui/badge.js';
import { ErrorNotice } from '../ui/notice.js';
import { localText } from '../ui/time.js';
import { useEvery } from './server-clock.js';
import { REASON_WORDS } from './words.js';

const ROWS = 20;
const READ_EVERY_MS = 60_000;

/** @param path of the sessions to show, with a query */
export function EndedSessions({ path }: { readonly path: string }) {
  const list = useResource(
    (client, signal) => client.get<SessionList>(`${path}&limit=${ROWS}`, signal),
    [path],
  );
  useEvery(READ_EVERY_MS, () => list.reread());
  const { value, error } = list;
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (value === undefined) return <p class="quiet">Loading…</p>;
  if (value.sessions.length === 0) return <p class="quiet">No session ended in these days.</p>;
  return (
    <div class="stack">
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
                <Limited session={session} />
                {session.idTag !== null && <p class="quiet small">Id tag {session.idTag}</p>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {value.nextCursor !== null && <p class="quiet small">The newest {ROWS} are shown.</p>}
    </div>
  );
}

/** The time in which the car got less than it could use, and the reason of most of it. */
function Limited({ session: { limited } }: { readonly session: EndedSessionView }) {
  const [first] = limited;
  const minutes = Math.round(limited.reduce((sum, each) => sum + each.minutes, 0));
  if (first === undefined || minutes === 0) return null;
  return (
    <p class="quiet small">
      {minutes} min limited: {REASON_WORDS[first.reason].toLowerCase()}
    </p>
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
