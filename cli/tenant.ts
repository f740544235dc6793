// `headroom tenant list`: the tenants, and the number of their locations and connectors.
import { Command } from 'commander';
import {
  type AdministrationFlags,
  administrationCommand,
  withAdministration,
} from './administration-command.js';
import { printJson, printNote, printTable } from './print.js';

async function list(flags: AdministrationFlags): Promise<void> {
  const tenants = await withAdministration(flags, (administration) => administration.listTenants());
  if (flags.json) return printJson(tenants);
  if (tenants.length === 0) return printNote('No tenants yet: "headroom provision FILE.yaml" creates them.');
  printTable(
    ['TENANT', 'NAME', 'FEATURES', 'LOCATIONS', 'CONNECTORS'],
    tenants.map(({ tenantUuid, name, features, locations, connectors }) => [
      tenantUuid,
      name,
      features.join(' ') || '-',
      locations,
      connectors,
    ]),
  );
}

export function tenantCommand(): Command {
  return new Command('tenant')
    .description('the tenants of this service')
    .addCommand(administrationCommand('list', 'list all tenants').action(list));
}
