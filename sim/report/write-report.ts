// Writes report.html: a single file with its page and data, which opens from disk and loads nothing else.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Trace } from '../log/trace.js';
import { collectReport } from './collect-report.js';
import { type ComparedRun, DATA_ELEMENT_ID, type ReportData } from './report-data.js';
import type { Summary } from './summary.js';

const gzipped = promisify(gzip);

/** Writes the report of `trace` to `path`. For `summary`, `unmet` and `compared` see `collectReport`. */
export async function writeReport(
  path: string,
  trace: Trace,
  summary: Summary,
  unmet: readonly string[] = [],
  compared?: ComparedRun,
): Promise<void> {
  await writeFile(path, await reportHtml(await collectReport(trace, summary, unmet, compared)));
}

async function reportHtml(data: ReportData): Promise<string> {
  const script = readPage('page.js');
  const style = readPage('page.css');
  const packed = (await gzipped(JSON.stringify(data))).toString('base64');
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(data.title)} · Headroom</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This report draws itself with JavaScript, which is off.</noscript>
<script type="text/plain" id="${DATA_ELEMENT_ID}">${packed}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}

/** Reads a file that `npm run build` made of web/report. Compiled and source modules find it in dist/. */
function readPage(name: string): string {
  const places = [`../../report/${name}`, `../../dist/report/${name}`];
  const url = places.map((place) => new URL(place, import.meta.url)).find((place) => existsSync(place));
  if (url === undefined) throw new Error(`The page of reports is not built: ${name} is missing`);
  return readFileSync(url, 'utf8');
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
