// Implementation of `headroom sandbox`: the production API on one port, and its clock on another.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import express, { type NextFunction, type Request, type Response } from 'express';
import { z } from 'zod';
import { Sandbox } from '../sim/run/sandbox.js';
import { parseInstant } from '../sim/scenario/moment.js';
import { parseScenario } from '../sim/scenario/parse-scenario.js';
import { removeWorldFolders } from '../sim/world/world-folder.js';
import { systemClock } from '../src/clock.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { UnusableFileError } from '../src/provisioning/parse-yaml.js';
import { errorEnvelope } from '../src/wire/error-envelope.js';
import { toInstant } from '../src/wire/instants.js';
import { FailedError } from './operator-error.js';
import { isInUse } from './ports.js';
import { printLine } from './print.js';
import { textOf } from './sim-flags.js';
import { FASTEST, type SandboxFlags } from './sim-options.js';
import { stopWithGrace } from './stop-with-grace.js';

const SITES_FILE = fileURLToPath(new URL('../../cli/sandbox/sites.yaml', import.meta.url));
const PAGE_FILE = fileURLToPath(new URL('../../cli/sandbox/page.html', import.meta.url));
const DAY_MS = 86_400_000;
/** A longer step would hold the process for minutes. */
const LONGEST_STEP_MS = 31 * DAY_MS;

// The clock over HTTP. Steps run one after another, and an answer comes after its step.

const DURATION = /^P(?:(\d{1,4})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,8}(?:\.\d{1,3})?)S)?)?$/;

/** An ISO 8601 duration in ms; undefined if `text` is not one, or has no part. */
function durationMsOf(text: string): number | undefined {
  const match = /\d/.test(text) ? DURATION.exec(text) : null;
  if (match === null || text.endsWith('T')) return undefined;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((part) => Number(part ?? 0));
  return Math.round(1000 * (60 * (60 * (24 * days + hours) + minutes) + seconds));
}

const STEP_RULE =
  'must be one of { "advance": "PT6H" }, { "to": "2026-06-01T17:00:00Z" } and { "speed": 60 }';

const ADVANCE_RULE = 'must be an ISO 8601 duration such as PT6H';
const TO_RULE = 'must be an instant with an offset';
const SPEED_RULE = `must be a number from 0 to ${FASTEST}`;

const stepSchema = z
  .strictObject({
    advance: z
      .string(ADVANCE_RULE)
      .transform((text, context) => durationMsOf(text) ?? refuse(context, ADVANCE_RULE))
      .optional(),
    to: z
      .string(TO_RULE)
      .transform((text, context) => parseInstant(text)?.atMs ?? refuse(context, TO_RULE))
      .optional(),
    speed: z.number(SPEED_RULE).min(0, SPEED_RULE).max(FASTEST, SPEED_RULE).optional(),
  })
  .refine((step) => Object.keys(step).length === 1, STEP_RULE);

function refuse(context: z.core.$RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

/** A mistake in a request to the clock. */
class StepError extends Error {}

async function step(sandbox: Sandbox, body: unknown): Promise<void> {
  const parsed = stepSchema.safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') ?? '';
    throw new StepError(field === '' ? `The body ${STEP_RULE}` : `${field} ${issue?.message}`);
  }
  const { advance, to, speed } = parsed.data;
  if (speed !== undefined) return sandbox.setSpeed(speed);
  const ms = advance ?? (to ?? 0) - sandbox.nowMs();
  if (ms < 0)
    throw new StepError(`to has passed: it is ${toInstant(sandbox.nowMs())}, and time does not go back`);
  if (ms > LONGEST_STEP_MS) throw new StepError('A step is at most 31 days long: take several');
  await (to === undefined ? sandbox.advance(ms) : sandbox.advanceTo(to));
}

function clockOf(sandbox: Sandbox) {
  const { startsAtMs, endsAtMs } = sandbox.scenario;
  return {
    now: toInstant(sandbox.nowMs()),
    speed: sandbox.speed,
    startsAt: toInstant(startsAtMs),
    endsAt: toInstant(endsAtMs),
    httpUrl: sandbox.httpUrl,
    apiKeys: [...sandbox.apiKeys.values()],
  };
}

