// Opens one connection to the address of an MQTT broker and sends nothing: a check of the address and its certificate.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { isTlsUrl } from '../../broker-url.js';
import type { Clock } from '../../ports/clock.js';

const WITHIN_MS = 5_000;
const USUAL_PORTS: Readonly<Record<string, number>> = {
  'mqtts:': 8883,
  'tls:': 8883,
  'wss:': 443,
  'ws:': 80,
};

export interface ReachedBroker {
  /** Host and port. */
  readonly place: string;
  /** Of the presented certificate, if any; ms since 1970. */
  readonly validity: { readonly startsAtMs: number; readonly expiresAtMs: number } | undefined;
}

/**
 * @param ca PEM of the authorities that may sign its certificate; undefined for the system's own
 * @throws Error that names place and cause
 */
export async function reachBroker(url: string, ca: string | undefined, clock: Clock): Promise<ReachedBroker> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/[[\]]/g, '');
  const to = { host, port: Number(port) || (USUAL_PORTS[protocol] ?? 1883) };
  const place = `${hostname}:${to.port}`;
  const isTls = isTlsUrl(url);
  const socket = isTls
    ? connectTls({
        ...to,
        ...(isIP(host) === 0 && { servername: host }),
        ...(ca === undefined ? {} : { ca }),
      })
    : connectTcp(to);
  try {
    await connected(socket, isTls ? 'secureConnect' : 'connect', clock);
    if (!(socket instanceof TLSSocket)) return { place, validity: undefined };
    const { valid_from, valid_to } = socket.getPeerCertificate();
    return { place, validity: { startsAtMs: Date.parse(valid_from), expiresAtMs: Date.parse(valid_to) } };
  } catch (error) {
    throw new Error(`${place} cannot be reached: ${causeOf(error)}`);
  } finally {
    socket.destroy();
  }
}

/** For a name with several addresses, Node's error has a message for each, and none for all. */
function causeOf(error: unknown): string {
  const one: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return one instanceof Error ? one.message : String(one);
}

function connected(socket: Socket, event: 'connect' | 'secureConnect', clock: Clock): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const cancel = clock.after(WITHIN_MS, () => reject(new Error('no answer')));
    socket.once('close', cancel);
    socket.once('error', reject);
    socket.once(event, resolve);
  });
}
