// Sends one event to the URL of a webhook. The URL comes from a tenant, so it must lead to no private address, neither
// by its host nor by a redirect. The address is checked when it is connected to: a name may change between two look-ups.
import { lookup as lookUp } from 'node:dns';
import { Agent as PlainAgent, type RequestOptions, request as requestPlain } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import type { Clock } from '../../ports/clock.js';
import type { SendWebhook, WebhookFailure, WebhookMessage } from '../../ports/webhooks.js';

const ANSWERED_WITHIN_MS = 10_000;
const READ_AT_MOST_BYTES = 65_536;
const LONGEST_ERROR = 200;
/**
 * Connections to a receiver that wait for the next event, and the time that each one waits. Most servers close theirs
 * after 5 s or more.
 */
const KEPT = { keepAlive: true, maxFreeSockets: 4, timeout: 4_000 } as const;

/** IANA's special-purpose registries: addresses that are not of the public internet. */
const PRIVATE_V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;
/** Of the global unicast addresses. Some of them carry IPv4 addresses, which may be private. */
const PRIVATE_V6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

const privates = new BlockList();
for (const [address, bits] of PRIVATE_V4) privates.addSubnet(address, bits, 'ipv4');
for (const [address, bits] of PRIVATE_V6) privates.addSubnet(address, bits, 'ipv6');
const globals = new BlockList();
globals.addSubnet('2000::', 3, 'ipv6');

function isPrivate(address: string): boolean {
  if (isIP(address) === 4) return privates.check(address, 'ipv4');
  return !globals.check(address, 'ipv6') || privates.check(address, 'ipv6');
}

const PRIVATE_PROBLEM =
  'leads to a private address, which this service does not allow (HEADROOM_WEBHOOK_PRIVATE)';

/** Undefined: the URL may be tried. */
export function urlProblemOf(url: string, isPrivateAllowed: boolean): string | undefined {
  if (isPrivateAllowed) return undefined;
  const { protocol } = new URL(url);
  if (protocol !== 'https:') return 'must be https://…: another connection could be read on the way';
  const host = hostOf(url);
  return isIP(host) !== 0 && isPrivate(host) ? PRIVATE_PROBLEM : undefined;
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** The look-up of a connection: it fails if one of the addresses is private. */
const lookUpPublic: LookupFunction = (host, options, callback) => {
  lookUp(host, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, '');
    const [first] = addresses;
    if (first === undefined || addresses.some(({ address }) => isPrivate(address)))
      return callback(new Error(PRIVATE_PROBLEM), '');
    if (options.all === true) return callback(null, addresses);
    return callback(null, first.address, first.family);
  });
};

export function createWebhookSender(options: {
  readonly clock: Clock;
  readonly isPrivateAllowed: boolean;
}): SendWebhook {
  const { clock, isPrivateAllowed } = options;
  const lookup = isPrivateAllowed ? {} : { lookup: lookUpPublic };
  const plain = new PlainAgent({ ...KEPT, ...lookup });
  const tls = new TlsAgent({ ...KEPT, ...lookup });
  const attempt = (message: WebhookMessage, isOnKept: boolean): Promise<WebhookFailure> =>
    new Promise<WebhookFailure>((resolve) => {
      const { url, headers, body, signal } = message;
      const isTls = new URL(url).protocol === 'https:';
      const settings: RequestOptions = {
        method: 'POST',
        headers: { ...headers, 'user-agent': 'headroom', 'content-length': Buffer.byteLength(body) },
        agent: isOnKept && (isTls ? tls : plain),
        signal,
        ...lookup,
      };
      const request = isTls ? requestTls(url, settings) : requestPlain(url, settings);
      let isOver = false;
      const cancel = clock.after(ANSWERED_WITHIN_MS, () => {
        isOver = true;
        request.destroy(new Error(`no whole answer within ${ANSWERED_WITHIN_MS / 1000} s`));
      });
      const end = (failure: WebhookFailure) => {
        cancel();
        resolve(failure);
      };
      let isAnswered = false;
      request.on('error', (error) => {
        // The receiver may have closed a kept connection just before.
        if (request.reusedSocket && !isAnswered && !isOver && !signal.aborted) {
          cancel();
          resolve(attempt(message, false));
        } else end({ error: (error.message || String(Reflect.get(error, 'code'))).slice(0, LONGEST_ERROR) });
      });
      request.on('response', (response) => {
        isAnswered = true;
        let readBytes = 0;
        const failure = failureOf(response.statusCode ?? 0, response.headers['retry-after']);
        response.on('data', (chunk: Buffer) => {
          readBytes += chunk.length;
          // The status is all that counts.
          if (readBytes <= READ_AT_MOST_BYTES) return;
          end(failure);
          request.destroy();
        });
        response.on('end', () => end(failure));
      });
      request.on('close', () => end({ error: 'the connection was closed before the answer' }));
      request.end(body);
    });
  return (message) => {
    const problem = urlProblemOf(message.url, isPrivateAllowed);
    if (problem !== undefined) return Promise.resolve({ error: `the URL ${problem}` });
    // Node refuses some requests before it sends them.
    return attempt(message, true).catch((error: unknown) => ({
      error: String(error).slice(0, LONGEST_ERROR),
    }));
  };
}

function failureOf(status: number, retryAfter: string | undefined): WebhookFailure {
  if (status >= 200 && status < 300) return undefined;
  const isRedirect = status >= 300 && status < 400;
  const error = isRedirect ? `answered ${status}: redirects are not followed` : `answered ${status}`;
  return retryAfter !== undefined && /^\d{1,9}$/.test(retryAfter)
    ? { error, retryAfterMs: 1000 * Number(retryAfter) }
    : { error };
}
