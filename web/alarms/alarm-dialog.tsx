// Dialog of an open alarm: acknowledges it, or mutes its kind at its connector or location.
import { useState } from 'preact/hooks';
import type { AlarmView, MuteList, MuteView } from '../../src/features/alarms/contract.js';
import { type ApiClient, path, type Written } from '../api/client.js';
import { Sentence } from '../location/sentence.js';
import { useStreamClock } from '../location/server-clock.js';
import { useSubmission } from '../location/use-submission.js';
import { ALARM_WORDS } from '../location/words.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Choice, Field } from '../ui/field.js';
import { ErrorNotice } from '../ui/notice.js';
import { Time } from '../ui/time.js';
import { type AlarmLine, reasonOf } from './alarm-lines.js';

const HOUR_MS = 3_600_000;
const LENGTHS: readonly (readonly [hours: string, text: string])[] = [
  ['1', '1 hour'],
  ['8', '8 hours'],
  ['24', '1 day'],
  ['168', '7 days'],
];

export function AlarmDialog({
  line,
  name,
  onClose,
}: {
  readonly line: AlarmLine;
  /** Of its location. */
  readonly name: string;
  readonly onClose: () => void;
}) {
  const { alarm } = line;
  const clock = useStreamClock();
  const [note, setNote] = useState('');
  const [hours, setHours] = useState('1');
  const hasConnector = line.chargers === undefined && alarm.connectorId !== null;
  const [place, setPlace] = useState(hasConnector ? 'connector' : 'location');
  const [doneText, setDoneText] = useState('');
  const { isBusy, error, send } = useSubmission<object>(() => {
    announce(doneText);
    onClose();
  });
  function act(text: string, write: (client: ApiClient) => Promise<Written<object>>): void {
    setDoneText(text);
    void send(write);
  }
  const noteOf = note.trim() === '' ? {} : { note: note.trim() };
  const kind = ALARM_WORDS[alarm.kind];
  return (
    <Dialog title={`${kind}: ${name}`} onClose={onClose}>
      <div class="stack">
        <p>
          <Sentence text={reasonOf(line)} />
        </p>
        <Acknowledgement alarm={alarm} />
        <Field label="Note (optional)" value={note} maxLength={500} onInput={setNote} />
        <div class="row">
          <Button
            kind="primary"
            isBusy={isBusy}
            onClick={() => act('The alarm is acknowledged.', (client) => acknowledge(client, line, noteOf))}
          >
            Acknowledge
          </Button>
        </div>
        <Choice label="Mute for" value={hours} options={LENGTHS} onChoose={setHours} />
        {hasConnector && (
          <Choice
            label="Mute at"
            value={place}
            options={[
              ['connector', `Connector ${alarm.controllerUuid} / ${alarm.connectorId}`],
              ['location', 'The whole location'],
            ]}
            onChoose={setPlace}
          />
        )}
        <p class="quiet small">A muted alarm stays in the list. Webhooks receive it when the mute ends.</p>
        {alarm.mutedUntil !== null && (
          <p>
            Muted until <Time at={alarm.mutedUntil} isShort />.
          </p>
        )}
        {error !== undefined && <ErrorNotice error={error} />}
        <div class="row">
          <Button
            isBusy={isBusy}
            onClick={() =>
              act(`“${kind}” is muted.`, (client) =>
                client.post(path`/locations/${alarm.locationId}/alarm-mutes`, {
                  kind: alarm.kind,
                  ...(place === 'connector' && {
                    controllerUuid: alarm.controllerUuid,
                    connectorId: alarm.connectorId,
                  }),
                  until: new Date(clock.nowMs() + Number(hours) * HOUR_MS).toISOString(),
                  ...noteOf,
                }),
              )
            }
          >
            Mute
          </Button>
          {alarm.mutedUntil !== null && (
            <Button
              isBusy={isBusy}
              onClick={() => act('The mute has ended.', (client) => unmute(client, alarm))}
            >
              End the mute
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function Acknowledgement({ alarm: { acknowledgement } }: { readonly alarm: AlarmView }) {
  if (acknowledgement === null) return null;
  const { at, by, note } = acknowledgement;
  return (
    <p>
      Acknowledged <Time at={at} isShort /> by {by}
      {note === null ? '.' : `: ${note}`}
    </p>
  );
}

/** The alarms of a shared line one after another, because a credential has a rate limit. */
async function acknowledge(client: ApiClient, { alarms }: AlarmLine, body: object): Promise<Written<object>> {
  let written: Written<object> = { body: {}, warnings: [] };
  for (const { locationId, alarmId } of alarms)
    written = await client.put(path`/locations/${locationId}/alarms/${alarmId}/acknowledgement`, body);
  return written;
}

/** Ends all mutes that cover the alarm. */
async function unmute(client: ApiClient, alarm: AlarmView): Promise<Written<object>> {
  const mutes = path`/locations/${alarm.locationId}/alarm-mutes`;
  const held = await client.get<MuteList>(mutes);
  const covers = ({ kind, controllerUuid, connectorId }: MuteView) =>
    kind === alarm.kind &&
    (controllerUuid === null ||
      (controllerUuid === alarm.controllerUuid && connectorId === alarm.connectorId));
  for (const { muteId } of held.mutes.filter(covers)) await client.delete(mutes + path`/${muteId}`);
  return { body: {}, warnings: [] };
}
