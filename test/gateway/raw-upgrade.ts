// A request for a web socket, byte by byte, as from a broken charger or a stranger.
import { connect, type Socket } from 'node:net';
import { type Flaw, upgradeText } from '../../tools/bench/http-bytes.js';
import { CHARGER_PASSWORD } from '../service/running-service.js';
import { CHARGER } from './ocpp-site.js';

export interface UpgradeOptions {
  readonly identity?: string;
  readonly password?: string;
  readonly protocol?: string;
  readonly flaw?: Flaw | undefined;
}

export interface RawUpgrade {
  readonly socket: Socket;
  /** Head and body received so far. */
  readonly answer: () => string;
  /** Status of the answer; undefined before it arrives. */
  readonly status: () => number | undefined;
  readonly isClosed: () => boolean;
}

/** Connects to the gateway at `ocppUrl`, and requests a web socket. */
export function askUpgrade(ocppUrl: string, options: UpgradeOptions = {}): RawUpgrade {
  const { identity = CHARGER, password = CHARGER_PASSWORD, protocol = 'ocpp1.6', flaw } = options;
  const { hostname, port, pathname } = new URL(ocppUrl);
  let answer = '';
  let isClosed = false;
  const socket = connect(Number(port), hostname, () =>
    socket.write(upgradeText(pathname, { identity, password, protocol, flaw })),
  );
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
