// The keys of access tokens: the first of a JWK Set signs, all of them verify. So keys can be rotated.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { OperatorError } from '../../ports/operator-error.js';
import { makePrivateDirectory } from '../../private-files.js';

const OWNER_ONLY = 0o600;
const KEYS_AT_ONCE = 2;

const privateJwkSchema = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  d: z.string(),
  kid: z.string().min(1).optional(),
});
const jwkSetSchema = z.object({ keys: z.array(privateJwkSchema).min(1) });
type PrivateJwk = z.output<typeof privateJwkSchema>;

/** Signing keys that cannot be used. The message is one line for the operator, and shows nothing of the keys. */
export class TokenKeysError extends OperatorError {}

interface KeyRing {
  readonly signing: { readonly kid: string; readonly key: KeyObject };
  readonly verifying: ReadonlyMap<string, KeyObject>;
}

export interface TokenKeys {
  /** The file of the keys; undefined if they were given as JSON. */
  readonly file: string | undefined;
  /** The current keys; a new object after each change. */
  current(): KeyRing;
  /** Reads the file again if it changed. @throws TokenKeysError; the earlier keys stay in force */
  refresh(): void;
}

/**
 * `tokenKeys` is a file with a JWK Set, or the JSON itself. The default is `token-keys.json` in the data directory.
 * That file is created if it is missing.
 * @throws TokenKeysError
 */
export function createTokenKeys(options: {
  readonly tokenKeys: string | undefined;
  readonly dataDir: string;
}): TokenKeys {
  const { tokenKeys } = options;
  if (tokenKeys?.trimStart().startsWith('{')) {
    const ring = keyRingOf(parseJwkSet(tokenKeys, 'the JSON given as token keys'));
    return { file: undefined, current: () => ring, refresh: () => undefined };
  }
  const file = tokenKeys ?? join(options.dataDir, 'token-keys.json');
  if (tokenKeys === undefined && !existsSync(file)) writeJwkSet(file, [generateJwk()]);
  return keysOfFile(file);
}

/**
 * Puts a new key first: it signs from now on, and the earlier one still verifies. A
 * running service reads it at its next `refresh`.
 * @throws TokenKeysError
 */
export function rotateTokenKeys(file: string): void {
  writeJwkSet(file, [generateJwk(), ...readJwkSet(file)].slice(0, KEYS_AT_ONCE));
}

function keysOfFile(file: string): TokenKeys {
  let seen = versionOf(file);
  let ring = keyRingOf(readJwkSet(file));
  return {
    file,
    current: () => ring,
    refresh() {
      const version = versionOf(file);
      if (version === seen) return;
      ring = keyRingOf(readJwkSet(file));
      // Set only after a successful read, so that a failed one is tried again at the next refresh.
      seen = version;
    },
  };
}

function versionOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? 'absent' : `${stat.mtimeMs}/${stat.size}/${stat.ino}`;
}

function readJwkSet(file: string): readonly PrivateJwk[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TokenKeysError(`token keys: cannot read ${file}`, { cause });
  }
  return parseJwkSet(text, file);
}

function parseJwkSet(text: string, source: string): readonly PrivateJwk[] {
  try {
    return jwkSetSchema.parse(JSON.parse(text)).keys;
  } catch {
    // The cause is left out: a JSON error quotes the text, which is secret.
    throw new TokenKeysError(`token keys: ${source} must be a JWK Set of private EC keys on curve P-256`);
  }
}

function keyRingOf(jwks: readonly PrivateJwk[]): KeyRing {
  const keys = jwks.map((jwk) => ({ kid: jwk.kid ?? thumbprintOf(jwk), key: privateKeyOf(jwk) }));
  const [signing] = keys;
  if (signing === undefined) throw new TokenKeysError('token keys: the set is empty');
  return { signing, verifying: new Map(keys.map(({ kid, key }) => [kid, createPublicKey(key)])) };
}

function privateKeyOf({ kty, crv, x, y, d }: PrivateJwk): KeyObject {
  try {
    return createPrivateKey({ key: { kty, crv, x, y, d }, format: 'jwk' });
  } catch {
    throw new TokenKeysError('token keys: one of the keys is not a point on curve P-256');
  }
}

/** A JWK Set of one new key as JSON, a valid value of `HEADROOM_TOKEN_KEYS`. */
export function newTokenKeys(): string {
  return JSON.stringify({ keys: [generateJwk()] });
}

/**
 * The key is read again from its bytes before the export. Node 20 locks a key while it exports it. A
 * garbage collection in the middle of that may finalize the generator of the key, which waits for the
 * same lock. Then the process would hang for good.
 */
function generateJwk(): PrivateJwk {
  const { privateKey: key } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  });
  const privateKey = createPrivateKey({ key, type: 'pkcs8', format: 'der' });
  const jwk = privateJwkSchema.parse(privateKey.export({ format: 'jwk' }));
  return { ...jwk, kid: thumbprintOf(jwk) };
}

/** RFC 7638: the same key has the same id in every process. */
function thumbprintOf({ crv, kty, x, y }: PrivateJwk): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

/** Atomic: a reader gets the old file or the new one, also after a power cut. */
function writeJwkSet(file: string, keys: readonly PrivateJwk[]): void {
  makePrivateDirectory(dirname(file));
  const written = `${file}.new`;
  const descriptor = openSync(written, 'w', OWNER_ONLY);
  writeSync(descriptor, `${JSON.stringify({ keys }, undefined, 2)}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(written, file);
}
