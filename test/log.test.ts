// The log's promises: one JSON line an event, no secrets, nothing below its level.
import { describe, expect, it } from 'vitest';
import { createLogger } from '../src/log.js';

function logTo(lines: string[], level = 'info') {
  return createLogger({ level, destination: { write: (line) => void lines.push(line) } });
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
});
