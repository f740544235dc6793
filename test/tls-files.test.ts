// TLS files: every wrong one is reported in one line, a good one replaces the one before, a bad one does not.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../sim/virtual-clock.js';
import { createMetrics } from '../src/metrics.js';
import { TlsFileError, TlsFiles } from '../src/tls-files.js';
import { CertificateFolder, type Identity, WITH_OPENSSL } from './certificates.js';
import { type LogLine, recordingLog } from './outbound/mqtt/broker-rig.js';

const DAY_MS = 24 * 3600 * 1000;

describe('The files for TLS', WITH_OPENSSL, () => {
  let folder: CertificateFolder;
  let authority: Identity;
  let first: Identity;
  let second: Identity;
  let lines: LogLine[];
  const metrics = createMetrics();

  beforeAll(() => {
    folder = new CertificateFolder();
    authority = folder.authority('harbour');
    first = folder.issue(authority, { days: 90 });
    second = folder.issue(authority, { days: 30 });
  });

  beforeEach(() => {
    lines = [];
  });

  afterAll(() => folder.remove());

  function open(
    tlsCert: string,
    tlsKey: string,
    { tlsClientCa, inDays = 0 }: { tlsClientCa?: string; inDays?: number } = {},
  ) {
    const clock = createVirtualClock(Date.now() + inDays * DAY_MS);
    const parts = { clock, log: recordingLog(lines), metrics };
    return { clock, files: new TlsFiles({ tlsCert, tlsKey, tlsClientCa }, parts) };
  }

  function written(name: string, text: string): string {
    const file = folder.file(name);
    writeFileSync(file, text);
    return file;
  }

  async function expiries(): Promise<Record<string, number>> {
    const { values } = await metrics.tlsCertificateExpires.get();
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels.certificate), value * 1000]));
  }

  it('name the setting and the missing file', () => {
    const missing = folder.file('missing.pem');
    expect(() => open(missing, first.key)).toThrow(`HEADROOM_TLS_CERT: cannot read ${missing}`);
    expect(() => open(first.cert, missing)).toThrow(`HEADROOM_TLS_KEY: cannot read ${missing}`);
    const tlsClientCa = missing;
    expect(() => open(first.cert, first.key, { tlsClientCa })).toThrow('HEADROOM_TLS_CLIENT_CA: cannot read');
  });

  it('name the file that is of another kind', () => {
    expect(() => open(first.key, first.key)).toThrow(
      /HEADROOM_TLS_CERT: .*\.key must hold certificates in PEM/,
    );
    expect(() => open(first.cert, first.cert)).toThrow(/HEADROOM_TLS_KEY: .*\.pem must hold a private key/);
    const broken = written('broken.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    expect(() => open(broken, first.key)).toThrow('HEADROOM_TLS_CERT');
    const tlsClientCa = written('empty.pem', '');
    expect(() => open(first.cert, first.key, { tlsClientCa })).toThrow('HEADROOM_TLS_CLIENT_CA');
  });

  it('report an encrypted key, and a key of another certificate, as such', () => {
    const encrypted = written(
      'encrypted.key',
      '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n',
    );
    expect(() => open(first.cert, encrypted)).toThrow(/is encrypted: give one without a passphrase/);
    expect(() => open(first.cert, second.key)).toThrow(TlsFileError);
    expect(() => open(first.cert, second.key)).toThrow(/is not the key of the first certificate in/);
  });

  it('show the end of the certificates, the earliest of a chain', async () => {
    const chain = written('chain.pem', readFileSync(first.cert, 'utf8') + readFileSync(second.cert, 'utf8'));
    open(chain, first.key, { tlsClientCa: authority.cert });
    const { server = 0, client_ca: clientCa = 0 } = await expiries();
    expect(Math.round((server - Date.now()) / DAY_MS)).toBe(30);
    expect(Math.round((clientCa - Date.now()) / DAY_MS)).toBe(3650);
  });

  it('warn once a day from 14 days before the end on, and accept an expired certificate', () => {
    const warnings = () => lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    open(first.cert, first.key, { inDays: 75 });
    expect(warnings()).toEqual([]);
    const { clock, files } = open(first.cert, first.key, { inDays: 77 });
    files.refresh();
    expect(warnings()).toEqual(['a TLS certificate ends soon']);
    clock.jump(14 * DAY_MS);
    files.refresh();
    expect(warnings().at(-1)).toBe('a TLS certificate has expired: clients refuse it');
    expect(warnings()).toHaveLength(2);
  });

  it('accept a new pair, keep the old one while the new one is incomplete, and report each change once', () => {
    const placed = folder.place(first);
    const { files } = open(placed.cert, placed.key);
    let changes = 0;
    files.onChange(() => changes++);
    files.refresh();
    expect(changes).toBe(0);
    copyFileSync(second.cert, placed.cert);
    expect(() => files.refresh()).toThrow(/is not the key of the first certificate/);
    expect(files.serverContext().cert).toBe(readFileSync(first.cert, 'utf8'));
    copyFileSync(second.key, placed.key);
    files.refresh();
    files.refresh();
    expect([changes, files.serverContext().cert]).toEqual([1, readFileSync(second.cert, 'utf8')]);
  });
});
