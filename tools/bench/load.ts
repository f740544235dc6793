// HTTP load from a process of its own, so that the generator does not share the event loop under measurement.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Each connection takes these paths in turn; `url` then names only the origin. */
  readonly paths?: readonly string[];
}

export interface LoadResult {
  readonly requestsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly non2xx: number;
  readonly errors: number;
}

/** Runs `load` in a child process and resolves with its measurements. */
export async function applyLoad(load: Load): Promise<LoadResult> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(load)]);
  return new Promise((resolve, reject) => {
    child.once('message', (result) => resolve(result as LoadResult));
    child.once('error', reject);
    child.once('exit', (code) => code !== 0 && reject(new Error(`the load generator exited with ${code}`)));
  });
}

async function generate(load: Load): Promise<LoadResult> {
  const common = {
    method: load.method,
    headers: load.headers,
    ...(load.body === undefined ? {} : { body: load.body }),
  };
  const result = await autocannon({
    url: load.url,
    connections: load.connections,
    duration: load.seconds,
    ...common,
    ...(load.paths === undefined ? {} : { requests: load.paths.map((path) => ({ path, ...common })) }),
  });
  return {
    requestsPerS: result.requests.average,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    non2xx: result.non2xx,
    errors: result.errors,
  };
}

const [, script, argument] = process.argv;
if (script === fileURLToPath(import.meta.url) && argument !== undefined) {
  process.send?.(await generate(JSON.parse(argument) as Load));
  process.disconnect?.();
}
