// A process that runs one command after another, each as `bin/headroom.js` runs it, so that not each loads the product anew.
import { writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../bin/headroom.js', import.meta.url));
/** The entry of the bundle: it runs what `process.argv` says as it is loaded, and is loaded again for each command. */
const ENTRY = new URL('../../dist/command/main.js', import.meta.url);
/** Thrown by `process.exit`, which must not return. */
const ENDED = new Error('the command has ended');
/** Who is told what, beside the command. */
const LISTENED_TO = [
  ...['exit', 'beforeExit', 'SIGINT', 'SIGTERM'].map((name) => [process, name]),
  ...[process.stdout, process.stderr].flatMap((stream) => [
    [stream, 'error'],
    [stream, 'resize'],
  ]),
];

/** What keeps this process from ending, by kind. */
function whatIsOpen() {
  const counts = new Map();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** A process of its own would end now: no more is open than was `before`. */
async function nothingIsOpen(before) {
  const isOver = () => [...whatIsOpen()].every(([kind, count]) => count <= (before.get(kind) ?? 0));
  do await new Promise((resolve) => setTimeout(resolve, 1).unref());
  while (!isOver());
}

/** Sets the whole environment, for what reads it outside JavaScript too. */
function setEnvironment(environment) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
}

/** Begins or ends on both outputs what a command says. */
function mark(text) {
  for (const output of [1, 2]) writeSync(output, `${text}\n`);
}

/** Takes the first end of the command: by `process.exit`, by an error, or by itself. */
let end = () => {};

const leave = process.exit.bind(process);
// A command may still hold something open when the tests are over: whoever began this process is gone, and it goes too.
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
    // What it says from now on, nobody would have heard.
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
