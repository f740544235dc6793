// Requests that an honest client does not send, over raw sockets and over a client library, and some valid ones.
import { connect } from 'node:net';
import { Agent } from 'undici';
import { systemClock } from '../../src/clock.js';
import type { Dice } from './attack-dice.js';
import { requestText, statusesOf } from './http-bytes.js';

/** Longer than the time that the service gives a client for a whole request. */
const HANGS_AFTER_MS = 60_000;
const MOST_PIPELINED = 12;
/** Number of failed requests that a report shows, and number of characters of each. */
const MOST_FAILURES = 5;
const SHOWN_CHARACTERS = 600;
const ONE_IN_WAITS = 400;
const STREAM = '/v1/stream';

/** Credentials of the attackers and of their victim. */
export interface HttpPrey {
  readonly httpUrl: string;
  readonly apiKey: string;
  /** As `[method, path]`, the path with its parameters in braces. */
  readonly operations: readonly (readonly [string, string])[];
  /** Identifiers of their own, by parameter. */
  readonly own: Readonly<Record<string, string>>;
  /** Identifiers of another tenant, by parameter. */
  readonly foreign: Readonly<Record<string, string>>;
}

export interface HttpTally {
  requests: number;
  readonly statuses: Map<number, number>;
  /** The first few requests with an answer of 500 or above. */
  readonly failures: string[];
  /** Connections on which the service neither answered nor closed. */
  hung: number;
  /** Connections that the service did not accept. */
  refused: number;
}

/** `whole`: an answer is due. `broken`: an answer, or the end of the connection. `partial`: the sender breaks off. */
type Kind = 'whole' | 'broken' | 'partial';

interface Drawn {
  readonly bytes: string;
  readonly kind: Kind;
}

const WINDOW = {
  startTime: '2030-01-01T00:00:00Z',
  endTime: '2030-01-01T01:00:00Z',
  limitKw: 11,
  priority: 3,
};

/** A valid body of an operation. */
function bodyOf(path: string, own: HttpPrey['own']): object {
  if (path.endsWith('/schedules')) return WINDOW;
  if (path.endsWith('/limit')) return { limitKw: 22 };
  if (path.endsWith('/clusters')) return { name: 'mob', locationIds: [own.locationId], limitKw: 10 };
  if (path.endsWith('/operator-limit'))
    return { source: 'DSO', isActive: true, limitKw: 8, sentAt: '2026-06-01T12:00:00Z' };
  if (path.endsWith('/site-meter')) return { at: '2026-06-01T12:00:00Z', powerW: 1_000 };
  if (path.endsWith('/token'))
    return { grant_type: 'client_credentials', client_id: 'mob', client_secret: 'guess' };
  if (path.includes('/credentials/')) return { name: 'mob', scopes: ['locations:read'] };
  return { limitKw: null };
}

const JWT = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiIsInRlbmFudCI6InZpY3RpbSJ9.';

function credentials(dice: Dice, apiKey: string): Record<string, string> {
  return dice.pick<() => Record<string, string>>([
    () => ({ 'x-api-key': apiKey }),
    () => ({ 'x-api-key': apiKey }),
    () => ({ 'x-api-key': apiKey }),
    () => ({ 'X-API-Key': `${apiKey.slice(0, -1)}_` }),
    () => ({ 'x-api-key': dice.name() }),
    () => ({ authorization: `Bearer ${JWT}` }),
    () => ({ authorization: `Basic ${dice.bytes(12).toString('base64')}` }),
    () => ({ authorization: `Bearer ${apiKey}`, 'x-api-key': apiKey }),
    () => ({}),
  ])();
}

function pathOf(dice: Dice, path: string, { own, foreign }: HttpPrey): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const chosen = dice.below(4);
    if (chosen === 0) return dice.name();
    return (chosen === 1 ? foreign[name] : own[name]) ?? dice.name();
  });
  if (!dice.isOneIn(4)) return filled;
  const key = dice.pick(['from', 'to', 'at', 'limit', 'cursor', 'step', 'withLimitKw', 'x']);
  return `${filled}?${key}=${dice.name()}&${key}=${dice.below(1_000)}`;
}

