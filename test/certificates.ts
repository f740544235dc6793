// Authorities and certificates for tests, made by openssl as operators make them.
import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingPrograms, needing } from './needs.js';

/** For `describe`: certificates are made by openssl. */
export const WITH_OPENSSL = needing(missingPrograms('openssl'));

/** Paths of PEM files. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'] as const;

/** A folder with certificate authorities; callers must `remove` it. */
export class CertificateFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'headroom-certificates-'));
  #count = 0;

  file(name: string): string {
    return join(this.path, name);
  }

  /** A self-signed authority. */
  authority(name: string): Identity {
    const [cert, key] = [this.file(`${name}.pem`), this.file(`${name}.key`)];
    openssl(
      'req',
      '-x509',
      ...NEW_KEY,
      '-keyout',
      key,
      '-out',
      cert,
      '-days',
      '3650',
      '-subj',
      `/CN=${name}`,
    );
    return { cert, key };
  }

  /** A certificate of `authority`, such as for `IP:127.0.0.1`. */
  issue(authority: Identity, options: { cn?: string; names?: string; days?: number } = {}): Identity {
    const { cn = 'headroom', names = 'IP:127.0.0.1,DNS:localhost', days = 365 } = options;
    const name = `issued-${this.#count++}`;
    const [cert, key] = [this.file(`${name}.pem`), this.file(`${name}.key`)];
    const [request, extensions] = [this.file(`${name}.csr`), this.file(`${name}.ext`)];
    openssl(
      'req',
      '-new',
      ...NEW_KEY,
      '-keyout',
      key,
      '-out',
      request,
      '-subj',
      `/CN=${cn.replaceAll('/', '\\/')}`,
    );
    writeFileSync(extensions, names === '' ? '' : `subjectAltName=${names}\n`);
    const signer = ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial'];
    const issued = ['-in', request, '-out', cert, '-days', String(days), '-extfile', extensions];
    openssl('x509', '-req', ...signer, ...issued);
    return { cert, key };
  }

  /** Copies to fixed paths, whose contents later calls replace. */
  place({ cert, key }: Identity): Identity {
    const placed = { cert: this.file('placed.pem'), key: this.file('placed.key') };
    copyFileSync(cert, placed.cert);
    copyFileSync(key, placed.key);
    return placed;
  }

  /** Adds `authority` to the ones in `file`. */
  addAuthority(file: string, authority: Identity): void {
    appendFileSync(file, readFileSync(authority.cert));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
