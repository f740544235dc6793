// `headroom provision FILE.yaml`: creates and updates tenants, sites and credentials from a file; it never deletes.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import type { Command } from 'commander';
import { type Document, isAlias, isMap, parseDocument } from 'yaml';
import { systemClock } from '../src/clock.js';
import { siteLoginsOf } from '../src/features/provisioned-fields.js';
import type { ProvisioningAction } from '../src/ports/administration.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { exposureOf } from '../src/private-files.js';
import type { FieldPath } from '../src/provisioning/cross-checks.js';
import { parseProvisioning } from '../src/provisioning/parse-provisioning.js';
import type { IssuedSecret } from '../src/provisioning/plan-tenant.js';
import { provisionFile, type TenantOutcome } from '../src/provisioning/provision-file.js';
import type { ProvisioningFile, TenantEntry } from '../src/provisioning/provisioning-schema.js';
import { generateKeyId } from '../src/secrets.js';
import {
  type AdministrationFlags,
  administrationCommand,
  withAdministration,
} from './administration-command.js';
import { isDemoFile } from './demo-file.js';
import { printJson, printLine, printNote, printTable } from './print.js';

// The file of `provision --write-secrets`: the provisioning file with every generated secret in its field.

const OWNER_ONLY = 0o600;

/** Writes generated secrets into a copy of a provisioning file, or into that file itself. Comments and order stay. */
class SecretsFile {
  readonly #path: string;
  readonly #document: Document;
  readonly #tenants: readonly TenantEntry[];

  /**
   * @param path of the written file, with mode 0600.
   * @param source the provisioning file; a valid one.
   * @param text its content.
   * @throws OperatorError if `path` is another existing file or cannot be written, or a secret is in a YAML alias.
   */
  constructor(path: string, source: string, text: string, { tenants }: ProvisioningFile) {
    if (existsSync(path) && realpathSync(path) !== realpathSync(source))
      throw new OperatorError(
        `${path} exists and may hold the secrets of an earlier run: provision ${path} itself, or name a new file`,
      );
    this.#path = existsSync(path) ? realpathSync(path) : path;
    this.#document = parseDocument(text, { uniqueKeys: false });
    this.#tenants = tenants;
    this.#refuseAliases();
    // A file that cannot be written stops the run before a secret is generated.
    this.#write();
  }

  /**
   * Returns once the secrets are on disk.
   * @throws OperatorError if the file cannot be written.
   */
  add(tenantUuid: string, issued: readonly IssuedSecret[]): void {
    const fields = this.#fields().filter((field) => field.tenantUuid === tenantUuid);
    for (const { kind, id, secret } of issued) {
      const field = fields.find((each) => each.kind === kind && each.id === id);
      if (field !== undefined) this.#document.setIn(field.path, secret);
    }
    this.#write();
  }

