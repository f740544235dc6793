// Implementation of the commands that are clients of a running service.
import { createHeadroom, type Headroom, type HeadroomOptions, type Schemas } from '../client/headroom.js';
import type { EpochMs } from '../machines/values/time.js';
import { systemClock } from '../src/clock.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { toInstant } from '../src/wire/instants.js';
import { printJson, printLine, printNote, printTable } from './print.js';

export interface RemoteFlags {
  readonly url: string;
  readonly key?: string;
  readonly json?: true;
}

interface KeyFlags {
  readonly idempotencyKey?: string;
}

export interface LimitFlags extends RemoteFlags, KeyFlags {}

export interface ClusterFlags extends RemoteFlags, KeyFlags {
  readonly create?: string;
  readonly location?: readonly string[];
  readonly limit?: number | 'none';
  readonly delete?: true;
  readonly ifMatch?: string;
}

export interface ScheduleFlags extends RemoteFlags, KeyFlags {
  readonly limit?: number;
  readonly from?: EpochMs;
  readonly to?: EpochMs;
  readonly priority?: number;
  readonly cancel?: number;
}

export interface EventsFlags extends RemoteFlags {
  readonly after?: string;
  readonly type?: readonly string[];
  readonly location?: string;
  readonly follow?: true;
}

export interface SessionsFlags extends RemoteFlags {
  readonly location?: string;
  readonly from?: EpochMs;
  readonly to?: EpochMs;
}

/** A person waits: the answer to a wrong address comes within two seconds. */
const ATTEMPTS = 3;

function clientOf({ url, key }: RemoteFlags, following: Following = {}): Headroom {
  if (key === undefined || key === '')
    throw new OperatorError('the API key is missing: set HEADROOM_KEY, or give it with --key');
  return createHeadroom({ url, apiKey: key, attempts: ATTEMPTS, onWarning: printNote, ...following });
}

type Following = Pick<HeadroomOptions, 'attempts' | 'onRetry'>;

/** A command that ends only at Ctrl-C reports a loss of the service. */
const REPORTED: Following = { onRetry: ({ message }) => printNote(`${message}; trying again`) };
/** Once the service has answered, such a command also outlives the loss. */
const FOLLOWING: Following = { ...REPORTED, attempts: Number.POSITIVE_INFINITY };

/** The key as a String of RFC 9651. */
function keyHeaderOf({ idempotencyKey }: KeyFlags) {
  return idempotencyKey === undefined
    ? {}
    : { header: { 'Idempotency-Key': `"${idempotencyKey.replace(/["\\]/g, '\\$&')}"` } };
}

interface Listed {
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  /** Printed in place of an empty table. */
  readonly none: string;
}

function printList({ json }: RemoteFlags, value: unknown, { head, rows, none }: Listed): void {
  if (json) printJson(value);
  else if (rows.length === 0) printNote(none);
  else printTable(head, rows);
}

