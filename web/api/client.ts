// The typed client as the pages use it: paths below `/v1`, refusals as `ApiError`, and the end of the session.
import { createHeadroom, type Untyped } from '../../client/headroom.js';
import type { Credential } from '../session/credential.js';
import { asApiError } from './api-error.js';

/** Answer to a write. */
export interface Written<T> {
  readonly body: T;
  /** Sentences for the user about a limit that was written but will not fit. */
  readonly warnings: readonly string[];
}

/** Paths are below `/v1`, built with `path`. Every method throws only `ApiError`, or the error of an abort. */
export interface ApiClient {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  post<T>(path: string, body: object): Promise<Written<T>>;
  put<T>(path: string, body: object): Promise<Written<T>>;
  patch<T>(path: string, body: object): Promise<Written<T>>;
  delete<T>(path: string): Promise<Written<T>>;
  /** All pages of a list as one CSV file. */
  table(path: string): Promise<string>;
  /** The response itself, for streams. */
  open(path: string, signal: AbortSignal): Promise<Response>;
}

/** Such as `path\`/locations/${id}/live\``: an id with any characters stays one segment of the path. */
export function path(texts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return texts
    .map((text, i) => text + (i < values.length ? encodeURIComponent(values[i] ?? '') : ''))
    .join('');
}

export function createApiClient(options: {
  readonly credential: Credential;
  /** Called after the service refused the credential, at the start or later. */
  readonly onUnauthorized?: (why: string) => void;
}): ApiClient {
  const { credential, onUnauthorized = () => {} } = options;
  // A page shows a failure at once, and reads again by its own rules.
  const headroom = createHeadroom({ url: location.origin, ...credential, attempts: 1 });

  async function answered<T>(asked: Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await asked;
    } catch (thrown) {
      if (signal?.aborted) throw thrown;
      const error = asApiError(thrown);
      if (error.status === 401) onUnauthorized(error.message);
      throw error;
    }
  }

  /** The caller names the shape of the answer. */
  const request = <T>(method: string, below: string, asked: Untyped) =>
    answered(headroom.request(method, `/v1${below}`, asked) as Promise<T>, asked.signal);

  async function write<T>(method: string, below: string, body?: object): Promise<Written<T>> {
    let warnings: readonly string[] = [];
    const answer = await request<T>(method, below, {
      ...(body !== undefined && { body }),
      onAnswer: (headers) => {
        warnings = headers.warnings;
      },
    });
    return { body: answer, warnings };
  }

  return {
    get: (below, signal) => request('GET', below, signal === undefined ? {} : { signal }),
    post: (below, body) => write('POST', below, body),
    put: (below, body) => write('PUT', below, body),
    patch: (below, body) => write('PATCH', below, body),
    delete: (below) => write('DELETE', below),
    async table(below) {
      const pages: string[] = [];
      for (let next: string | undefined = below; next !== undefined; ) {
        const response: Response = await answered(headroom.open(`/v1${next}`, { accept: 'text/csv' }));
        const text = await answered(response.text());
        // Each page begins with the names of the columns.
        pages.push(pages.length === 0 ? text : text.slice(text.indexOf('\n') + 1));
        next = nextPageOf(response.headers.get('link'));
      }
      return pages.join('');
    },
    open: (below, signal) => answered(headroom.open(`/v1${below}`, { signal }), signal),
  };
}

/** The path of the next page below `/v1`, from `</v1/energy?cursor=…>; rel="next"`. */
function nextPageOf(header: string | null): string | undefined {
  return /^<\/v1([^>]*)>; rel="next"$/.exec(header ?? '')?.[1];
}
