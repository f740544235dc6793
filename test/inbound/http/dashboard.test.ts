// Delivery of the dashboard: caching, revalidation, and the page's permissions.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRig, type Rig } from './http-rig.js';

const SCRIPT = 'console.log("a script of the page, named by its content")';
const PAGE = '<!doctype html><script type="module" src="/assets/main-1a2b.js"></script>';

const built = mkdtempSync(join(tmpdir(), 'headroom-page-'));
let rig: Rig;

beforeAll(async () => {
  mkdirSync(join(built, 'assets'));
  writeFileSync(join(built, 'index.html'), PAGE);
  writeFileSync(join(built, 'secret.txt'), 'beside the page');
  const script = join(built, 'assets', 'main-1a2b.js');
  writeFileSync(script, SCRIPT);
  writeFileSync(`${script}.br`, brotliCompressSync(SCRIPT));
  writeFileSync(`${script}.gz`, gzipSync(SCRIPT));
  writeFileSync(join(built, 'assets', 'style-3c4d.css'), 'body{margin:0}');
  rig = await createRig({ pageDirectory: `${built}/` });
});

afterAll(async () => {
  await rig.stop();
  rmSync(built, { recursive: true });
});

const SCRIPT_PATH = '/assets/main-1a2b.js';

describe('GET /', () => {
  it('is the page, which a browser requests anew each time, with 304 if it has not changed', async () => {
    const page = await rig.call('GET', '/');
    expect([page.status, await page.text()]).toEqual([200, PAGE]);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const etag = page.headers.get('etag') ?? '';
    const again = await rig.call('GET', '/', {
      headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' },
    });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it('answers HEAD with the same headers, and another method with 405', async () => {
    const head = await rig.call('HEAD', '/');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(PAGE.length)]);
    const posted = await rig.call('POST', '/', { body: {} });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('lets the page load from here alone, and nothing inline', async () => {
    for (const path of ['/', SCRIPT_PATH]) {
      const { headers } = await rig.call('GET', path);
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'self';object-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('answers with the way out if the dashboard was not built', async () => {
    const empty = await createRig({ pageDirectory: `${built}/nothing/` });
    const answer = await empty.call('GET', '/');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
    expect(await answer.text()).toContain('npm run build');
    expect((await empty.call('GET', SCRIPT_PATH)).status).toBe(404);
    await empty.stop();
  });
});

describe('GET /assets/{asset}', () => {
  it.each([
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', null],
  ])('comes as the browser accepts it, to be kept for good: %s', async (accepted, encoding) => {
    const answer = await rig.call('GET', SCRIPT_PATH, { headers: { 'accept-encoding': accepted } });
    expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, encoding]);
    expect(await answer.text()).toBe(SCRIPT);
    expect(answer.headers.get('content-type')).toMatch(/^(text|application)\/javascript/);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(answer.headers.get('vary')?.toLowerCase()).toBe('accept-encoding');
  });

  it('comes plain where the build made no smaller form of it', async () => {
    const answer = await rig.call('GET', '/assets/style-3c4d.css', { headers: { 'accept-encoding': 'br' } });
    expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, null]);
    expect(answer.headers.get('content-type')).toBe('text/css; charset=utf-8');
  });

  it.each(['nothing.js', '..%2Findex.html', '..%2fsecret.txt', '%2e%2e%2fsecret.txt', '.', '%00'])(
    'that the build did not make is 404: %s',
    async (name) => {
      const answer = await rig.call('GET', `/assets/${name}`);
      expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('NOT_FOUND')]);
    },
  );
});
