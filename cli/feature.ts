// `headroom feature enable|disable`: switches a feature of a tenant; a running service applies it within two seconds.
import { Argument, Command } from 'commander';
import { systemClock } from '../src/clock.js';
import { ENERGY_MANAGEMENT } from '../src/ports/records.js';
import {
  type AdministrationFlags,
  administrationCommand,
  existingTenant,
  withAdministration,
} from './administration-command.js';
import { printJson, printNote } from './print.js';

function switchCommand(name: 'enable' | 'disable'): Command {
  const enabled = name === 'enable';
  return administrationCommand(name, `${name} a feature of a tenant`)
    .argument('<tenant>', 'tenantUuid')
    .addArgument(new Argument('<feature>', 'the feature').choices([ENERGY_MANAGEMENT]))
    .action(async (tenant: string, feature: string, flags: AdministrationFlags) => {
      await withAdministration(flags, async (administration) => {
        const tenantUuid = await existingTenant(administration, tenant);
        await administration.setFeature(tenantUuid, feature, enabled, systemClock.nowMs());
      });
      if (flags.json) printJson({ tenantUuid: tenant, feature, enabled });
      else printNote(`${feature} is ${enabled ? 'on' : 'off'} for ${tenant}.`);
    });
}

export function featureCommand(): Command {
  return new Command('feature')
    .description('switch features of a tenant')
    .addCommand(switchCommand('enable'))
    .addCommand(switchCommand('disable'));
}
