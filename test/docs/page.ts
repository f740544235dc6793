// Runs a document as a reader would: one terminal, one file after another, one answer after another.

import type { Block, Document } from './document.js';
import { differencesOfJson, differencesOfText } from './expected-output.js';
import type { Mark } from './mark.js';
import { type Output, openShell, type ShellSession } from './shell-session.js';
import { openWorkplace, type Workplace } from './workplace.js';

/** Part of the output of `npm start` and `npm run demo` once they are ready. */
const READY = 'http://127.0.0.1:8080';
/** The beginning of an error from the service. */
const FAILED = '{"error":{"code":';

export interface Page {
  /** Type-checks and compiles all TypeScript of the document. */
  compile(): void;
  /**
   * Executes `block`; empty if the result matches the document.
   * @throws Error with the output, if a command fails
   */
  differences(block: Block, mark: Mark): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function openPage(document: Document): Promise<Page> {
  const workplace = await openWorkplace();
  const written = writeTypeScript(document, workplace);
  let shell: { readonly session: string; readonly terminal: ShellSession } | undefined;
  let commands = '';
  let newest: Output | undefined;

  async function terminalOf(session: string): Promise<ShellSession> {
    if (shell?.session === session) return shell.terminal;
    // A reader stops the processes of one session before the next session.
    await shell?.terminal.end();
    shell = { session, terminal: openShell(workplace) };
    return shell.terminal;
  }

  async function run(block: Block, mark: Extract<Mark, { kind: 'run' | 'start' }>): Promise<Output> {
    const { session, timeoutSeconds } = mark;
    const terminal = await terminalOf(session);
    const own = workplace.translate(block.text);
    const script = block.language === 'ts' ? `node ${written.get(block)}.js\n` : own;
    const patienceMs = 1000 * timeoutSeconds;
    if (mark.kind === 'run' && mark.until === undefined) return terminal.run(script, patienceMs);
    const started = await terminal.start(script, workplace.translate(mark.until ?? READY), patienceMs);
    if (mark.kind === 'run') await started.interrupt();
    return started.output;
  }

  function compare(block: Block, live: boolean): readonly string[] {
    if (newest === undefined) return ['no command stands before this answer'];
    const stdout = workplace.translateBack(newest.stdout);
    if (block.language === 'json') return differencesOfJson(block.text, stdout, { live, commands });
    return differencesOfText(block.text, `${stdout}\n${workplace.translateBack(newest.stderr)}`, { live });
  }

  return {
    compile() {
      if (written.size > 0) workplace.compile();
    },
    async differences(block, mark) {
      if (mark.kind === 'response') return compare(block, mark.live);
      if (mark.kind === 'file') workplace.write(mark.name, workplace.translate(block.text));
      if (mark.kind !== 'run' && mark.kind !== 'start') return [];
      commands += block.text;
      newest = await run(block, mark);
      const isFailureShown = followsResponse(document, block);
      return newest.stdout.includes(FAILED) && !isFailureShown
        ? [`an error that the page does not show: ${newest.stdout}`]
        : [];
    },
    async close() {
      await shell?.terminal.end();
      workplace.remove();
    },
  };
}

/** Every TypeScript block as a file, by its block: with its given name, or else one from its line. */
function writeTypeScript(document: Document, workplace: Workplace): ReadonlyMap<Block, string> {
  const names = new Map<Block, string>();
  for (const block of document.blocks.filter(({ language }) => language === 'ts')) {
    const name =
      /^file=(\S+)\.ts$/.exec(block.info)?.[1] ?? (/^run/.test(block.info) && `line-${block.line}`);
    if (name === undefined || name === false) continue;
    workplace.write(`${name}.ts`, workplace.translate(block.text));
    names.set(block, name);
  }
  return names;
}

function followsResponse({ blocks }: Document, block: Block): boolean {
  const next = blocks[blocks.indexOf(block) + 1];
  return next !== undefined && /^response/.test(next.info);
}
