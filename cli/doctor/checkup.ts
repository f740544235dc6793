// All checks of `headroom doctor`, in an order in which later checks use the results of earlier ones.
import { dirname } from 'node:path';
import { type Config, databaseUrlOf, hasOwnBroker, unknownVariables, variableOf } from '../../src/config.js';
import { databaseFileOf } from '../../src/outbound/knex/engine.js';
import { Inspection, type SeenLocation, type SeenOwner } from '../../src/outbound/knex/inspection.js';
import { readProvisioningFile } from '../provision.js';
import { checkDatabase, checkUnopened, judgeDatabaseClock, judgeOwner } from './database-checks.js';
import { checkCertificate, checkFiles, checkTokenKeys } from './file-checks.js';
import { type Finding, fail, messageOf, ok, warn } from './finding.js';
import type { Host } from './host.js';
import { checkClock, checkDisk, checkNode, checkOpenFiles, checkTimeZone } from './host-checks.js';
import {
  checkBroker,
  checkPorts,
  checkService,
  type RunningService,
  runningService,
} from './network-checks.js';
import { checkOcppPasswords, checkSites, sitesOfDatabase, sitesOfFile } from './site-checks.js';

export interface CheckupOptions {
  readonly config: Config;
  readonly host: Host;
  readonly provisioningFile: string | undefined;
  readonly ntpServer: string | undefined;
}

/** A finding, and its check. */
export interface NamedFinding extends Finding {
  readonly check: string;
}

type Look = () => readonly Finding[] | Promise<readonly Finding[]>;

export class Checkup {
  readonly #options: CheckupOptions;
  #running: RunningService | undefined;
  #inspection: Inspection | undefined;
  #owner: SeenOwner | undefined;
  #locations: readonly SeenLocation[] = [];

  constructor(options: CheckupOptions) {
    this.#options = options;
  }

  /** Yields each finding at once. */
  async *findings(): AsyncGenerator<NamedFinding> {
    try {
      for (const [check, look] of this.#checks()) {
        for (const finding of await this.#looked(look)) yield { check, ...finding };
      }
    } finally {
      await this.#inspection?.close();
    }
  }

  #checks(): readonly (readonly [string, Look])[] {
    const { config, host, provisioningFile, ntpServer } = this.#options;
    const file: Look = () => this.#checkFile();
    return [
      ['node', () => checkNode(host)],
      ['settings', () => checkSettings(config)],
      ['time zone', () => checkTimeZone(host)],
      ['clock', () => checkClock(host, ntpServer)],
      ['files', () => checkFiles(config, provisioningFile)],
      ['token keys', () => checkTokenKeys(config)],
      ['certificate', () => checkCertificate(config, host.clock)],
      ['disk', () => checkDisk(host, diskOf(config))],
      ['service', () => this.#checkService()],
      ['ports', () => checkPorts(config, this.#running)],
      ['database', () => this.#checkDatabase()],
      ['owner', () => this.#checkOwner()],
      ['open files', () => this.#checkOpenFiles()],
      ['broker', () => checkBroker(config, host.clock, this.#isOwned())],
      ['sites', () => this.#checkSites()],
      ...(provisioningFile === undefined ? [] : [['file', file] as const]),
    ];
  }

  async #looked(look: Look): Promise<readonly Finding[]> {
    try {
      return await look();
    } catch (error) {
      return [fail(messageOf(error), 'check the file or directory that it names')];
    }
  }

  async #checkService(): Promise<readonly Finding[]> {
    this.#running = await runningService(this.#options.config);
    return checkService(this.#running);
  }

  async #checkDatabase(): Promise<readonly Finding[]> {
    try {
      this.#inspection = await Inspection.open(databaseUrlOf(this.#options.config));
      if (this.#inspection === undefined) return [ok('none yet: the first start makes it')];
      const found = await checkDatabase(this.#inspection, this.#options.host.clock);
      const isUsable = found.every(({ status }) => status !== 'fail');
      const { missing } = await this.#inspection.schema();
      if (!isUsable || missing.length > 0) await this.#leaveDatabase();
      return found;
    } catch (error) {
      await this.#leaveDatabase();
      return checkUnopened(error);
    }
  }

  /** Skips later checks, which need a database that this version can read. */
  async #leaveDatabase(): Promise<void> {
    await this.#inspection?.close();
    this.#inspection = undefined;
  }

  async #checkOwner(): Promise<readonly Finding[]> {
    const inspection = this.#inspection;
    if (inspection === undefined) return [ok('not checked')];
    const { config, host } = this.#options;
    this.#owner = await inspection.owner();
    return [
      judgeOwner(this.#owner, config.standby || config.sharded),
      ...judgeDatabaseClock(await inspection.clockAheadMs(host.clock), config.standby || config.sharded),
    ];
  }

  /** True if a service may run on the database; an unknown owner counts as one. */
  #isOwned(): boolean {
    return this.#running !== undefined || this.#owner?.isVacant !== true;
  }

  async #checkOpenFiles(): Promise<readonly Finding[]> {
    const { config, host } = this.#options;
    this.#locations = (await this.#inspection?.locations()) ?? [];
    const chargers = new Set(
      this.#locations.flatMap(({ tenantUuid, location }) =>
        location.connectors.map(({ controllerUuid }) => `${tenantUuid}/${controllerUuid}`),
      ),
    );
    const needs = {
      http: config.httpConnections,
      chargers: hasOwnBroker(config) ? chargers.size : 0,
    };
    return checkOpenFiles(host, needs, this.#running?.holder?.pid);
  }

  #checkSites(): readonly Finding[] {
    if (this.#inspection === undefined) return [ok('not checked')];
    return checkSites(sitesOfDatabase(this.#locations), 'of the database');
  }

  #checkFile(): readonly Finding[] {
    const { provisioningFile = '' } = this.#options;
    try {
      const content = readProvisioningFile(provisioningFile);
      return [
        ok(`${provisioningFile} is valid`),
        ...checkSites(sitesOfFile(content), `of ${provisioningFile}`),
        ...checkOcppPasswords(content),
      ];
    } catch (error) {
      return [fail(messageOf(error).replaceAll('\n', '; '), 'correct the file')];
    }
  }
}

/**
 * The disk of durable writes. With PostgreSQL it is the disk of the data directory, of which only the free space
 * matters.
 */
function diskOf({ dataDir, ...config }: Config): string {
  const database = databaseFileOf(databaseUrlOf({ dataDir, ...config }));
  return database === undefined ? dataDir : dirname(database);
}

/** @returns findings about valid settings that are unusual or inconsistent. */
function checkSettings(config: Config): readonly Finding[] {
  const found = unknownVariables().map((name) =>
    warn(`${name} is no setting`, 'see headroom serve --help; a wrong name is ignored'),
  );
  if ((config.standby || config.sharded) && config.tokenKeys === undefined)
    found.push(
      warn(
        `${variableOf('tokenKeys')} is not set: access tokens end when another node takes over`,
        'name one file or JSON for all nodes',
      ),
    );
  if (config.logLevel === 'silent' || config.logLevel === 'fatal')
    found.push(
      warn(
        `${variableOf('logLevel')} is ${config.logLevel}: the log lacks failures`,
        'set it to warn or info',
      ),
    );
  return found.length > 0 ? found : [ok('readable, and fit together')];
}
