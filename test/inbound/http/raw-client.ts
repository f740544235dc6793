// A client without an HTTP library: it sends given bytes, reads only on demand, and leaves at any time.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface RawClient {
  readonly socket: Socket;
  send(bytes: string): void;
  /** Text received so far. */
  readonly text: () => string;
  /** True once the server has ended its side, or cut the connection. */
  readonly isOver: () => boolean;
  /** The whole text, once the server has ended. */
  readonly over: Promise<string>;
}

/**
 * Connects to the server at `url`. The client keeps its own side open until the end of the test, even after the
 * server has ended.
 */
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
