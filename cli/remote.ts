// The commands that are clients of a running service: their flags. The client is loaded only when one runs.
import { Command, InvalidArgumentError, Option } from 'commander';
import type {
  ClusterFlags,
  EventsFlags,
  LimitFlags,
  RemoteFlags,
  ScheduleFlags,
  SessionsFlags,
} from './remote-run.js';
import { instant, wholeNumber } from './sim-options.js';

function remoteCommand(name: string, about: string): Command {
  return new Command(name)
    .description(about)
    .addOption(
      new Option('--url <url>', 'address of the service')
        .env('HEADROOM_URL')
        .default('http://127.0.0.1:8080')
        .argParser(address),
    )
    .addOption(new Option('--key <key>', 'API key; other users of the machine see flags').env('HEADROOM_KEY'))
    .option('--json', 'print JSON for scripts');
}

function address(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new InvalidArgumentError('It must be an address such as https://headroom.example.');
}

/** An unset variable of a shell gives an empty word, which would address another resource. */
function id(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must not be empty: is the variable set?');
}

function kilowatts(text: string): number {
  if (/^\d{1,7}(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number in kW, such as 22 or 7.4.');
}

const KEY = /^[ -~]{1,255}$/;

function idempotencyKey(text: string): string {
  if (KEY.test(text)) return text;
  throw new InvalidArgumentError(
    'It must be 1 to 255 printable ASCII characters, such as $(uuidgen), new for each change.',
  );
}

function keyOption(): Option {
  return new Option(
    '--idempotency-key <key>',
    'repeat the command with the same key for 24 hours: the change is made once',
  ).argParser(idempotencyKey);
}

const TAG = /^(\*|(W\/)?"[!#-~]+"|[!#-~]+)$/;

/** A shell removes the quotes of a tag. */
function entityTag(text: string): string {
  if (!TAG.test(text))
    throw new InvalidArgumentError('It must be the ETag that "headroom cluster CLUSTER" prints.');
  return text === '*' || text.includes('"') ? text : `"${text}"`;
}

function capKw(text: string): number | 'none' {
  return text === 'none' ? text : kilowatts(text);
}

const HIGHEST_PRIORITY = 10;
const priority = wholeNumber(0, HIGHEST_PRIORITY);
const load = () => import('./remote-run.js');

export function statusCommand(): Command {
  return remoteCommand('status', 'limits and power of locations, or of the connectors of one')
    .argument('[location]', 'locationId', id)
    .action(async (location: string | undefined, flags: RemoteFlags) =>
      (await load()).showStatus(location, flags),
    );
}

export function limitCommand(): Command {
  return remoteCommand('limit', 'read the limits of a location, or set its permanent limit')
    .argument('<location>', 'locationId', id)
    .argument('[kw]', 'the new permanent limit, in kW', kilowatts)
    .addOption(keyOption())
    .action(async (location: string, limitKw: number | undefined, flags: LimitFlags) =>
      (await load()).readOrSetLimit(location, limitKw, flags),
    );
}

export function scheduleCommand(): Command {
  const alone = ['limit', 'from', 'to', 'priority'];
  return remoteCommand('schedule', 'list, submit or cancel the profiles of a location')
    .argument('<location>', 'locationId', id)
    .option('--limit <kw>', 'limit of a new profile, in kW', kilowatts)
    .option('--from <instant>', 'its first instant, such as 2026-06-01T17:00:00Z (default: now)', instant)
    .option('--to <instant>', 'its end', instant)
    .option('--priority <n>', 'its priority, 0 to 10 (default: 0)', priority)
    .addOption(
      new Option('--cancel <priority>', 'cancel the profile of this priority')
        .argParser(priority)
        .conflicts([...alone, 'idempotencyKey']),
    )
    .addOption(keyOption())
    .action(async (location: string, flags: ScheduleFlags) => (await load()).schedule(location, flags));
}

export function clusterCommand(): Command {
  return remoteCommand(
    'cluster',
    'clusters, or the members of one with their shares; create, change or delete one',
  )
    .argument('[cluster]', 'clusterId', id)
    .option('--create <name>', 'create a cluster of this name')
    .option('--location <id...>', 'its locations')
    .option('--limit <kw>', 'its cap, in kW, or none; of a new cluster, or the new one of CLUSTER', capKw)
    .addOption(new Option('--delete', 'delete CLUSTER; its locations stay').conflicts(['create', 'limit']))
    .addOption(keyOption())
    .addOption(
      new Option('--if-match <etag>', 'change or delete CLUSTER only as it was with this ETag').argParser(
        entityTag,
      ),
    )
    .action(async (cluster: string | undefined, flags: ClusterFlags) =>
      (await load()).readOrChangeCluster(cluster, flags),
    );
}

export function eventsCommand(): Command {
  return remoteCommand('events', 'the event log, the oldest first')
    .option('--after <id>', 'only events after this one')
    .option('--type <type...>', 'only these types, such as alarm.began')
    .option('--location <id>', 'only events of this location', id)
    .option('--follow', 'wait for further events until Ctrl-C')
    .action(async (flags: EventsFlags) => (await load()).listEvents(flags));
}

export function sessionsCommand(): Command {
  return remoteCommand('sessions', 'ended charging sessions, the newest end first')
    .option('--location <id>', 'only sessions of this location', id)
    .option('--from <instant>', 'first instant of their ends (default: a day before --to)', instant)
    .option('--to <instant>', 'last instant (default: now)', instant)
    .action(async (flags: SessionsFlags) => (await load()).listSessions(flags));
}

export function watchCommand(): Command {
  return remoteCommand('watch', 'a line for each change of power or limit of a location, until Ctrl-C')
    .argument('<location>', 'locationId', id)
    .action(async (location: string, flags: RemoteFlags) => (await load()).watch(location, flags));
}
