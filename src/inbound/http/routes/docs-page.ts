// Serves the API documentation page: the packed Swagger UI, from memory, with no file from another site.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { DomainError } from '../../../../machines/values/errors.js';
import type { Handler } from '../endpoint-handler.js';
import { DOCS_SECURITY_HEADERS } from '../security-headers.js';
import { OPENAPI_PATH } from './documents.js';
import { onExpress, type PageResponse } from './page.js';

export const DOCS_PATH = '/docs';
export const DOCS_PAGE_PATH = '/docs/';
export const DOCS_FILE_PATH = '/docs/{file}';

/** A file of the page, with and without gzip. */
interface PageFile {
  readonly type: string;
  readonly packed: Buffer;
  readonly plain: Buffer;
  readonly etag: string;
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Headroom API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="./swagger-ui.css">
<link rel="stylesheet" href="./docs.css">
<script src="./swagger-ui-bundle.js" defer></script>
<script src="./show.js" defer></script>
</head>
<body>
<nav class="back" aria-label="Headroom"><a href="../">Dashboard</a></nav>
<div id="api" data-url="${OPENAPI_PATH}"><noscript>This page needs JavaScript. The description itself: ${OPENAPI_PATH}</noscript></div>
</body>
</html>
`;
const ABSENT = 'Swagger UI was not built: run "npm run build" and start the service again.';

/** The build's output of Swagger UI, relative to the sources and to the compiled files. */
function builtDocs(): string | undefined {
  return ['../../../../dist/docs/', '../../../../docs/']
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((place) => existsSync(`${place}swagger-ui-bundle.js.gz`));
}

/**
 * Handlers for the page, for its files, and for the address without a slash. All files are read at the first request.
 */
export function createDocsHandlers(directory = builtDocs()): {
  readonly moved: Handler;
  readonly page: Handler;
  readonly file: Handler;
} {
  let held: ReadonlyMap<string, PageFile> | undefined;
  const files = () => {
    held ??= readFiles(directory);
    return held;
  };
  return {
    moved: onExpress((_request, response) => {
      response.set(headersOf(response)).redirect(301, DOCS_PAGE_PATH);
    }),
    page: onExpress((_request, response) => {
      send(response, files().get('index.html'));
    }),
    file: onExpress((_request, response) => {
      send(response, files().get(response.locals.exchange.parameters.file ?? ''));
    }),
  };
}

function send(response: PageResponse, file: PageFile | undefined): void {
  if (file === undefined) throw new DomainError('NOT_FOUND', 'There is no such part of the page.');
  const isPacked = response.req.acceptsEncodings('gzip') === 'gzip';
  response.set({
    ...headersOf(response),
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
    etag: file.etag,
    ...(isPacked && { 'content-encoding': 'gzip' }),
  });
  response.type(file.type).send(isPacked ? file.packed : file.plain);
}

function headersOf(response: PageResponse): Record<string, string> {
  return { ...DOCS_SECURITY_HEADERS, 'x-request-id': response.locals.exchange.requestId };
}

function readFiles(directory: string | undefined): ReadonlyMap<string, PageFile> {
  const files = new Map([['index.html', fileOf('html', Buffer.from(PAGE))]]);
  if (directory === undefined)
    return files.set('show.js', fileOf('js', Buffer.from(`document.body.append('${ABSENT}')`)));
  for (const [name, type] of [
    ['swagger-ui.css', 'css'],
    ['docs.css', 'css'],
    ['swagger-ui-bundle.js', 'js'],
    ['show.js', 'js'],
  ] as const) {
    const packed = readFileSync(`${directory}${name}.gz`);
    files.set(name, fileOf(type, gunzipSync(packed), packed));
  }
  return files;
}

function fileOf(type: string, plain: Buffer, packed = gzipSync(plain)): PageFile {
  return { type, plain, packed, etag: `W/"${createHash('sha256').update(plain).digest('base64url')}"` };
}
