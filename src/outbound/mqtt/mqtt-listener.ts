// Accepts connections of chargers, with TLS or without. Each becomes a
// session of the MQTT authorizer before it is served.
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { namesOf } from '../../certificate-names.js';
import type { TlsFiles } from '../../tls-files.js';
import type { MqttAuthorizer } from './mqtt-authorizer.js';
import type { Session } from './session.js';

type Serve = (socket: Socket, session: Session) => void;

export interface MqttListener {
  readonly server: Server;
  /** Ends every connection, also during its TLS handshake. */
  dropConnections(): void;
}

/** `serve` is called once bytes of MQTT can be read from the socket. */
export function createMqttListener(options: {
  readonly authorizer: MqttAuthorizer;
  readonly tlsFiles: TlsFiles | undefined;
  readonly handshakeTimeoutMs: number;
  readonly serve: Serve;
}): MqttListener {
  const { authorizer, tlsFiles, serve } = options;
  const sessions = new Map<Socket, Session>();

  function accept(socket: Socket): Session | undefined {
    const address = socket.remoteAddress ?? 'unknown';
    const session = authorizer.open({ address, giveWay: () => socket.destroy() });
    if (session === undefined) {
      socket.destroy();
      return undefined;
    }
    sessions.set(socket, session);
    socket.once('close', () => {
      sessions.delete(socket);
      authorizer.close(session);
    });
    return session;
  }

  const server =
    tlsFiles === undefined
      ? createServer({ noDelay: true }, (socket) => {
          const session = accept(socket);
          if (session !== undefined) serve(socket, session);
        })
      : createTlsListener({ ...options, tlsFiles, accept });
  return {
    server,
    dropConnections() {
      for (const [socket, session] of sessions) {
        // The broker ends the connection itself: that is not counted as an error.
        session.isRefused = true;
        socket.destroy();
      }
    },
  };
}

function createTlsListener(options: {
  readonly authorizer: MqttAuthorizer;
  readonly tlsFiles: TlsFiles;
  readonly handshakeTimeoutMs: number;
  readonly accept: (socket: Socket) => Session | undefined;
  readonly serve: Serve;
}): Server {
  const { authorizer, tlsFiles, accept, serve } = options;
  /** Node has no way from an encrypted socket to its TCP socket, but both have the same peer. */
  const handshakes = new Map<string, Session>();

  function claimSession(socket: Socket): Session | undefined {
    const peer = peerOf(socket);
    const session = handshakes.get(peer);
    handshakes.delete(peer);
    return session;
  }

  const server = createTlsServer({
    ...tlsFiles.brokerContext(),
    noDelay: true,
    handshakeTimeout: options.handshakeTimeoutMs,
    requestCert: tlsFiles.asksForCertificates(),
    // A client without a trusted certificate is refused below, which counts and logs it.
    rejectUnauthorized: false,
  });
  tlsFiles.onChange(() => server.setSecureContext(tlsFiles.brokerContext()));
  server.on('connection', (socket: Socket) => {
    const session = accept(socket);
    if (session === undefined) return;
    const peer = peerOf(socket);
    handshakes.set(peer, session);
    socket.once('close', () => {
      if (handshakes.get(peer) === session) handshakes.delete(peer);
    });
  });
  server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
    const session = claimSession(socket);
    if (session !== undefined) authorizer.failHandshake(session, error);
    socket.destroy();
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    const session = claimSession(socket);
    if (session === undefined) {
      socket.destroy();
      return;
    }
    if (tlsFiles.asksForCertificates()) {
      if (!socket.authorized) {
        authorizer.failHandshake(session, socket.authorizationError);
        socket.destroy();
        return;
      }
      session.certificateNames = namesOf(socket.getPeerCertificate());
    }
    serve(socket, session);
  });
  return server;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
