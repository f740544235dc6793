// Guarantees of the log: one JSON line per event, of bounded length and rate, no secrets, nothing below its level.
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../sim/virtual-clock.js';
import { createLogger } from '../src/log.js';
import { createMetrics } from '../src/metrics.js';
import { generateSecret } from '../src/secrets.js';

function logTo(lines: string[], level = 'info', metrics = createMetrics(), clock = createVirtualClock(0)) {
  return createLogger({ level, metrics, clock, destination: { write: (line) => void lines.push(line) } });
}

describe('the log', () => {
  it('writes one JSON line with level, ISO time, message and fields', () => {
    const lines: string[] = [];
    logTo(lines).warn({ port: 8080 }, 'taken');
    expect(JSON.parse(lines.join(''))).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      port: 8080,
      msg: 'taken',
    });
  });

  it('never writes secrets, at the top of the fields or in headers and bodies', () => {
    const lines: string[] = [];
    const secrets = {
      authorization: 'hidden',
      'x-api-key': 'hidden',
      client_secret: 'hidden',
      clientSecret: 'hidden',
      password: 'hidden',
      mqttPassword: 'hidden',
    };
    logTo(lines).info({ ...secrets, headers: secrets, body: secrets }, 'request');
    expect(lines.join('')).not.toContain('hidden');
    expect(lines.join('').match(/\[Redacted\]/g)).toHaveLength(18);
  });

  it('writes errors with their stack, and nothing below its level', () => {
    const lines: string[] = [];
    const log = logTo(lines, 'error');
    log.info({}, 'not this');
    log.error({ err: new Error('broken') }, 'failed');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines.join('')).err).toMatchObject({
      message: 'broken',
      stack: expect.stringContaining('log.test'),
    });
  });

  it('cuts a line to 4,096 bytes of valid JSON, with the message and the stack of its error', () => {
    const lines: string[] = [];
    const payload = 'é'.repeat(50_000);
    const error = new Error(`cannot read ${payload}`);
    logTo(lines).error(
      { err: error, payload, list: Array(100).fill(payload.slice(0, 100)), depth: { payload } },
      'failed',
    );
    expect(Buffer.byteLength(lines.join(''))).toBeLessThanOrEqual(4_096);
    expect(JSON.parse(lines.join(''))).toMatchObject({
      level: 'error',
      msg: 'failed',
      err: { message: expect.stringMatching(/^cannot read é/), stack: expect.stringContaining('log.test') },
      cutFromBytes: expect.any(Number),
    });
  });

  it('keeps level, time, message, request and error of a line with too many fields', () => {
    const lines: string[] = [];
    const many = Array.from({ length: 5_000 }, (_, i) => [`field${i}`, i]);
    const fields = { ...Object.fromEntries(many), requestId: 'r-1', err: new Error('broken') };
    logTo(lines).warn(fields, 'many');
    expect(JSON.parse(lines.join(''))).toMatchObject({
      level: 'warn',
      time: expect.any(String),
      msg: 'many',
    });
    expect(Buffer.byteLength(lines.join(''))).toBeLessThanOrEqual(4_096);
  });

  it('writes no key, token or generated secret, at any place in a line, even a cut one', () => {
    const lines: string[] = [];
    const secret = generateSecret('a seed');
    const token = `eyJhbGciOiJFUzI1NiJ9.${secret}.${secret}`;
    for (const text of [`hr_abcdefgh_${secret}`, `hr%5Fabcdefgh%5F${secret}`, token, secret])
      for (const before of [0, 180, 970, 6_000]) {
        const message = `${'- '.repeat(before / 2)}/${text}/${'- '.repeat(3_000)}`;
        logTo(lines).error({ err: new Error(message), path: message, list: [message] }, `failed for ${text}`);
      }
    expect(lines).toHaveLength(16);
    expect(lines.join('')).not.toContain(secret.slice(0, 8));
    for (const line of lines) expect(JSON.parse(line).msg).toContain('[redacted]');
  });

  it('writes a hundred errors of a kind at once and one a second, and counts the others', async () => {
    const lines: string[] = [];
    const clock = createVirtualClock(0);
    const metrics = createMetrics();
    const log = logTo(lines, 'info', metrics, clock);
    for (let i = 0; i < 250; i++) log.error({ i }, 'failed');
    expect(lines).toHaveLength(100);
    log.error({}, 'another kind');
    expect(lines).toHaveLength(101);
    clock.advance(2_000);
    for (let i = 0; i < 10; i++) log.error({ i }, 'failed');
    expect(lines.slice(101).map((line) => JSON.parse(line).notLogged)).toEqual([150, undefined]);
    expect((await metrics.logLinesLeftOut.get()).values).toMatchObject([{ value: 158 }]);
  });

  it('limits errors whose messages never repeat, too', () => {
    const lines: string[] = [];
    const log = logTo(lines);
    for (let i = 0; i < 5_000; i++) log.error({}, `failed for ${i}`);
    expect(lines.length).toBeLessThanOrEqual(600);
  });
});
