// Serves the built dashboard. Browsers revalidate the page each time, and keep
// the assets, whose names change with their content.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Request } from 'express';
import { DomainError } from '../../../../machines/values/errors.js';
import type { Handler } from '../endpoint-handler.js';
import { DASHBOARD_SECURITY_HEADERS } from '../security-headers.js';
import { onExpress, type PageResponse } from './page.js';

export const DASHBOARD_PATH = '/';
export const ASSET_PATH = '/assets/{asset}';

/** Encodings that the build made of each asset, best first, with their file suffix. */
const SUFFIX_OF = { br: '.br', gzip: '.gz', identity: '' } as const;
type Encoding = keyof typeof SUFFIX_OF;

const ABSENT =
  'The dashboard was not built: run "npm run build" and start the service again. The API is described at /docs/.\n';

/** The build's output, relative to the sources and to the compiled files. */
function builtPage(): string | undefined {
  return ['../../../../dist/web/', '../../../../web/']
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((place) => existsSync(`${place}assets`) && existsSync(`${place}index.html`));
}

interface BuiltFile {
  readonly body: Buffer;
  /** Computed once: a hash of 200 kB for each request would be most of its work. */
  readonly etag: string;
}

/** `directory` ends with a slash. All files are read at the first request. */
export function createDashboardHandlers(directory = builtPage()): {
  readonly page: Handler;
  readonly asset: Handler;
} {
  let held: ReadonlyMap<string, BuiltFile> | undefined;
  // A build that replaces its files while the service runs cannot mix two versions of the page.
  const files = () => {
    held ??= directory === undefined || !existsSync(directory) ? new Map() : readFiles(directory);
    return held;
  };
  return {
    page: onExpress((_request, response) => {
      const page = files().get('index.html');
      response.set({ ...headersOf(response), 'cache-control': 'no-cache' });
      if (page === undefined) response.status(503).type('text/plain').send(ABSENT);
      else response.set('etag', page.etag).type('html').send(page.body);
    }),
    asset: onExpress((request, response) => {
      const name = `assets/${response.locals.exchange.parameters.asset}`;
      const encoding = encodingFor(request);
      const file = files().get(name + SUFFIX_OF[encoding]) ?? files().get(name);
      if (file === undefined) {
        throw new DomainError('NOT_FOUND', 'There is no such part of the page: load the page again.');
      }
      const isEncoded = encoding !== 'identity' && file !== files().get(name);
      response.set({
        ...headersOf(response),
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
        etag: file.etag,
        ...(isEncoded && { 'content-encoding': encoding }),
      });
      response.type(name.slice(name.lastIndexOf('.'))).send(file.body);
    }),
  };
}

function headersOf(response: PageResponse): Record<string, string> {
  return { ...DASHBOARD_SECURITY_HEADERS, 'x-request-id': response.locals.exchange.requestId };
}

function encodingFor(request: Request): Encoding {
  const accepted = request.acceptsEncodings(Object.keys(SUFFIX_OF));
  return accepted === 'br' || accepted === 'gzip' ? accepted : 'identity';
}

function readFiles(directory: string): ReadonlyMap<string, BuiltFile> {
  const names = ['index.html', ...readdirSync(`${directory}assets`).map((name) => `assets/${name}`)];
  return new Map(
    names.map((name) => {
      const body = readFileSync(directory + name);
      return [name, { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` }];
    }),
  );
}
