// The HTTPS server: uses the newest certificate, and joins the two sockets that Node makes of one connection.
import type { RequestListener, Server, ServerOptions } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TlsFiles } from '../../tls-files.js';
import type { Connections } from './connections.js';

/** A handshake may take as long as the headers may (`headersTimeout`). */
export function createHttpsServer(
  options: ServerOptions & { readonly headersTimeout: number },
  accept: RequestListener,
  { tlsFiles, connections }: { readonly tlsFiles: TlsFiles; readonly connections: Connections },
): Server {
  const handshakeTimeout = options.headersTimeout;
  const server = createServer({ ...options, ...tlsFiles.serverContext(), handshakeTimeout }, accept);
  tlsFiles.onChange(() => server.setSecureContext(tlsFiles.serverContext()));
  /** Node has no way from an encrypted socket to its TCP socket, but both have the same peer. */
  const handshakes = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    handshakes.set(peer, socket);
    socket.once('close', () => {
      if (handshakes.get(peer) === socket) handshakes.delete(peer);
    });
  });
  server.on('secureConnection', (encrypted) => {
    const peer = peerOf(encrypted);
    const socket = handshakes.get(peer);
    handshakes.delete(peer);
    if (socket !== undefined) connections.encrypt(socket, encrypted);
  });
  return server;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
