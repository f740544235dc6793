// Runs one command after another, each as `cli/headroom.js` runs it, so that they share one loading of the product.
import { writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../cli/headroom.js', import.meta.url));
/** The entry of the bundle. Its import runs the command of `process.argv`; each command imports it again. */
const ENTRY = new URL('../../dist/command/main.js', import.meta.url);
/** Thrown by `process.exit`, which must not return. */
const ENDED = new Error('the command has ended');
/** Events to which a command may add listeners. They are removed after it. */
const LISTENED_TO = [
  ...['exit', 'beforeExit', 'SIGINT', 'SIGTERM'].map((name) => [process, name]),
  ...[process.stdout, process.stderr].flatMap((stream) => [
    [stream, 'error'],
    [stream, 'resize'],
  ]),
];

/** Resources that keep this process alive, counted by kind. */
function whatIsOpen() {
  const counts = new Map();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Resolves once no more is open than `before`: a separate process would end now. */
async function nothingIsOpen(before) {
  const isOver = () => [...whatIsOpen()].every(([kind, count]) => count <= (before.get(kind) ?? 0));
  do await new Promise((resolve) => setTimeout(resolve, 1).unref());
  while (!isOver());
}

/** Sets the whole environment, also for native code that reads it. */
function setEnvironment(environment) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
}

/** Marks the beginning or end of a command's output on both streams. */
function mark(text) {
  for (const output of [1, 2]) writeSync(output, `${text}\n`);
}

/** Handles the first end of the command: by `process.exit`, by an error, or by itself. */
let end = () => {};

const leave = process.exit.bind(process);
// A command may still hold a resource open after the tests, so this process ends with its parent.
process.once('disconnect', () => leave());
if (!process.connected) leave();
process.exit = (code) => {
  end(code ?? process.exitCode ?? 0);
  throw ENDED;
};
process.on('uncaughtException', (error) => {
  if (error === ENDED) return;
  writeSync(2, `${error?.stack ?? error}\n`);
  end(1);
});

async function run({ id, args, environment }) {
  const known = LISTENED_TO.map(([emitter, name]) => emitter.listeners(name));
  const added = ([emitter, name], i) => emitter.listeners(name).filter((each) => !known[i].includes(each));
  const before = whatIsOpen();
  process.argv = [process.execPath, COMMAND, ...args];
  process.exitCode = undefined;
  setEnvironment(environment);
  mark(`\u0002${id}`);
  end = (code) => {
    end = () => {};
    for (const listener of added(LISTENED_TO[0], 0)) listener(code);
    // A separate process would have ended here, so later output does not count.
    mark(`\u0004${id} ${code}`);
  };
  try {
    await import(`${ENTRY.href}?${id}`);
    await nothingIsOpen(before);
    end(process.exitCode ?? 0);
  } catch (error) {
    process.emit('uncaughtException', error);
  }
  await nothingIsOpen(before);
  for (const [i, place] of LISTENED_TO.entries())
    for (const listener of added(place, i)) place[0].removeListener(place[1], listener);
}

let last = Promise.resolve();
process.on('message', (order) => {
  last = last.then(() => run(order));
});
