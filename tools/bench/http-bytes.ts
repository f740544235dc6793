// HTTP as bytes, for clients that send invalid requests: requests and upgrades as text, and the statuses of answers.

/** A request as bytes; its body, if any, is JSON. */
export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): string {
  const fields = Object.entries({
    host: 'x',
    ...headers,
    ...(body !== '' && { 'content-type': 'application/json', 'content-length': String(body.length) }),
  });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** The status of every answer in `text`, in their order. */
export function statusesOf(text: string): readonly number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** Mistakes of an upgrade that only the web socket library notices, after the gateway accepted the charger. */
export const BROKEN = ['without key', 'with a short key', 'with a wrong version'] as const;
export type Flaw = (typeof BROKEN)[number];

export interface UpgradeRequest {
  readonly identity: string;
  readonly password: string;
  readonly protocol?: string;
  readonly flaw?: Flaw | undefined;
}

/** A charger's request for a web socket at `path`, to which its identity is appended. */
export function upgradeText(
  path: string,
  { identity, password, protocol = 'ocpp1.6', flaw }: UpgradeRequest,
): string {
  const basic = Buffer.from(`${identity}:${password}`).toString('base64');
  const key = flaw === 'with a short key' ? 'c2hvcnQ=' : 'dGhlIHNhbXBsZSBub25jZQ==';
  const head = [
    `GET ${path}/${identity} HTTP/1.1`,
    'host: gateway',
    'connection: upgrade',
    'upgrade: websocket',
    `sec-websocket-version: ${flaw === 'with a wrong version' ? 7 : 13}`,
    `sec-websocket-protocol: ${protocol}`,
    `authorization: Basic ${basic}`,
    ...(flaw === 'without key' ? [] : [`sec-websocket-key: ${key}`]),
  ];
  return `${head.join('\r\n')}\r\n\r\n`;
}
