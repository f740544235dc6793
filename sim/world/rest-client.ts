// Requests to a world's service, over real HTTP: what an operator's back end would send.

export interface RestAnswer {
  /** 0 while no service runs. */
  readonly status: number;
  readonly body: unknown;
}

export async function callService(
  httpUrl: string,
  apiKey: string,
  request: { readonly method: string; readonly path: string; readonly body?: unknown },
): Promise<RestAnswer> {
  const { method, path, body } = request;
  const response = await fetch(`${httpUrl}/v1${path}`, {
    method,
    headers: {
      'x-api-key': apiKey,
      connection: 'close',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}