function controlOf(sandbox: Sandbox) {
  const app = express();
  app.disable('x-powered-by');
  app.use(express.json({ limit: '16kb' }));
  app.post('/sandbox/*path', (request, _response, next) => {
    if (request.body === undefined) throw new StepError('Send JSON, with Content-Type: application/json');
    next();
  });
  app.get('/', (_request, response) => response.redirect('/sandbox'));
  app.get('/sandbox', (_request, response) => {
    response.type('html').send(readFileSync(PAGE_FILE));
  });
  app.get('/sandbox/clock', (_request, response) => {
    response.json(clockOf(sandbox));
  });
  app.post('/sandbox/clock', async (request, response) => {
    await step(sandbox, request.body);
    response.json(clockOf(sandbox));
  });
  app.post('/sandbox/faults', async (request, response) => {
    await sandbox.inflict(request.body);
    response.json(clockOf(sandbox));
  });
  app.use((_request, response) => {
    const message = 'There are /sandbox, /sandbox/clock and /sandbox/faults';
    response.status(404).json(errorEnvelope('NOT_FOUND', message, randomUUID()));
  });
  // Express recognizes an error handler by its four parameters.
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    const isMistake =
      error instanceof StepError ||
      error instanceof UnusableFileError ||
      (error instanceof Error && 'expose' in error && error.expose === true);
    const code = isMistake ? 'INVALID_REQUEST_BODY' : 'INTERNAL_ERROR';
    const message = error instanceof Error ? error.message : String(error);
    response.status(isMistake ? 400 : 500).json(errorEnvelope(code, message, randomUUID()));
  });
  return app;
}

// The command.

/** A crash of the service frees its port, so a free one must be known before the service's first life. */
async function portFor(host: string, port: number, flag: string): Promise<number> {
  const probe = createServer().listen(port, host);
  try {
    await once(probe, 'listening');
    return (probe.address() as AddressInfo).port;
  } catch (error) {
    if (!(error instanceof Error && isInUse(error))) throw error;
    throw new FailedError(`port ${port} is in use; choose another with ${flag} (0 picks a free one)`);
  } finally {
    probe.close();
  }
}

/** To the minute, so that the times of the guide are short. */
function presentMinuteMs(): number {
  return Math.floor(systemClock.nowMs() / 60_000) * 60_000;
}

export async function sandbox(path: string = SITES_FILE, flags: SandboxFlags): Promise<void> {
  const { seed, days, start = presentMinuteMs(), host, port, controlPort, speed } = flags;
  if (port !== 0 && port === controlPort)
    throw new OperatorError('--control-port must differ from --port (0 picks a free one)');
  const httpPort = await portFor(host, port, '--port');
  const freeControlPort = await portFor(host, controlPort, '--control-port');
  const scenario = parseScenario(textOf(path), path, {
    ...(seed !== undefined && { seed }),
    durationMs: days * DAY_MS,
    startsAtMs: start,
  });
  process.on('exit', removeWorldFolders);
  const opened = await Sandbox.open(scenario, { httpPort, httpHost: host, speed, clock: systemClock });
  const control = createServer(controlOf(opened));
  stopWithGrace(async () => {
    control.close();
    control.closeAllConnections();
    await opened.close();
  });
  control.listen(freeControlPort, host);
  await once(control, 'listening');
  printLine(guide(opened, `http://${host}:${freeControlPort}`));
}

function guide(opened: Sandbox, controlUrl: string): string {
  const [apiKey = ''] = opened.apiKeys.values();
  const { httpUrl } = opened;
  return `
Headroom runs in a sandbox. It is ${toInstant(opened.nowMs())}. Ctrl-C stops it, and nothing is kept.

  REST API   ${httpUrl}/v1, documented at ${httpUrl}/docs
  Dashboard  ${httpUrl}/
  API key    ${apiKey}
  Clock      ${controlUrl}/sandbox

Let six hours pass:

curl -sS ${controlUrl}/sandbox/clock -H 'content-type: application/json' -d '{"advance": "PT6H"}'
`;
}
