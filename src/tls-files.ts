// The certificate of REST and of the embedded broker. Its files may be replaced while the servers run.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type PeerCertificate, type SecureContextOptions } from 'node:tls';
import { type Config, hasOwnBroker, variableOf } from './config.js';
import type { Metrics } from './metrics.js';
import type { Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import { OperatorError } from './ports/operator-error.js';

/** Settings of the same names: PEM files. */
export interface TlsSettings {
  readonly tlsCert: string;
  readonly tlsKey: string;
  readonly tlsClientCa: string | undefined;
}

/** A file for TLS that cannot be used. The message is one line for the operator, and shows nothing of a key. */
export class TlsFileError extends OperatorError {}

interface Pems {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | undefined;
}

const OLDEST_VERSION = 'TLSv1.2';
const DAY_MS = 24 * 3600 * 1000;
const WARN_AHEAD_MS = 14 * DAY_MS;

export class TlsFiles {
  readonly #settings: TlsSettings;
  readonly #parts: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics };
  readonly #listeners: (() => void)[] = [];
  #pems: Pems;
  #startsAtMs = 0;
  #expiresAtMs = 0;
  #warnsNextAtMs = 0;

  /** @throws TlsFileError */
  constructor(
    settings: TlsSettings,
    parts: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics },
  ) {
    this.#settings = settings;
    this.#parts = parts;
    this.#pems = this.#read();
    this.#use(this.#pems);
  }

  /** For a server that requires no certificates of clients. */
  serverContext(): SecureContextOptions {
    const { cert, key } = this.#pems;
    return { cert, key, minVersion: OLDEST_VERSION };
  }

  /** For the broker; with a client CA chargers must present certificates. */
  brokerContext(): SecureContextOptions {
    const { clientCa } = this.#pems;
    return clientCa === undefined ? this.serverContext() : { ...this.serverContext(), ca: clientCa };
  }

  /** Span in which all certificates are valid, ms since 1970. */
  get validity(): { readonly startsAtMs: number; readonly expiresAtMs: number } {
    return { startsAtMs: this.#startsAtMs, expiresAtMs: this.#expiresAtMs };
  }

  asksForCertificates(): boolean {
    return this.#pems.clientCa !== undefined;
  }

  /** Calls `listener` after a change of the contexts; open connections keep theirs. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Reads the files again, and warns once a day before an expiry. @throws TlsFileError; the earlier files stay in force
   */
  refresh(): void {
    this.#warnOfEnd();
    const pems = this.#read();
    const { cert, key, clientCa } = this.#pems;
    if (pems.cert === cert && pems.key === key && pems.clientCa === clientCa) return;
    this.#use(pems);
    for (const listener of this.#listeners) listener();
  }

  #read(): Pems {
    const { tlsCert, tlsKey, tlsClientCa } = this.#settings;
    return {
      cert: readPem(variableOf('tlsCert'), tlsCert),
      key: readPem(variableOf('tlsKey'), tlsKey),
      clientCa: tlsClientCa === undefined ? undefined : readPem(variableOf('tlsClientCa'), tlsClientCa),
    };
  }

  #use(pems: Pems): void {
    const { tlsCert, tlsKey, tlsClientCa } = this.#settings;
    const chain = certificatesOf(variableOf('tlsCert'), tlsCert, pems.cert);
    const isPair = chain[0]?.checkPrivateKey(keyOf(variableOf('tlsKey'), tlsKey, pems.key)) === true;
    if (!isPair) {
      throw new TlsFileError(
        `${variableOf('tlsKey')}: ${tlsKey} is not the key of the first certificate in ${tlsCert}`,
      );
    }
    const authorities =
      tlsClientCa === undefined
        ? []
        : certificatesOf(variableOf('tlsClientCa'), tlsClientCa, pems.clientCa ?? '');
    checkContext(pems, tlsCert);
    this.#pems = pems;
    this.#tellEnd('server', chain);
    if (authorities.length > 0) this.#tellEnd('client_ca', authorities);
    const all = [...chain, ...authorities];
    this.#startsAtMs = Math.max(...all.map(({ validFrom }) => Date.parse(validFrom)));
    this.#expiresAtMs = Math.min(...all.map(endsAtMs));
    this.#warnsNextAtMs = 0;
    this.#parts.log.info(
      { file: tlsCert, expiresAt: new Date(this.#expiresAtMs).toISOString() },
      'TLS certificate in force',
    );
    this.#warnOfEnd();
  }

  #tellEnd(certificate: 'server' | 'client_ca', chain: readonly X509Certificate[]): void {
    this.#parts.metrics.tlsCertificateExpires.set({ certificate }, Math.min(...chain.map(endsAtMs)) / 1000);
  }

  #warnOfEnd(): void {
    const { clock, log } = this.#parts;
    const nowMs = clock.nowMs();
    if (nowMs < this.#warnsNextAtMs || nowMs < this.#expiresAtMs - WARN_AHEAD_MS) return;
    this.#warnsNextAtMs = nowMs + DAY_MS;
    const expiresAt = new Date(this.#expiresAtMs).toISOString();
    log.warn(
      { expiresAt },
      nowMs < this.#expiresAtMs
        ? 'a TLS certificate ends soon'
        : 'a TLS certificate has expired: clients refuse it',
    );
  }
}

/**
 * The certificates in `file`, as PEM. `name` is the setting or flag of the file.
 * @throws TlsFileError
 */
export function readCertificates(name: string, file: string): string {
  const pem = readPem(name, file);
  certificatesOf(name, file, pem);
  return pem;
}

/** The private key in `file`, as PEM. @throws TlsFileError */
export function readKey(name: string, file: string): string {
  const pem = readPem(name, file);
  keyOf(name, file, pem);
  return pem;
}

function readPem(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TlsFileError(`${name}: cannot read ${file}: ${why}`, { cause });
  }
}

