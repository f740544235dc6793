// A request for a web socket, byte by byte, as a broken charger or somebody else sends it to a gateway.
import { connect, type Socket } from 'node:net';
import { CHARGER_PASSWORD } from '../service/running-service.js';
import { CHARGER } from './ocpp-site.js';

/** The mistakes that only the web socket library notices, after the charger was let in. */
export const BROKEN = ['without key', 'with a short key', 'with a wrong version'] as const;
export type Flaw = (typeof BROKEN)[number];

export interface UpgradeOptions {
  readonly identity?: string;
  readonly password?: string;
  readonly flaw?: Flaw | undefined;
}

export interface RawUpgrade {
  readonly socket: Socket;
  /** Head and body as they came so far. */
  readonly answer: () => string;
  /** Of the answer; undefined until it came. */
  readonly status: () => number | undefined;
  readonly isClosed: () => boolean;
}

/** Connects to the gateway at `ocppUrl`, and asks for a web socket. */
export function askUpgrade(ocppUrl: string, options: UpgradeOptions = {}): RawUpgrade {
  const { identity = CHARGER, password = CHARGER_PASSWORD, flaw } = options;
  const { hostname, port, pathname } = new URL(ocppUrl);
  const basic = Buffer.from(`${identity}:${password}`).toString('base64');
  const key = flaw === 'with a short key' ? 'c2hvcnQ=' : 'dGhlIHNhbXBsZSBub25jZQ==';
  const head = [
    `GET ${pathname}/${identity} HTTP/1.1`,
    'host: gateway',
    'connection: upgrade',
    'upgrade: websocket',
    `sec-websocket-version: ${flaw === 'with a wrong version' ? 7 : 13}`,
    'sec-websocket-protocol: ocpp1.6',
    `authorization: Basic ${basic}`,
    ...(flaw === 'without key' ? [] : [`sec-websocket-key: ${key}`]),
  ];
  let answer = '';
  let isClosed = false;
  const socket = connect(Number(port), hostname, () => socket.write(`${head.join('\r\n')}\r\n\r\n`));
  socket.on('data', (data) => {
    answer += data.toString('latin1');
  });
  socket.on('error', () => {});
  socket.once('close', () => {
    isClosed = true;
  });
  return {
    socket,
    answer: () => answer,
    status: () => (answer === '' ? undefined : Number(answer.split(' ')[1])),
    isClosed: () => isClosed,
  };
}
