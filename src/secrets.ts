// Secrets of API keys, OAuth clients and chargers: generated here, shown once, stored only as hashes.
import {
  createHash,
  createHmac,
  randomBytes,
  type ScryptOptions,
  scrypt as scryptWithCallback,
  timingSafeEqual,
} from 'node:crypto';
import { promisify } from 'node:util';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
// 32 bytes are 256 bits; 62^43 is the first power of 62 above 2^256.
const SECRET_LENGTH = 43;
// An API key, its underscores perhaps percent-encoded; a JSON Web Token; any other text as long as a generated secret.
// Each line of the log is searched: without the look-behind it would take twice as long.
const SECRETS =
  /hr(?:_|%5f)([a-z0-9]{8})(?:_|%5f)[a-z0-9]+|eyJ[\w-]{8,}(?:\.[\w-]*)*|(?<![a-z0-9])[a-z0-9]{40,}/gi;
const API_KEY = /^hr_([A-Za-z0-9]{8})_([A-Za-z0-9]{16,128})$/;
const CLAIMED_KEY_ID = /^hr_([A-Za-z0-9]{8})_/;

// About one in 2,500 random secrets does not match and is drawn again. This rule decides that a hash is slow, both when
// it is stored and when it is checked. With another rule, secrets stored under this one could not sign in.
const GENERATED = /^(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])(?:[0-9A-Za-z]{43}|hrc[0-9A-Za-z]{37})$/;
// OCPP 1.6 and 2.0.1 allow 16 to 40 characters. The prefix separates
// generated passwords from chosen ones of that length.
const CHARGER_PREFIX = 'hrc';
const CHARGER_SECRET_LENGTH = 37;
const GENERATED_CHARACTERS_AT_LEAST = 20;

