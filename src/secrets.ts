// Secrets of API keys, OAuth clients and chargers: made here, shown once, kept only as SHA-256.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
// 32 bytes are 256 bits; 62^43 is the first power of 62 above 2^256.
const SECRET_LENGTH = 43;
const API_KEY = /^hr_([A-Za-z0-9]{8})_([A-Za-z0-9]{16,128})$/;

/** 32 random bytes in base62, always 43 characters. */
export function generateSecret(): string {
  let value = BigInt(`0x${randomBytes(32).toString('hex')}`);
  let text = '';
  for (let i = 0; i < SECRET_LENGTH; i++) {
    text = BASE62.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text;
}

/** An 8-character id: random, or, from `seed`, the same for the same seed. */
export function generateKeyId(seed?: string): string {
  const bytes =
    seed === undefined ? randomBytes(8) : createHash('sha256').update(seed).digest().subarray(0, 8);
  return [...bytes].map((byte) => BASE62.charAt(byte % 62)).join('');
}

/** SHA-256 of a secret, hex. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether `secret` is the one behind `secretHash` (hex), in constant time. */
export function isSecret(secret: string, secretHash: string): boolean {
  const expected = Buffer.from(secretHash, 'hex');
  const given = createHash('sha256').update(secret).digest();
  return expected.length === given.length && timingSafeEqual(expected, given);
}

export function formatApiKey(keyId: string, secret: string): string {
  return `hr_${keyId}_${secret}`;
}

/** The id and the secret of an API key `hr_<8-char id>_<secret>`, or undefined where the text is none. */
export function parseApiKey(text: string): { readonly keyId: string; readonly secret: string } | undefined {
  const match = API_KEY.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return undefined;
  return { keyId: match[1], secret: match[2] };
}
