// Only one process at a time uses the data directory of a gateway.
import { describe, expect, it } from 'vitest';
import { runAlone, start, temporaryDirectory, writeFile } from '../cli/headroom.js';
import { siteYaml } from '../cli/site.js';

describe('A second gateway on one data directory', () => {
  it('is refused with one line that names a remedy, and starts after the first gateway is killed', async () => {
    const directory = temporaryDirectory();
    const file = writeFile(directory, 'sites.yaml', siteYaml());
    const args = ['gateway', 'ocpp', file, '--port', '0', '--data-dir', directory];
    const first = start(args);
    await first.line((line) => line.includes('ready'));
    const second = await runAlone(args);
    expect(second.code).toBe(1);
    expect(second.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/is the data directory of another gateway that runs.*--data-dir of its own/),
    ]);
    await first.stop('SIGKILL');
    await start(args).line((line) => line.includes('ready'));
  });
});
