// Entry point of a thread that runs cells.
import { parentPort } from 'node:worker_threads';
import type { CellAnswer, CellOrder } from './cell-hosts.js';
import { CellRun } from './cell-run.js';

const runs = new Map<number, CellRun>();

function runOf(nth: number): CellRun {
  const run = runs.get(nth);
  if (run === undefined) throw new RangeError(`there is no cell ${nth} on this thread`);
  return run;
}

async function follow(order: CellOrder): Promise<CellAnswer> {
  const { nth } = order;
  if (order.kind === 'open') {
    const run = await CellRun.open(order.cell, order.settings);
    runs.set(nth, run);
    return run.news();
  }
  const run = runOf(nth);
  if (order.kind === 'advance') return run.advance(order.instant);
  if (order.kind === 'do') return run.do(order.deed);
  if (order.kind === 'end') return run.end();
  runs.delete(nth);
  await run.close();
  return undefined;
}

parentPort?.on('message', (order: CellOrder) => {
  // An error here ends the thread; the host rejects the request with it.
  void follow(order).then((answer) => parentPort?.postMessage(answer));
});
