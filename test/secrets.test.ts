// The stored form of a secret, and forbidden secrets.
import { scryptSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isChosenSecretFit } from '../src/provisioning/field-schemas.js';
import {
  generateSecret,
  hashPassword,
  hashSecret,
  isGenerated,
  isHashOutdated,
  isPassword,
  secretIdOf,
} from '../src/secrets.js';

const PASSWORD = 'correct horse battery';

describe('a generated secret', () => {
  it('is recognized by its form', () => {
    const secrets = Array.from({ length: 2_000 }, () => generateSecret());
    expect(new Set(secrets).size).toBe(secrets.length);
    for (const secret of secrets) expect(secret).toMatch(/^[0-9A-Za-z]{43}$/);
    expect(secrets.every(isGenerated)).toBe(true);
    expect(generateSecret('a seed')).toBe(generateSecret('a seed'));
  });

  it('keeps the fast hash, because it cannot be guessed', async () => {
    const secret = generateSecret();
    expect(await hashPassword(secret)).toBe(hashSecret(secret));
    expect(await isPassword(secret, hashSecret(secret))).toBe(true);
    expect(isHashOutdated(secret, hashSecret(secret))).toBe(false);
  });

  it.each([
    'a'.repeat(43),
    `${'abc'.repeat(14)}d`,
    'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq',
    'TheQuickBrownFoxJumpsOverTheLazyDogTwiceAAA',
    `${generateSecret()}x`,
    generateSecret().slice(1),
  ])('is not recognized in %s', (text) => {
    expect(isGenerated(text)).toBe(false);
  });
});

describe('a chosen password', () => {
  it('is stored as scrypt with its parameters and its own salt', async () => {
    const [one, other] = [await hashPassword(PASSWORD), await hashPassword(PASSWORD)];
    expect(one).toMatch(/^\$scrypt\$ln=14,r=8,p=1,id=[\w-]{12}\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(other);
    expect([await isPassword(PASSWORD, one), await isPassword(PASSWORD, other)]).toEqual([true, true]);
    for (const wrong of ['', 'correct horse', `${PASSWORD} `, one, generateSecret()]) {
      expect(await isPassword(wrong, one)).toBe(false);
    }
  });

  it('is checked by its stored parameters', async () => {
    const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
    const hash = scryptSync(PASSWORD, Buffer.alloc(16), 32, { N: 1024 });
    const stored = `$scrypt$ln=10,r=8,p=1,id=old$${text(Buffer.alloc(16))}$${text(hash)}`;
    expect(await isPassword(PASSWORD, stored)).toBe(true);
    expect(isHashOutdated(PASSWORD, stored)).toBe(true);
    expect(secretIdOf(stored)).toBe('old');
  });

  it('of release 0.1 stays valid, and keeps its id after a new hash', async () => {
    const fast = hashSecret(PASSWORD);
    expect([await isPassword(PASSWORD, fast), await isPassword('wrong', fast)]).toEqual([true, false]);
    expect(isHashOutdated(PASSWORD, fast)).toBe(true);
    const slow = await hashPassword(PASSWORD, secretIdOf(fast));
    expect(secretIdOf(slow)).toBe(secretIdOf(fast));
    expect(isHashOutdated(PASSWORD, slow)).toBe(false);
    expect(secretIdOf(await hashPassword(PASSWORD))).not.toBe(secretIdOf(slow));
  });

  it.each([undefined, '', 'nonsense', '$scrypt$ln=14,r=8,p=1,id=x$$'])(
    'never matches the stored form %s',
    async (stored) => {
      expect([await isPassword(PASSWORD, stored), await isPassword('', stored)]).toEqual([false, false]);
      expect(await isPassword(generateSecret(), stored)).toBe(false);
    },
  );
});

describe('The rule for chosen secrets', () => {
  it.each([
    'replace-this-too',
    'public-demo-q1-a',
    'ReplaceThisBeforeYouGoLive',
    'zwölf Zeichen',
    generateSecret(),
  ])('accepts %s', (secret) => expect(isChosenSecretFit(secret)).toBe(true));

  it.each([
    '',
    '1',
    'eleven-char',
    'aaaaaaaaaaaa',
    'abababababab',
    'abcdabcdabcd',
    'Abcde-abcde-aBcde-',
    'passwordpassword',
    'charger-1Charger-1c',
    '012345678901',
    'lkjihgfedcba',
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
    'x'.repeat(257),
  ])('refuses %s', (secret) => expect(isChosenSecretFit(secret)).toBe(false));
});
