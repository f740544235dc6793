// Requests that fail by a defect of the service: each is answered and counted, and its log lines stay few and hold no
// key.
import { expect, it, onTestFinished } from 'vitest';
import { API_KEY, createRig } from './http-rig.js';

it('have at most a hundred lines at once, of 4,096 bytes, without the key in their path, and all are counted', async () => {
  const rig = await createRig({
    answers: {
      getLocationLimits: ({ path: { locationId } }) => {
        throw new Error(`there is nothing at ${`/${locationId}`.repeat(100)}`);
      },
    },
  });
  onTestFinished(() => rig.stop());
  const path = `/v1/locations/${API_KEY}/limits`;
  const headers = { 'x-api-key': API_KEY };
  for (let i = 0; i < 150; i++) expect((await rig.call('GET', path, { headers })).status).toBe(500);
  const lines = rig.logLines.map((line): Record<string, unknown> => JSON.parse(line));
  const failures = lines.filter(({ msg }) => msg === 'request failed');
  expect(failures).toHaveLength(100);
  expect(failures[0]).toMatchObject({
    requestId: expect.any(String),
    err: { message: expect.stringContaining('there is nothing at'), stack: expect.stringMatching(/\n +at /) },
  });
  for (const line of rig.logLines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(4_096);
  const secret = API_KEY.slice('hr_harbour1_'.length);
  expect(rig.logLines.join('')).not.toContain(secret.slice(0, 10));
  const text = await rig.metrics.registry.metrics();
  expect(text).toMatch(/headroom_http_request_seconds_count\{route="[^"]+",status="500"\} 150\n/);
  expect(text).toContain('headroom_log_lines_left_out_total 50\n');
});
