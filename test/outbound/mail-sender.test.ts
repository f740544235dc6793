// One mail to a real server, on a virtual clock.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { createMailSender } from '../../src/outbound/smtp/mail-sender.js';
import type { MailFailure } from '../../src/ports/webhooks.js';
import { eventually } from '../eventually.js';
import { type MailServer, startMailServer } from '../service/mail-server.js';

const TO = ['night@harbour.example'];
const MINUTE_MS = 60_000;

let server: MailServer;
let answer = () => {};
beforeEach(async () => {
  server = await startMailServer();
  server.answersAfter = new Promise((resolve) => {
    answer = resolve;
  });
});
afterEach(() => server.stop());

/** A mail that the server has received but not answered. */
async function sent() {
  const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
  const send = createMailSender({ url: server.url, from: 'headroom@harbour.example', clock });
  const [tenantUuid, { signal }] = ['harbour' as TenantUuid, new AbortController()];
  const mail = { tenantUuid, to: TO, receivers: TO, messageId: 'm', subject: 'Alarm', text: 'Text', signal };
  const result: Promise<MailFailure> = send(mail);
  await eventually(() => expect(server.attempts).toHaveLength(1));
  return { clock, result };
}

describe('A mail (RFC 5321, section 4.5.3.2.6)', () => {
  it('is sent if the server answers after nine minutes', async () => {
    const { clock, result } = await sent();
    clock.advance(9 * MINUTE_MS);
    answer();
    expect(await result).toBeUndefined();
  });

  it('has failed, and its connection is closed, after ten minutes without an answer', async () => {
    const { clock, result } = await sent();
    clock.advance(10 * MINUTE_MS);
    expect(await result).toMatchObject({ error: 'no whole answer within 10 minutes', delayed: TO });
    await eventually(() => expect(server.connections()).toBe(0));
    answer();
  });
});
