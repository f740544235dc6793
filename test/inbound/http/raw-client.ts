// A client that is no HTTP library: it sends the bytes it is told to, reads only if it wants to, and leaves when it likes.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface RawClient {
  readonly socket: Socket;
  send(bytes: string): void;
  /** What came so far. */
  readonly text: () => string;
  /** Whether the server has ended its side, or cut the connection. */
  readonly isOver: () => boolean;
  /** All that came until the server was done. */
  readonly over: Promise<string>;
}

/** Connects to the server at `url`, keeping its own side open whatever the server does. Gone at the end of the test. */
export async function rawClient(
  url: string,
  options: { readonly localAddress?: string; readonly isReading?: boolean } = {},
): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const { localAddress, isReading = true } = options;
  const socket = connect({
    host: hostname,
    port: Number(port),
    allowHalfOpen: true,
    ...(localAddress !== undefined && { localAddress }),
  });
  onTestFinished(() => void socket.destroy());
  let text = '';
  let isOver = false;
  const over = new Promise<string>((resolve) => {
    const finish = () => {
      isOver = true;
      resolve(text);
    };
    socket.on('end', finish).on('close', finish).on('error', finish);
  });
  if (isReading) socket.on('data', (chunk) => (text += chunk));
  await once(socket, 'connect');
  return {
    socket,
    over,
    send: (bytes) => void socket.write(bytes),
    text: () => text,
    isOver: () => isOver,
  };
}