function certificatesOf(name: string, file: string, pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    if (blocks.length > 0) return blocks.map((block) => new X509Certificate(block));
  } catch {
    // Reported below, like a file without any.
  }
  throw new TlsFileError(`${name}: ${file} must hold certificates in PEM form`);
}

function keyOf(name: string, file: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // The cause is left out: it may quote the key.
    const isEncrypted = pem.includes('ENCRYPTED');
    throw new TlsFileError(
      `${name}: ${file} ${isEncrypted ? 'is encrypted: give one without a passphrase' : 'must hold a private key in PEM form'}`,
    );
  }
}

/** Checks by OpenSSL, such as the length of keys. */
function checkContext({ cert, key, clientCa }: Pems, file: string): void {
  try {
    createSecureContext({ cert, key, ...(clientCa === undefined ? {} : { ca: clientCa }) });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TlsFileError(`${variableOf('tlsCert')}: ${file} cannot be used: ${why}`, { cause });
  }
}

function endsAtMs(certificate: X509Certificate): number {
  return Date.parse(certificate.validTo);
}

/** @throws TlsFileError */
export function openTlsFiles(
  { tlsCert, tlsKey, tlsClientCa }: Config,
  parts: ConstructorParameters<typeof TlsFiles>[1],
): TlsFiles | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  return new TlsFiles({ tlsCert, tlsKey, tlsClientCa }, parts);
}

/** Addresses beyond loopback that listen without TLS, so that credentials cross a network unencrypted. */
export function plainTextHostsOf({
  tlsCert,
  httpHost,
  mqttHost,
  ...brokers
}: Pick<Config, 'tlsCert' | 'httpHost' | 'mqttHost' | 'mqttUrl' | 'busUrl'>): readonly string[] {
  if (tlsCert !== undefined) return [];
  const hosts = [httpHost, ...(hasOwnBroker(brokers) ? [mqttHost] : [])];
  return [...new Set(hosts.filter((host) => !isLoopback(host)))];
}

/** Warns if credentials would cross a network unencrypted. */
export function warnOfPlainText(config: Config, log: Log): void {
  const exposed = plainTextHostsOf(config);
  if (exposed.length === 0) return;
  log.warn(
    { hosts: exposed },
    `keys and passwords travel unencrypted: let nobody but a TLS proxy reach these addresses, or set ${variableOf('tlsCert')} and ${variableOf('tlsKey')}`,
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

// Names in a charger's certificate: its common name, and its alternative names of kind DNS and URI.

// Node puts values with special characters in quotes, as JSON does, so that none can look like two.
const ALTERNATIVE_NAME = /(?:^|, )(DNS|URI):("(?:[^"\\]|\\.)*"|[^,"]*)(?=, |$)/g;

export function namesOf(
  certificate: Pick<PeerCertificate, 'subject' | 'subjectaltname'>,
): ReadonlySet<string> {
  // A subject may have several names, or none, which the declarations leave out.
  const commonNames: string | readonly string[] | undefined = certificate.subject?.CN;
  const alternatives = (certificate.subjectaltname ?? '').matchAll(ALTERNATIVE_NAME);
  return new Set([
    ...[commonNames ?? []].flat(),
    ...[...alternatives].map(([, , value = '']) =>
      value.startsWith('"') ? String(JSON.parse(value)) : value,
    ),
  ]);
}
