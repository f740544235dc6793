// `headroom restore`, and its output about the time after the start.
import { expect, it } from 'vitest';
import { run, temporaryDirectory } from './headroom.js';

it('headroom restore shows the duration of earlier grants with the settings of the service', async () => {
  const database = ['--data-dir', temporaryDirectory()];
  expect(await run(['migrate', ...database])).toMatchObject({ code: 0 });
  const usual = await run(['restore', '--as-is', ...database]);
  expect(usual.stdout).toContain('until earlier grants have ended: 72 s from the start');
  const flags = ['--heartbeat-s', '5', '--lease-ttl-s', '30'];
  const short = await run(['restore', '--as-is', ...database, ...flags], { HEADROOM_SETTLE_S: '4' });
  expect(short.stdout).toContain('until earlier grants have ended: 35 s from the start');
});
