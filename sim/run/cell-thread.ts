// A thread that runs the cells it was given, as far as it is asked to.
import { parentPort, workerData } from 'node:worker_threads';
import { type CellAnswer, type CellOrder, LocalCells } from './cell-hosts.js';

const cells = await LocalCells.open(workerData);

async function follow(order: CellOrder): Promise<CellAnswer> {
  if (order === 'end') return cells.end();
  if (order !== 'close') return cells.advance(order.advanceTo);
  await cells.close();
  return 'closed';
}

parentPort?.on('message', (order: CellOrder) => {
  // What is thrown here ends the thread, and is thrown where it was asked.
  void follow(order).then((answer) => parentPort?.postMessage(answer));
});
parentPort?.postMessage('open' satisfies CellAnswer);
