// A proxy that refuses requests, cuts connections and loses answers.
import { createServer, request as sendOnward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A refusal with a status; a connection that is cut before the service has the request, or before its answer. */
type Fault = number | 'cut' | 'loseAnswer';

/** A proxy before `origin` that gives the next requests these faults. It closes after the test. */
export async function openFaultyProxy(origin: string) {
  const faults: Fault[] = [];
  const received: string[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    received.push(`${method} ${url}`);
    const fault = faults.shift();
    if (fault === 'cut') return void request.socket.destroy();
    if (typeof fault === 'number')
      return void response.writeHead(fault, { 'retry-after': fault === 429 ? '1' : '0' }).end('Busy');
    const onward = sendOnward(`${origin}${url}`, { method, headers, agent: false }, (answer) => {
      if (fault === 'loseAnswer') return void answer.resume().on('end', () => request.socket.destroy());
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    received,
    give: (...next: readonly Fault[]) => void faults.push(...next),
    cutAll: () => server.closeAllConnections(),
  };
}
