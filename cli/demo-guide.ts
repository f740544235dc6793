// The text that the demo prints: addresses, and three commands to try.
import { toInstant } from '../src/wire/instants.js';

const STARTS_IN_MS = 20_000;
const LASTS_MS = 60_000;

/** Bold if the output is a terminal that supports it; otherwise plain. */
function bold(text: string): string {
  return process.stdout.isTTY && process.stdout.hasColors() ? `\u001b[1m${text}\u001b[22m` : text;
}

/** The text, with a schedule that begins 20 s after `nowMs` and ends a minute later. */
export function demoGuide(options: {
  readonly httpUrl: string;
  readonly mqttUrl: string;
  readonly ocppUrl: string;
  readonly apiKey: string;
  readonly locationId: string;
  readonly clusterId: string;
  readonly sizes: string;
  readonly nowMs: number;
}): string {
  const { httpUrl, mqttUrl, ocppUrl, apiKey, locationId, clusterId, sizes, nowMs } = options;
  const startTime = toInstant(nowMs + STARTS_IN_MS);
  const endTime = toInstant(nowMs + STARTS_IN_MS + LASTS_MS);
  const schedule = JSON.stringify({ startTime, endTime, limitKw: 22, priority: 5 });
  const key = `-H 'x-api-key: ${apiKey}'`;
  const clock = (instant: string) => instant.slice(11, 19);
  return `
${bold('Headroom is running')}, with ${sizes}. Ctrl-C stops everything.

  Dashboard  ${httpUrl}/
  API key    ${apiKey}   (signs in there)
  API docs   ${httpUrl}/docs
  Chargers   ${mqttUrl}, and ${ocppUrl} for OCPP (q1-d)

${bold(`Limit ${locationId} to 22 kW`)} from ${clock(startTime)} to ${clock(endTime)} UTC:

curl -sS ${httpUrl}/v1/locations/${locationId}/schedules ${key} -H 'content-type: application/json' -d '${schedule}'

${bold('Read its limits')}, again and again: SCHEDULED, ACTIVE, EXPIRED, and the effective limit with them:

curl -sS ${httpUrl}/v1/locations/${locationId}/limits ${key}

${bold('See what the cars draw')} right now, per location and together, in kW:

curl -sS ${httpUrl}/v1/clusters/${clusterId} ${key}
`;
}
