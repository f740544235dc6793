// A document for this test goes through the rig: one terminal, files, a real service, and wrong output that the rig
// finds.
import { describe, expect, it, onTestFinished } from 'vitest';
import { blocksOf } from './document.js';
import { parseMark } from './mark.js';
import { openPage } from './page.js';

async function goThrough(...lines: readonly string[]) {
  const text = lines.join('\n');
  const blocks = blocksOf(text);
  const page = await openPage({ path: 'made-up.md', text, blocks });
  onTestFinished(() => page.close());
  page.compile();
  const found: string[] = [];
  for (const block of blocks) {
    const outcome = page.differences(block, parseMark(block.info));
    found.push(...(await outcome.catch((error: Error) => [error.message])));
  }
  return found;
}

describe("A document's page", () => {
  it('keeps variables, functions and files from one block to the next', async () => {
    expect(
      await goThrough(
        ...['```sh run', 'export A=1; f() { echo "[$A]"; }', '```', '```json file=b.json', '[1]', '```'],
        ...['```sh run', 'f; cat b.json', '```', '```text response', '[1]', '[1]', '```'],
        ...['```ts file=c.ts', 'export const c: number = 2;', '```'],
        ...['```ts run', "import { c } from './c.js';", 'console.log(c, process.env.A);', '```'],
        ...['```text response', '2 1', '```'],
      ),
    ).toEqual([]);
  });

  it('starts a new shell for another session name', async () => {
    const [failure] = await goThrough('```sh run', 'A=1', '```', '```sh run=other', 'test "$A" = 1', '```');
    expect(failure).toContain('it failed');
  });

  it('fails if a command fails, and shows its error output', async () => {
    const [failure] = await goThrough('```sh run', 'echo first; ls /no-such-thing; echo second', '```');
    expect(failure).toContain('/no-such-thing');
    expect(failure).not.toContain('second');
  });

  it('fails if a command exceeds its time limit', async () => {
    const [failure] = await goThrough('```sh run timeout=0.2', 'tail -f /dev/null', '```');
    expect(failure).toContain('it took more than 200 ms');
  });

  it('stops a command after the expected output, and fails without that output', async () => {
    const endless = 'echo begun; tail -f /dev/null';
    expect(await goThrough('```sh run until=begun', endless, '```')).toEqual([]);
    const [failure] = await goThrough('```sh run until=over timeout=0.2', endless, '```');
    expect(failure).toContain('did not say "over"');
  });

  it('refuses TypeScript with errors', async () => {
    await expect(goThrough('```ts run', "const a: number = 'one';", '```')).rejects.toThrow('line-1.ts');
  });

  it('uses a service on its own ports, and reports an error that is not in the document', async () => {
    const start = ['```sh start', 'npm start', '```'];
    const fetching = ['```ts run', "const { status } = await fetch('http://127.0.0.1:8080/health');"];
    const ask = ['```ts run', "const answer = await fetch('http://127.0.0.1:8080/v1/clusters');"];
    expect(
      await goThrough(
        ...[...start, ...fetching, 'console.log(status);', '```', '```text response', '200', '```'],
        ...[...ask, 'console.log(await answer.text());', '```'],
      ),
    ).toEqual([expect.stringContaining('an error that the page does not show')]);
  });
});
