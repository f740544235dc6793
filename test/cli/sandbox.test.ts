// A back end's test of a night: schedules begin and end, cars come and go, as soon as the sandbox's clock is moved.
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { run, start, temporaryDirectory, writeFile } from './headroom.js';

const STARTS_AT = '2026-06-01T10:00:00Z';

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function openSandbox(...args: readonly string[]) {
  const running = start([
    ...['sandbox', 'scenarios/ordinary-depot-day.yaml', ...args, '--port', '0', '--control-port', '0'],
    ...['--start', STARTS_AT, '--seed', '1'],
  ]);
  onTestFinished(async () => void (await running.stop()));
  const wordOf = async (name: string) => {
    const line = await running.line((each) => each.trim().startsWith(name));
    return line.trim().slice(name.length).trim().split(/[, ]/)[0] ?? '';
  };
  const rest = await wordOf('REST API');
  const key = await wordOf('API key');
  const clockPage = await wordOf('Clock');
  async function ask(
    url: string,
    body?: unknown,
    method = body === undefined ? 'GET' : 'POST',
  ): Promise<Answer> {
    const answer = await fetch(url, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.json() };
  }
  return {
    running,
    clockPage,
    api: (path: string, body?: unknown, method?: string) => ask(`${rest}${path}`, body, method),
    clock: (step?: unknown) => ask(`${clockPage}/clock`, step),
    fault: (fault: unknown) => ask(`${clockPage}/faults`, fault),
    stream: (path: string) => fetch(`${rest}${path}`, { headers: { 'x-api-key': key } }),
  };
}

const NIGHT = {
  priority: 5,
  limitKw: 22,
  startTime: '2026-06-01T20:00:00Z',
  endTime: '2026-06-02T04:00:00Z',
};

const REFUSED: readonly (readonly [step: unknown, message: string])[] = [
  [{ advance: '6h' }, 'advance must be an ISO 8601 duration such as PT6H'],
  [{ advance: 6 }, 'advance must be an ISO 8601 duration such as PT6H'],
  [{ advance: 'P400D' }, 'A step is at most 31 days long: take several'],
  [{ to: '2026-06-01T09:59:59Z' }, 'time does not go back'],
  [{ to: 'noon' }, 'to must be an instant with an offset'],
  [{ speed: -1 }, 'speed must be a number from 0 to 3600'],
  [{ speed: '1' }, 'speed must be a number from 0 to 3600'],
  [{ advance: 'PT1S', speed: 1 }, 'The body must be one of'],
  [{}, 'The body must be one of'],
  [[], 'The body must be one of'],
  ['{', 'JSON'],
  ['x'.repeat(20_000), 'large'],
];