/** Until a signal, or until the reader of the output leaves. */
async function untilStopped(follow: (stopped: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const onStop = () => stop.abort();
  process.stdout.on('error', onStop);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onStop);
  try {
    await follow(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
}

export async function showStatus(locationId: string | undefined, flags: RemoteFlags): Promise<void> {
  const headroom = clientOf(flags);
  if (locationId !== undefined) return showLocation(headroom, locationId, flags);
  const locations: Schemas['LocationSummary'][] = [];
  for await (const page of headroom.pages('/v1/locations')) locations.push(...page.locations);
  printList(flags, locations, {
    head: ['LOCATION', 'NAME', 'LIMIT kW', 'POWER kW', 'CONNECTORS', 'SILENT', 'LOCKED', 'ALARMS'],
    none: 'No locations yet: "headroom provision FILE" creates them.',
    rows: locations.map((each) => [
      each.locationId,
      each.name,
      each.gridLimitKw,
      each.actualKw,
      each.connectors,
      each.silentConnectors,
      each.lockedConnectors,
      each.openAlarms,
    ]),
  });
}

async function showLocation(headroom: Headroom, locationId: string, flags: RemoteFlags): Promise<void> {
  const live = await headroom.get('/v1/locations/{locationId}/live', { path: { locationId } });
  if (flags.json) return printJson(live);
  printLine(`${live.name}: ${live.actualKw} kW of ${live.gridLimitKw} kW`);
  for (const { kind, beganAt } of live.alarms) printLine(`Alarm since ${beganAt}: ${kind}`);
  printTable(
    ['CONNECTOR', 'STATUS', 'LIMIT kW', 'POWER kW', 'REASON'],
    live.connectors.map((each) => [
      `${each.controllerUuid}/${each.connectorId}`,
      each.chargingStatus ?? '',
      each.limitKw ?? '',
      each.actualKw,
      each.explanation,
    ]),
  );
}

export async function readOrSetLimit(
  locationId: string,
  limitKw: number | undefined,
  flags: LimitFlags,
): Promise<void> {
  if (limitKw === undefined && flags.idempotencyKey !== undefined)
    throw new OperatorError('--idempotency-key needs a new limit, in kW');
  const headroom = clientOf(flags);
  const path = { locationId };
  if (limitKw !== undefined)
    await headroom.put('/v1/locations/{locationId}/limit', {
      path,
      body: { limitKw },
      ...keyHeaderOf(flags),
    });
  const { permanentLimitKw, effectiveLimitKw, gridLimitKw } = await headroom.get(
    '/v1/locations/{locationId}',
    { path },
  );
  if (flags.json) return printJson({ locationId, permanentLimitKw, effectiveLimitKw, gridLimitKw });
  printTable(
    ['LOCATION', 'PERMANENT kW', 'BY PROFILES kW', 'IN FORCE kW'],
    [[locationId, permanentLimitKw, effectiveLimitKw, gridLimitKw]],
  );
}

export async function schedule(locationId: string, flags: ScheduleFlags): Promise<void> {
  const { limit: limitKw, from, to, priority, cancel } = flags;
  const isPart = [from, to, priority].some((each) => each !== undefined);
  if ((limitKw === undefined) !== (to === undefined) || (limitKw === undefined && isPart))
    throw new OperatorError('a new profile needs --limit and --to');
  // Without it, a repeated command would be another request.
  if (flags.idempotencyKey !== undefined && (limitKw === undefined || from === undefined))
    throw new OperatorError('--idempotency-key needs a new profile with --limit, --from and --to');
  const headroom = clientOf(flags);
  if (cancel !== undefined) {
    const cancelled = await headroom.delete('/v1/locations/{locationId}/schedules/{priority}', {
      path: { locationId, priority: cancel },
    });
    return printProfiles([cancelled], cancelled, flags);
  }
  if (limitKw === undefined || to === undefined) {
    const limits = await headroom.get('/v1/locations/{locationId}/limits', { path: { locationId } });
    return printProfiles(limits.profiles, limits, flags);
  }
  const submitted = await headroom.post('/v1/locations/{locationId}/schedules', {
    path: { locationId },
    body: {
      limitKw,
      startTime: toInstant(from ?? systemClock.nowMs()),
      endTime: toInstant(to),
      priority: priority ?? 0,
    },
    ...keyHeaderOf(flags),
  });
  printProfiles([submitted], submitted, flags);
}

function printProfiles(profiles: readonly Schemas['Profile'][], answer: object, flags: RemoteFlags): void {
  const isCancelled = 'supersededAt' in answer;
  printList(flags, answer, {
    head: ['PRIORITY', 'LIMIT kW', 'FROM', 'TO', 'STATUS'],
    none: 'No profiles: the permanent limit applies.',
    rows: profiles.map(({ priority, limitKw, startTime, endTime, status }) => [
      priority,
      limitKw,
      startTime,
      endTime,
      isCancelled ? 'CANCELLED' : status,
    ]),
  });
}

export async function readOrChangeCluster(clusterId: string | undefined, flags: ClusterFlags): Promise<void> {
  requireWhole(clusterId, flags);
  const { create, location = [], limit, ifMatch } = flags;
  const limitKw = limit === 'none' ? null : limit;
  const headroom = clientOf(flags);
  if (create !== undefined) {
    const body = { name: create, locationIds: [...location], ...(limitKw !== undefined && { limitKw }) };
    const created = await headroom.post('/v1/clusters', { body, ...keyHeaderOf(flags) });
    return printClusters(flags, created, [created]);
  }
  if (clusterId === undefined) {
    const { clusters } = await headroom.get('/v1/clusters');
    return printClusters(flags, clusters, clusters);
  }
  const asked = { path: { clusterId }, ...(ifMatch !== undefined && { header: { 'If-Match': ifMatch } }) };
  if (flags.delete) {
    const deleted = await headroom.delete('/v1/clusters/{clusterId}', asked);
    return flags.json ? printJson(deleted) : printLine(`Deleted ${clusterId}.`);
  }
  if (limitKw !== undefined)
    await headroom.patch('/v1/clusters/{clusterId}', { ...asked, body: { limitKw } });
  return showCluster(headroom, clusterId, flags);
}

/** @throws OperatorError for flags that need others */
function requireWhole(clusterId: string | undefined, flags: ClusterFlags): void {
  const { create, location, limit, idempotencyKey, ifMatch } = flags;
  if (create !== undefined && (clusterId !== undefined || location === undefined))
    throw new OperatorError('a new cluster needs --create and --location, and no clusterId');
  if (create === undefined && location !== undefined) throw new OperatorError('--location needs --create');
  if (create === undefined && idempotencyKey !== undefined)
    throw new OperatorError('--idempotency-key needs --create');
  const isChange = limit !== undefined || flags.delete === true;
  if (create === undefined && clusterId === undefined && isChange)
    throw new OperatorError('--limit and --delete need the clusterId, or --limit a --create');
  if (ifMatch !== undefined && (create !== undefined || !isChange))
    throw new OperatorError('--if-match needs the clusterId with --limit or --delete');
}

function printClusters(flags: RemoteFlags, answer: object, clusters: readonly Schemas['Cluster'][]): void {
  printList(flags, answer, {
    head: ['CLUSTER', 'NAME', 'CAP kW', 'STATUS', 'LOCATIONS'],
    none: 'No clusters yet.',
    rows: clusters.map((each) => [
      each.clusterId,
      each.name,
      each.limitKw ?? 'none',
      each.status,
      each.locationIds.length,
    ]),
  });
}

async function showCluster(headroom: Headroom, clusterId: string, flags: RemoteFlags): Promise<void> {
  let etag = '';
  const cluster = await headroom.get('/v1/clusters/{clusterId}', {
    path: { clusterId },
    onAnswer: ({ entityTag = '' }) => {
      etag = entityTag;
    },
  });
  if (flags.json) return printJson({ ...cluster, etag });
  printNote(`For a change of this state alone: --if-match '${etag}'`);
  const { actualTotalKw, locations } = cluster.liveStatus;
  const capText = cluster.limitKw === null ? 'without a cap' : `of ${cluster.limitKw} kW`;
  printLine(`${cluster.name}, ${cluster.status}: ${actualTotalKw} kW ${capText}`);
  printTable(
    ['LOCATION', 'SET kW', 'SHARE kW', 'POWER kW'],
    locations.map((each) => [each.locationId, each.setLimitKw, each.effectiveLimitKw, each.actualKw]),
  );
}

/** The longest wait that the service permits. */
const WAIT_S = 25;

export async function listEvents(flags: EventsFlags): Promise<void> {
  const query = {
    ...(flags.location !== undefined && { locationId: flags.location }),
    ...(flags.type !== undefined && { type: flags.type.join(',') }),
  };
  const read = async (headroom: Headroom, after: string, waitS: number, signal?: AbortSignal) => {
    const page = await headroom.get('/v1/events', {
      query: { ...query, after, waitS },
      ...(signal && { signal }),
    });
    if (after !== '0' && !page.isGapless)
      printNote(
        Number(after) > Number(page.last)
          ? `The newest event is ${page.last}: the log has no event ${after} yet.`
          : `Some events after ${after} are no longer kept.`,
      );
    return page;
  };
  const { after = '0' } = flags;
  if (flags.follow)
    return untilStopped(async (signal) => {
      let page = await read(clientOf(flags), after, 0, signal);
      for (const patient = clientOf(flags, FOLLOWING); ; ) {
        printEachEvent(page, flags);
        page = await read(patient, page.last, WAIT_S, signal);
      }
    });
  const page = await read(clientOf(flags), after, 0);
  printList(flags, page, {
    head: ['ID', 'AT', 'TYPE', 'OF', 'BY'],
    none: 'No events.',
    rows: page.events.map(cellsOf),
  });
  printNote(`Later events: --after ${page.last}`);
}

function printEachEvent({ events }: Schemas['EventPage'], { json }: RemoteFlags): void {
  for (const event of events) {
    if (json) printJson(event);
    else printLine(cellsOf(event).join('  ').trimEnd());
  }
}

function cellsOf({ id, at, type, locationId, controllerUuid, connectorId, by }: Schemas['LoggedEvent']) {
  const connector = controllerUuid === null ? '' : ` ${controllerUuid}/${connectorId ?? ''}`;
  return [id, at, type, `${locationId ?? ''}${connector}`, by ?? ''];
}

export async function listSessions(flags: SessionsFlags): Promise<void> {
  const query = {
    ...(flags.location !== undefined && { locationId: flags.location }),
    ...(flags.from !== undefined && { from: toInstant(flags.from) }),
    ...(flags.to !== undefined && { to: toInstant(flags.to) }),
  };
  const sessions: Schemas['EndedSession'][] = [];
  for await (const page of clientOf(flags).pages('/v1/sessions', { query })) sessions.push(...page.sessions);
  printList(flags, sessions, {
    head: ['LOCATION', 'CONNECTOR', 'BEGIN', 'END', 'ENERGY kWh', 'PEAK kW', 'DEPARTURE'],
    none: 'No session ended in this time.',
    rows: sessions.map((each) => [
      each.locationId,
      `${each.controllerUuid}/${each.connectorId}`,
      each.startTime,
      each.endTime,
      each.energyKwh,
      each.peakKw,
      departureText(each),
    ]),
  });
}

function departureText({ departure }: Schemas['EndedSession']): string {
  if (departure === null) return '';
  return departure.isKept ? 'kept' : `missed by ${departure.missingKwh} kWh`;
}

export async function watch(locationId: string, flags: RemoteFlags): Promise<void> {
  const [headroom, patient] = [clientOf(flags, REPORTED), clientOf(flags, FOLLOWING)];
  let limitKw: number | undefined;
  let actualKw: number | undefined;
  let printed = '';

  function print(at: string): void {
    const text = `${actualKw} kW of ${limitKw} kW`;
    if (text === printed) return;
    printed = text;
    if (flags.json) printJson({ at, locationId, actualKw, limitKw });
    else printLine(`${at}  ${text}`);
  }

  await untilStopped(async (signal) => {
    for await (const item of headroom.stream({ locationId, signal })) {
      if (item.event === 'opened') {
        const live = await patient.get('/v1/locations/{locationId}/live', { path: { locationId }, signal });
        ({ gridLimitKw: limitKw, actualKw } = live);
        print(live.at);
      } else if (item.event === 'gridLimit') {
        limitKw = item.data.gridLimitKw;
        print(item.data.at);
      } else if (item.event === 'power') {
        ({ actualKw } = item.data);
        print(item.data.at);
      }
    }
  });
}
