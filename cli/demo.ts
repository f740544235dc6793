// `headroom demo`: its flags. The implementation is loaded only when the command runs, not for the help.
import { Command } from 'commander';
import { ALL_SETTINGS, addSettingsFlags, type SettingKey, type SettingsFlags } from './settings-flags.js';

/** The demo has no TLS: user and chargers would first have to trust a certificate. */
const TLS_SETTINGS: readonly SettingKey[] = ['tlsCert', 'tlsKey', 'tlsClientCa'];
/** The demo runs one node; `npm run cluster` shows several. */
const NODE_SETTINGS: readonly SettingKey[] = ['standby', 'sharded', 'ownerTtlS', 'nodeUrl'];
const LEFT_OUT = [...TLS_SETTINGS, ...NODE_SETTINGS];
const SETTINGS_OF_DEMO = ALL_SETTINGS.filter((key) => !LEFT_OUT.includes(key));

export function demoCommand(): Command {
  const command = new Command('demo')
    .description('the service with a demo tenant and virtual chargers, live')
    .action(async (flags: SettingsFlags) => (await import('./demo-run.js')).demo(flags));
  return addSettingsFlags(command, SETTINGS_OF_DEMO);
}