describe('headroom sandbox', () => {
  it('begins and ends a schedule of a night as soon as its clock is moved', async () => {
    const { api, clock } = await openSandbox('--speed', '0');
    expect(await api('/locations/site-1/schedules', NIGHT)).toMatchObject({
      status: 200,
      body: { status: 'SCHEDULED', effectiveLimitKw: 80 },
    });
    const { events } = eventPageSchema.parse((await api('/events')).body);
    expect(new Set(events.map(({ at }) => at))).toEqual(new Set(['2026-06-01T10:00:00.000Z']));
    expect(await clock({ advance: 'PT9H59M59.999S' })).toMatchObject({
      body: { now: '2026-06-01T19:59:59.999Z' },
    });
    expect(await api('/locations/site-1/limits')).toMatchObject({ body: { effectiveLimitKw: 80 } });
    await clock({ advance: 'PT0.001S' });
    expect(await api('/locations/site-1/limits')).toMatchObject({
      body: { effectiveLimitKw: 22, profiles: [{ status: 'ACTIVE' }] },
    });
    await clock({ to: '2026-06-01T22:05:00+02:00' });
    const { body } = await api('/locations/site-1/live');
    expect(body).toMatchObject({ at: '2026-06-01T20:05:00.000Z', gridLimitKw: 22 });
    expect(body).toHaveProperty(
      'actualKw',
      expect.toSatisfy((kw: number) => kw > 15 && kw <= 22),
    );
    await clock({ to: NIGHT.endTime });
    expect(await api('/locations/site-1/limits')).toMatchObject({
      body: { effectiveLimitKw: 80, profiles: [{ status: 'EXPIRED' }] },
    });
  });

  it('streams what happens while hours pass, and lists the sessions that ended', async () => {
    const { api, clock, stream } = await openSandbox('--speed', '0');
    const { body } = await stream('/stream?locationId=site-1');
    const lines = createInterface({ input: Readable.fromWeb(body as never) });
    const powers: string[] = [];
    let isPower = false;
    lines.on('line', (line) => {
      if (isPower && line.startsWith('data: ')) powers.push(line);
      isPower = line === 'event: power' || (isPower && !line.startsWith('data: '));
    });
    await clock({ advance: 'P1D' });
    await eventually(() => expect(new Set(powers).size).toBeGreaterThan(20));
    const sessions = await api('/sessions');
    expect(sessions.body).toHaveProperty(
      'sessions.length',
      expect.toSatisfy((count: number) => count > 3),
    );
    lines.close();
  });

  it('sends each ended session to a webhook of the machine', async () => {
    const { api, clock } = await openSandbox('--speed', '0');
    const received: unknown[] = [];
    const receiver = createServer(async (request, response) => {
      received.push(JSON.parse(await text(request)));
      response.end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void receiver.close());
    await once(receiver, 'listening');
    const { port } = receiver.address() as AddressInfo;
    const webhook = { url: `http://127.0.0.1:${port}/`, types: ['session.ended'] };
    expect(await api('/webhooks', webhook)).toMatchObject({ status: 201 });
    await clock({ advance: 'P1D' });
    const { body } = await api('/sessions?limit=100');
    const { sessions } = z.object({ sessions: z.array(z.object({ endTime: z.string() })) }).parse(body);
    const sentSchema = z.object({
      data: z.object({ id: z.string(), data: z.object({ endTime: z.string() }) }),
    });
    // On a busy machine a day passes before an answer does: the attempt is repeated once the clock goes on.
    await eventually(async () => {
      const sent = received.map((body) => sentSchema.parse(body).data);
      const ends = [...new Map(sent.map(({ id, data }) => [id, data.endTime])).values()].sort();
      await clock({ advance: 'PT30S' });
      expect(ends.slice(0, sessions.length)).toEqual(sessions.map(({ endTime }) => endTime).sort());
    });
  });

  it('lets time pass at the given speed, and stand still', async () => {
    const { clock } = await openSandbox('--speed', '600');
    const nowMs = async () => Date.parse(z.object({ now: z.string() }).parse((await clock()).body).now);
    await eventually(async () => expect(await nowMs()).toBeGreaterThan(Date.parse(STARTS_AT) + 600_000));
    expect(await clock({ speed: 0 })).toMatchObject({ body: { speed: 0 } });
    // A step under way still ends.
    await clock({ advance: 'PT0S' });
    const stoodAtMs = await nowMs();
    const { body } = await clock({ advance: 'PT1S' });
    expect(body).toHaveProperty('now', new Date(stoodAtMs + 1000).toISOString());
  });

  it('lets time pass up to an instant once, if several clients ask for it', async () => {
    const { clock } = await openSandbox('--speed', '0');
    const to = '2026-06-01T16:00:00.000Z';
    expect(await Promise.all([clock({ to }), clock({ to })])).toMatchObject([
      { body: { now: to } },
      { body: { now: to } },
    ]);
  });

  it('survives a crash of its service with all schedules, on the same port', async () => {
    const { api, clock, fault } = await openSandbox('--speed', '0');
    await api('/locations/site-1/schedules', NIGHT);
    expect(await fault({ kind: 'serviceCrash', for: '5s' })).toMatchObject({ status: 200 });
    await clock({ advance: 'PT1S' });
    await expect(api('/locations')).rejects.toThrow('fetch failed');
    await clock({ to: NIGHT.startTime });
    expect(await api('/locations/site-1/limits')).toMatchObject({
      body: { effectiveLimitKw: 22, profiles: [{ status: 'ACTIVE' }] },
    });
  });

  it('refuses every other step with the way out, and its clock stays', async () => {
    const { clock, clockPage } = await openSandbox('--speed', '0');
    for (const [step, message] of REFUSED) {
      expect(await clock(step)).toMatchObject({
        status: 400,
        body: { error: { code: 'INVALID_REQUEST_BODY', message: expect.stringContaining(message) } },
      });
    }
    // A page of another site can send this type without a preflight request.
    const asText = await fetch(`${clockPage}/clock`, { method: 'POST', body: '{"advance": "PT6H"}' });
    expect([asText.status, await asText.text()]).toEqual([400, expect.stringContaining('Content-Type')]);
    expect(await clock()).toMatchObject({ body: { now: '2026-06-01T10:00:00.000Z', speed: 0 } });
  });

  it('stops at a signal, and leaves no file behind', async () => {
    const temporary = temporaryDirectory();
    const running = start(['sandbox', '--port', '0', '--control-port', '0'], { TMPDIR: temporary });
    await running.line((line) => line.includes('Clock'));
    expect(await running.stop('SIGINT')).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(temporary) ? readdirSync(temporary) : []).toEqual([]);
  });

  it('refuses one port for both the API and the clock', async () => {
    const port = String(await freePort());
    const { code, stderr } = await run(['sandbox', '--port', port, '--control-port', port]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('must differ') });
  });

  it('names the problem of a file that is no scenario', async () => {
    const file = writeFile(temporaryDirectory(), 'none.yaml', 'name: 3\n');
    const { code, stderr } = await run(['sandbox', file, '--port', '0', '--control-port', '0']);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('name') });
  });
});
