// One connection to where an MQTT broker should be, on which nothing is said: whether somebody is there, and who by the certificate.
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
  /** Of the certificate that was shown there, if one was; ms since 1970. */
  readonly validity: { readonly startsAtMs: number; readonly expiresAtMs: number } | undefined;
}

/**
 * @param ca PEM of who may have signed its certificate; undefined for whom the system trusts
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

/** Where a name stands for several addresses, Node says why of each, and nothing of all. */
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