  #fields() {
    return this.#tenants.flatMap((tenant, i) =>
      fieldsOf(tenant).map(({ path, ...field }) => ({
        ...field,
        tenantUuid: tenant.tenantUuid,
        path: ['tenants', i, ...path],
      })),
    );
  }

  /** A secret behind an alias would be the secret of every entry that shares it. */
  #refuseAliases(): void {
    for (const { kind, id, path } of this.#fields()) {
      const around = path.slice(0, -1).map((_, i) => this.#document.getIn(path.slice(0, i + 1), true));
      if (around.some(isAlias) || !isMap(around.at(-1)))
        throw new OperatorError(
          `${kind} ${id} is written with a YAML alias: write it out, so that its secret has a field of its own`,
        );
    }
  }

  /** Atomic: a reader, or a power cut, finds the old file or the new one. */
  #write(): void {
    const written = `${this.#path}.new`;
    try {
      rmSync(written, { force: true });
      const descriptor = openSync(written, 'wx', OWNER_ONLY);
      try {
        writeSync(descriptor, this.#document.toString({ lineWidth: 0 }));
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      renameSync(written, this.#path);
    } catch (error) {
      throw new OperatorError(
        `cannot write ${this.#path}: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
}

/** Every secret field of a tenant, given or left out, with the kind and id of its owner. */
function fieldsOf({ tenantUuid, apiKeys, clients, locations, gateways }: TenantEntry) {
  type Field = Pick<IssuedSecret, 'kind' | 'id'> & { readonly path: FieldPath };
  const fields: Field[] = [];
  apiKeys.forEach((_, i) => {
    fields.push({ kind: 'api-key', id: generateKeyId(`${tenantUuid}/${i}`), path: ['apiKeys', i, 'key'] });
  });
  clients.forEach(({ clientId }, i) => {
    fields.push({ kind: 'client', id: clientId, path: ['clients', i, 'clientSecret'] });
  });
  locations.forEach(({ chargers, ...location }, i) => {
    const at = ['locations', i];
    for (const { field, id } of siteLoginsOf(location))
      fields.push({ kind: field, id, path: [...at, field, 'mqttPassword'] });
    chargers.forEach(({ controllerUuid }, j) => {
      fields.push({ kind: 'charger', id: controllerUuid, path: [...at, 'chargers', j, 'mqttPassword'] });
    });
  });
  gateways.forEach(({ gatewayId }, i) => {
    fields.push({ kind: 'gateway', id: gatewayId, path: ['gateways', i, 'mqttPassword'] });
  });
  return fields;
}

/** From this number on, the slow hashes take so long that a note is necessary. */
const WORTH_A_NOTE = 100;

type ProvisionFlags = AdministrationFlags & { readonly dryRun?: boolean; readonly writeSecrets?: string };

/** @throws OperatorError */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperatorError(`cannot read ${file}: ${error instanceof Error ? error.message : error}`);
  }
}

/** @throws OperatorError, UnusableFileError */
export function readProvisioningFile(file: string): ProvisioningFile {
  return parseProvisioning(readText(file), file);
}

function countOf(actions: readonly ProvisioningAction[], wanted: ProvisioningAction['action']): number {
  return actions.filter(({ action }) => action === wanted).length;
}

function printOutcome(
  { tenantUuid, actions, issued }: TenantOutcome,
  { dryRun = false, writeSecrets }: ProvisionFlags,
): void {
  const changed = actions.filter(({ action }) => action !== 'unchanged');
  const would = dryRun ? 'would be ' : '';
  printLine(
    `${tenantUuid}: ${countOf(actions, 'created')} ${would}created, ${countOf(actions, 'updated')} ${would}updated, ` +
      `${countOf(actions, 'unchanged')} unchanged`,
  );
  if (changed.length > 0) {
    printTable(
      ['', 'KIND', 'ID'],
      changed.map(({ action, kind, id }) => [`${would}${action}`, kind, id]),
    );
  }
  if (issued.length === 0) return;
  if (!dryRun && writeSecrets !== undefined) {
    printLine(`${issued.length} secrets made, and written to ${writeSecrets}`);
    return;
  }
  printLine(dryRun ? 'Secrets that would be made:' : 'Secrets made, shown this once:');
  printTable(
    ['KIND', 'ID', 'SECRET'],
    issued.map(({ kind, id, secret }) => [kind, id, dryRun ? '-' : secret]),
  );
}

/** Secrets of a dry run were never stored, and secrets in a file are not printed as well. */
function withoutSecrets({ issued, ...outcome }: TenantOutcome) {
  return { ...outcome, issued: issued.map(({ kind, id }) => ({ kind, id })) };
}

/** The people who may know the secrets in the file, as a warning; undefined if only its owner does. */
function warningOf(file: string): string | undefined {
  // The demo file is public, independent of its mode.
  if (isDemoFile(file))
    return `the secrets in ${file} are public: use it only if nobody else reaches the service`;
  return exposureOf(file);
}

/** Notes about the file that its owner should read before it is applied. */
function printNotes(file: string, { tenants }: ProvisioningFile): void {
  const logins = tenants.flatMap(({ clients, gateways, locations }) => [
    ...clients.map(({ clientSecret }) => clientSecret),
    ...[...gateways, ...locations.flatMap(({ chargers }) => chargers)].map(
      ({ mqttPassword }) => mqttPassword,
    ),
  ]);
  const keys = tenants.flatMap(({ apiKeys }) => apiKeys.map(({ key }) => key));
  const warning = [...logins, ...keys].some((secret) => secret !== undefined) ? warningOf(file) : undefined;
  if (warning !== undefined) printNote(`warning: ${warning}`);
}

function noteSlow(passwords: number): void {
  if (passwords > WORTH_A_NOTE)
    printNote(`Hashing ${passwords} passwords: a minute for every 2,500 on two cores.`);
}

async function provision(file: string, flags: ProvisionFlags): Promise<void> {
  const text = readText(file);
  const content = parseProvisioning(text, file);
  printNotes(file, content);
  const { dryRun = false, writeSecrets } = flags;
  const secretsFile =
    writeSecrets === undefined || dryRun ? undefined : new SecretsFile(writeSecrets, file, text, content);
  const outcomes: TenantOutcome[] = [];
  try {
    await withAdministration(flags, async (administration) => {
      const options = {
        dryRun,
        atMs: systemClock.nowMs(),
        onSlow: noteSlow,
        keepSecrets: (tenantUuid: string, issued: readonly IssuedSecret[]) =>
          secretsFile?.add(tenantUuid, issued),
      };
      for await (const outcome of provisionFile(administration, content, options)) {
        outcomes.push(outcome);
        if (!flags.json) printOutcome(outcome, flags);
      }
    });
  } finally {
    // Printed after a failure, too: the operator must learn which changes were stored until then.
    const isShown = !dryRun && secretsFile === undefined;
    if (flags.json) printJson({ dryRun, tenants: isShown ? outcomes : outcomes.map(withoutSecrets) });
  }
  if (!flags.json && dryRun) printNote('Dry run: nothing was written.');
}

export function provisionCommand(): Command {
  return administrationCommand(
    'provision',
    'create and update tenants, sites and credentials from a YAML file',
  )
    .argument('<file>', 'the provisioning file')
    .option('--dry-run', 'show the changes and write nothing')
    .option(
      '--write-secrets <file>',
      'write the provisioning file with its generated secrets to this file (mode 0600) instead of printing them; it may be the provisioning file itself',
    )
    .action(provision);
}