/** Heads that a parser must refuse, or must parse with care. Each begins at the place of a request. */
const STRANGE: readonly ((dice: Dice) => Drawn)[] = [
  (dice) => ({ bytes: `${dice.bytes(1 + dice.below(60)).toString('latin1')}\r\n\r\n`, kind: 'broken' }),
  () => ({ bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', kind: 'broken' }),
  () => ({ bytes: 'GET / HTTP/0.9\r\n\r\n', kind: 'broken' }),
  () => ({ bytes: 'GET /health HTTP/1.1\r\n\r\n', kind: 'broken' }),
  () => ({ bytes: 'GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n', kind: 'broken' }),
  () => ({ bytes: 'CONNECT 127.0.0.1:1 HTTP/1.1\r\nhost: x\r\n\r\n', kind: 'broken' }),
  () => ({ bytes: 'GET http://127.0.0.1:1/v1/locations HTTP/1.1\r\nhost: x\r\n\r\n', kind: 'broken' }),
  () => ({ bytes: 'OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n', kind: 'broken' }),
  () => ({ bytes: 'GET / HTTP/1.1\r\nhost: x\r\nx: a\u0000b\r\n\r\n', kind: 'broken' }),
  () => ({ bytes: 'GET / HTTP/1.1\r\nhost: x\r\n folded: y\r\n\r\n', kind: 'broken' }),
  () => ({ bytes: `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, kind: 'broken' }),
  () => ({ bytes: `GET /${'y'.repeat(14_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, kind: 'broken' }),
  () => ({ bytes: `GET / HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(3_000)}\r\n`, kind: 'broken' }),
  ...[
    'content-length: 1\r\ncontent-length: 2',
    'content-length: 1\r\ntransfer-encoding: chunked',
    'transfer-encoding: chunked\r\ntransfer-encoding: chunked',
    'transfer-encoding: chunked, identity',
    'content-length: -1',
    'content-length: 1e3',
    'content-length: 99999999999999999999',
  ].map(
    (headers) => (): Drawn => ({
      bytes: `POST /v1/clusters HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`,
      kind: 'broken',
    }),
  ),
  ...['zz\r\n', '5;x=y\r\nab', 'FFFFFFFFFFFFFFFF\r\n', '-1\r\n', '0\r\nx: \u0000\r\n\r\n'].map(
    (chunks) => (): Drawn => ({
      bytes: `POST /v1/clusters HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`,
      kind: chunks.includes('5;') ? 'partial' : 'broken',
    }),
  ),
];

function drawOperation(dice: Dice, prey: HttpPrey): Drawn {
  const [method, path] = dice.pick(prey.operations);
  const body = ['GET', 'DELETE'].includes(method) && !dice.isOneIn(10) ? '' : drawBody(dice, path, prey);
  const headers = {
    ...credentials(dice, prey.apiKey),
    ...(dice.isOneIn(8) && { 'x-forwarded-for': dice.name() }),
    ...(dice.isOneIn(20) && { connection: 'upgrade', upgrade: 'websocket' }),
    ...(dice.isOneIn(20) && { accept: '*/*;q=1e999', 'if-none-match': '"' }),
  };
  const bytes = requestText(
    dice.isOneIn(12) ? dice.pick(['TRACE', 'PATCH', 'OPTIONS', 'DELETE']) : method,
    pathOf(dice, path, prey),
    headers,
    body,
  );
  // Requests after a stream on the same connection get no answer.
  const kind = path === STREAM ? 'broken' : 'whole';
  return { bytes: dice.isOneIn(15) ? otherType(dice, bytes) : bytes, kind };
}

function otherType(dice: Dice, bytes: string): string {
  const type = dice.pick([
    'text/plain',
    'application/json; charset=utf-7',
    'application/x-www-form-urlencoded',
    '',
  ]);
  const coding = dice.isOneIn(2) ? '\r\ncontent-encoding: gzip' : '';
  return bytes.replace('content-type: application/json', `content-type: ${type}${coding}`);
}

function drawBody(dice: Dice, path: string, { own }: HttpPrey): string {
  if (dice.isOneIn(60)) return `"${'z'.repeat(150_000)}"`;
  // Bytes of latin1, so that the length of the text equals the content length in the head.
  return Buffer.from(dice.json(bodyOf(path, own))).toString('latin1');
}

function draw(dice: Dice, prey: HttpPrey): Drawn {
  const chosen = dice.below(10);
  if (chosen === 0) return dice.pick(STRANGE)(dice);
  const drawn = drawOperation(dice, prey);
  if (chosen > 1) return drawn;
  // Cut off at a random place, or with a few bytes changed.
  if (dice.isOneIn(2))
    return { bytes: drawn.bytes.slice(0, 1 + dice.below(drawn.bytes.length)), kind: 'partial' };
  return { bytes: dice.flipped(Buffer.from(drawn.bytes, 'latin1')).toString('latin1'), kind: 'partial' };
}

/** One connection with up to twelve requests. @returns after its end */
async function attackOnce(dice: Dice, prey: HttpPrey, tally: HttpTally, most: number): Promise<void> {
  const drawn: Drawn[] = [];
  const count = 1 + dice.below(Math.min(MOST_PIPELINED, most));
  while (drawn.length < count && drawn.every(({ kind }) => kind === 'whole')) drawn.push(draw(dice, prey));
  tally.requests += drawn.length;
  const last = drawn.at(-1)?.kind ?? 'whole';
  const due = last === 'partial' ? drawn.length - 1 : drawn.length;
  const isPatient = last === 'partial' && dice.isOneIn(ONE_IN_WAITS);
  const chunkBytes = dice.isOneIn(20) ? 1 + dice.below(3_000) : undefined;
  const { hostname, port } = new URL(prey.httpUrl);
  await new Promise<void>((resolve) => {
    let text = '';
    let isConnected = false;
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () => {
      isConnected = true;
      const bytes = Buffer.from(drawn.map((each) => each.bytes).join(''), 'latin1');
      for (let at = 0; at < bytes.length; at += chunkBytes ?? bytes.length)
        socket.write(bytes.subarray(at, at + (chunkBytes ?? bytes.length)));
      if (due === 0 && !isPatient) leave();
    });
    const cancel = systemClock.after(HANGS_AFTER_MS, () => {
      tally.hung++;
      leave();
    });
    const leave = () => {
      cancel();
      socket.destroy();
      resolve();
    };
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!isPatient && answersIn(text) >= due) leave();
    });
    socket.on('end', leave);
    socket.on('error', () => {
      if (!isConnected) tally.refused++;
      leave();
    });
    socket.once('close', () => {
      for (const status of statusesOf(text)) note(tally, status, drawn.map((each) => each.bytes).join(''));
      leave();
    });
  });
}

