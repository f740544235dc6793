// The file of `provision --write-secrets`: the provisioning file with every generated secret in its field.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { type Document, isAlias, isMap, parseDocument } from 'yaml';
import { OperatorError } from '../ports/operator-error.js';
import { generateKeyId } from '../secrets.js';
import type { FieldPath } from './cross-checks.js';
import type { IssuedSecret } from './plan-tenant.js';
import type { ProvisioningFile, TenantEntry } from './provisioning-schema.js';

const OWNER_ONLY = 0o600;

/** Writes generated secrets into a copy of a provisioning file, or into that file itself. Comments and order stay. */
export class SecretsFile {
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
  locations.forEach(({ operator, siteMeter, chargers }, i) => {
    const at = ['locations', i];
    if (operator !== undefined)
      fields.push({ kind: 'operator', id: operator.operatorUuid, path: [...at, 'operator', 'mqttPassword'] });
    if (siteMeter !== undefined)
      fields.push({ kind: 'siteMeter', id: siteMeter.meterUuid, path: [...at, 'siteMeter', 'mqttPassword'] });
    chargers.forEach(({ controllerUuid }, j) => {
      fields.push({ kind: 'charger', id: controllerUuid, path: [...at, 'chargers', j, 'mqttPassword'] });
    });
  });
  gateways.forEach(({ gatewayId }, i) => {
    fields.push({ kind: 'gateway', id: gatewayId, path: ['gateways', i, 'mqttPassword'] });
  });
  return fields;
}
