// `headroom token-key rotate`: a new key signs access tokens from now on; the previous key still verifies.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { createTokenKeys, rotateTokenKeys } from '../src/inbound/http/token-keys.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { printNote } from './print.js';
import { addSettingsFlags, configOf, type SettingsFlags } from './settings-flags.js';

function rotate(flags: SettingsFlags): void {
  const { tokenKeys, dataDir } = configOf(flags);
  if (tokenKeys?.trimStart().startsWith('{')) {
    throw new OperatorError('the token keys are given as JSON: rotate them at the source of that JSON');
  }
  const file = tokenKeys ?? join(dataDir, 'token-keys.json');
  if (tokenKeys === undefined && !existsSync(file)) {
    // The first start of the service would create the keys in the same way.
    createTokenKeys({ tokenKeys, dataDir });
    printNote(`The first key is in ${file}.`);
    return;
  }
  rotateTokenKeys(file);
  printNote(
    `A new key in ${file} signs from now on; tokens signed by the one before stay valid until they expire.`,
  );
}

export function tokenKeyCommand(): Command {
  const command = new Command('rotate').description('make a new key, which signs from now on').action(rotate);
  return new Command('token-key')
    .description('keys that sign access tokens')
    .addCommand(addSettingsFlags(command, ['dataDir', 'tokenKeys']));
}