const scrypt = promisify<string, Buffer, number, ScryptOptions, Buffer>(scryptWithCallback);
// 16 MB and about 30 ms of one core each. Stored with every hash, so that it can be raised.
const LOG2_N = 14;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const ID_BYTES = 9;
const SLOW_HASH =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2}),id=([\w-]+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

interface SlowHash {
  readonly options: ScryptOptions;
  readonly id: string;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/**
 * A secret of 43 characters in base62 that `isGenerated` recognizes: from 32 random bytes,
 * or from `seed`, then the same for the same seed.
 */
export function generateSecret(seed?: string): string {
  for (let attempt = 0; ; attempt++) {
    const bytes =
      seed === undefined ? randomBytes(32) : createHash('sha256').update(`${attempt}/${seed}`).digest();
    const secret = base62Of(bytes);
    if (isGenerated(secret)) return secret;
  }
}

/** A password that every OCPP charger can hold: 40 characters, 220 random bits. `isGenerated` recognizes it. */
export function generateChargerPassword(): string {
  for (;;) {
    const password = CHARGER_PREFIX + base62Of(randomBytes(32)).slice(-CHARGER_SECRET_LENGTH);
    if (isGenerated(password)) return password;
  }
}

function base62Of(bytes: Buffer): string {
  let value = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let i = 0; i < SECRET_LENGTH; i++) {
    text = BASE62.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text;
}

/** True for the form of `generateSecret`, which cannot be guessed, and which people do not choose. */
export function isGenerated(secret: string): boolean {
  return GENERATED.test(secret) && new Set(secret).size >= GENERATED_CHARACTERS_AT_LEAST;
}

/** An 8-character id: random, or from `seed`, then the same for the same seed. */
export function generateKeyId(seed?: string): string {
  const bytes =
    seed === undefined ? randomBytes(8) : createHash('sha256').update(seed).digest().subarray(0, 8);
  return [...bytes].map((byte) => BASE62.charAt(byte % 62)).join('');
}

/** SHA-256 of a secret, hex: for API keys and generated secrets. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Compares `secret` with `secretHash` (SHA-256, hex), in constant time. */
export function isSecret(secret: string, secretHash: string): boolean {
  const expected = Buffer.from(secretHash, 'hex');
  const given = createHash('sha256').update(secret).digest();
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/**
 * A check of `Authorization` headers for the bearer token `token`, in
 * constant time; without a token every header passes.
 */
export function createBearerCheck(token: string | undefined): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => true;
  const hash = hashSecret(token);
  return (authorization = '') => isSecret(/^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '', hash);
}

/**
 * The stored form of a password or client secret: SHA-256 of a generated one, else scrypt with a salt of its own.
 * @param id see `secretIdOf`; by default a new one.
 */
export async function hashPassword(
  password: string,
  id: string = randomBytes(ID_BYTES).toString('base64url'),
): Promise<string> {
  if (isGenerated(password)) return hashSecret(password);
  const salt = randomBytes(SALT_BYTES);
  const options = { N: 2 ** LOG2_N, r: BLOCK_SIZE, p: PARALLEL };
  const hash = await scrypt(password, salt, HASH_BYTES, options);
  const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
  return `$scrypt$ln=${LOG2_N},r=${BLOCK_SIZE},p=${PARALLEL},id=${id}$${text(salt)}$${text(hash)}`;
}

const NOBODY: SlowHash = {
  options: { N: 2 ** LOG2_N, r: BLOCK_SIZE, p: PARALLEL },
  id: '',
  salt: Buffer.alloc(SALT_BYTES),
  hash: Buffer.alloc(HASH_BYTES),
};

/**
 * Compares `password` with `stored`, which is undefined for an unknown name. A wrong one takes the same time for every
 * stored one: almost none for the form of a generated one, else one scrypt.
 */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  if (isGenerated(password)) return isSecret(password, stored ?? '');
  // Stored before passwords had a slow hash.
  if (stored !== undefined && isSecret(password, stored)) return true;
  const slow = stored === undefined ? undefined : parseSlowHash(stored);
  const { options, salt, hash } = slow ?? NOBODY;
  const given = await scrypt(password, salt, hash.length, options);
  return timingSafeEqual(given, hash) && slow !== undefined;
}

/** True if `hashPassword` would hash the same password in another way today, apart from its salt. */
export function isHashOutdated(password: string, stored: string): boolean {
  if (isGenerated(password)) return false;
  const slow = parseSlowHash(stored);
  if (slow === undefined) return true;
  return slow.options.N !== 2 ** LOG2_N || slow.options.r !== BLOCK_SIZE || slow.options.p !== PARALLEL;
}

/** An id that differs between successive secrets, and stays the same for a new hash of the same secret. */
export function secretIdOf(stored: string): string {
  const slow = parseSlowHash(stored);
  return slow?.id ?? createHash('sha256').update(stored).digest().subarray(0, ID_BYTES).toString('base64url');
}

function parseSlowHash(stored: string): SlowHash | undefined {
  const match = SLOW_HASH.exec(stored);
  if (match === null) return undefined;
  const [, log2N, r, p, id = '', salt = '', hash = ''] = match;
  const options = { N: 2 ** Number(log2N), r: Number(r), p: Number(p) };
  return { options, id, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

export function formatApiKey(keyId: string, secret: string): string {
  return `hr_${keyId}_${secret}`;
}

/** The id and the secret of an API key `hr_<8-char id>_<secret>`, or undefined for another text. */
export function parseApiKey(text: string): { readonly keyId: string; readonly secret: string } | undefined {
  const match = API_KEY.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return undefined;
  return { keyId: match[1], secret: match[2] };
}

/** The id in `text`, in the place of an API key's; the secret after it may be cut off or invalid. */
export function claimedKeyIdOf(text: string): string | undefined {
  return CLAIMED_KEY_ID.exec(text)?.[1];
}

/** `text` for the log: an apparent API key keeps its id, any other secret is removed. */
export function withoutSecrets(text: string): string {
  return text.replace(SECRETS, (_, keyId: string | undefined) =>
    keyId === undefined ? '[redacted]' : `hr_${keyId}_[redacted]`,
  );
}

/** A credential in text: `apiKey:a1b2c3d4` or `client:backend`. */
export function credentialRef({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return `${kind}:${id}`;
}

const WEBHOOK_PREFIX = 'whsec_';
const WEBHOOK_SECRET_BYTES = 32;

/** A secret as Standard Webhooks writes it. */
export function generateWebhookSecret(): string {
  return `${WEBHOOK_PREFIX}${randomBytes(WEBHOOK_SECRET_BYTES).toString('base64')}`;
}

/** The symmetric signature of Standard Webhooks. */
export function signWebhook(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(WEBHOOK_PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}