function note({ statuses, failures }: HttpTally, status: number, sent: string): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (status >= 500 && failures.length < MOST_FAILURES)
    failures.push(`${status} to ${JSON.stringify(sent.slice(0, SHOWN_CHARACTERS))}`);
}

/** Interim answers (1xx) do not count. */
function answersIn(text: string): number {
  return statusesOf(text).filter((status) => status >= 200).length;
}

/** The same requests by a library, with correct framing. */
async function askByLibrary(dice: Dice, prey: HttpPrey, tally: HttpTally, agent: Agent): Promise<void> {
  const [method, path] = dice.pick(prey.operations.filter(([, each]) => each !== STREAM));
  const isRead = method === 'GET';
  const leaving = new AbortController();
  const cancel = systemClock.after(HANGS_AFTER_MS, () => leaving.abort());
  tally.requests++;
  try {
    const { statusCode, body } = await agent.request({
      origin: prey.httpUrl,
      path: pathOf(dice, path, prey),
      method: method as 'GET',
      headers: { ...credentials(dice, prey.apiKey), ...(!isRead && { 'content-type': 'application/json' }) },
      body: isRead ? null : dice.json(bodyOf(path, prey.own)),
      signal: leaving.signal,
    });
    await body.dump();
    note(tally, statusCode, `${method} ${path}`);
  } catch {
    if (leaving.signal.aborted) tally.hung++;
  } finally {
    cancel();
  }
}

/** Sends `count` requests, many at once. */
export async function attackHttp(
  dice: Dice,
  prey: HttpPrey,
  tally: HttpTally,
  {
    count,
    atOnce,
    isOver,
  }: { readonly count: number; readonly atOnce: number; readonly isOver: () => boolean },
): Promise<void> {
  const until = tally.requests + count;
  const agent = new Agent({ connections: 8 });
  const attacker = async () => {
    while (tally.requests < until && !isOver()) {
      if (dice.isOneIn(3)) await askByLibrary(dice, prey, tally, agent);
      else await attackOnce(dice, prey, tally, until - tally.requests);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, attacker));
  await agent.close();
}
