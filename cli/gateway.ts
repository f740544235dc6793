// `headroom gateway ocpp FILE.yaml`: a process of its own that connects OCPP chargers to a service.
import { randomUUID } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { withoutSecrets } from '../src/broker-url.js';
import { systemClock } from '../src/clock.js';
import { followFiles } from '../src/follow-files.js';
import { createGatewayMetrics } from '../src/gateway/gateway-metrics.js';
import { IdTagFile, type IdTagRule } from '../src/gateway/ocpp/id-tags.js';
import { OcppGateway } from '../src/gateway/ocpp/ocpp-gateway.js';
import { createLogger } from '../src/log.js';
import type { Log } from '../src/ports/log.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { chargersUnfitForOcpp } from '../src/provisioning/ocpp-passwords.js';
import { parseProvisioning } from '../src/provisioning/parse-provisioning.js';
import type { ProvisioningFile } from '../src/provisioning/provisioning-schema.js';
import { VERSION } from '../src/version.js';
import { FollowedProvisioning } from './followed-provisioning.js';
import { gatewayCheckCommand } from './gateway-check.js';
import {
  addGatewayFlags,
  type ConnectionFlags,
  gatewayConfigOf,
  lockOf,
  parsePort,
  randomShare,
  tlsOf,
} from './gateway-flags.js';
import { announce } from './print.js';
import { readText } from './provision.js';
import { stopWithGrace } from './stop-with-grace.js';

interface GatewayFlags extends ConnectionFlags {
  readonly metricsPort?: number;
  readonly metricsHost: string;
  readonly idTags?: string;
  readonly csms?: string;
}

/** Number of chargers that a warning lists; the operator can find the others with them. */
const NAMED_AT_ONCE = 10;

function parseCsmsUrl(text: string): string {
  const isUsable = URL.canParse(text) && /^wss?:$/.test(new URL(text).protocol);
  if (isUsable) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('It must be ws://HOST[:PORT][/PATH] or wss://….');
}

/** @throws OperatorError */
function idTagRuleOf(text: string): IdTagRule {
  if (text === 'all') return { kind: 'all' };
  const isAddress = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  if (/^https?:/i.test(text) && URL.canParse(text)) return { kind: 'webhook', url: text };
  if (isAddress) throw wrongIdTags(`${text} is none of these`);
  try {
    return { kind: 'list', idTags: new IdTagFile(text) };
  } catch (error) {
    throw wrongIdTags(error instanceof Error ? error.message : String(error));
  }
}

/** A change of the file of id tags applies within a second, until a call of the returned function. */
function followIdTags(rule: IdTagRule | undefined, log: Log): () => Promise<void> {
  if (rule?.kind !== 'list' || !(rule.idTags instanceof IdTagFile)) return async () => {};
  return followFiles('id tags', rule.idTags, { clock: systemClock, log });
}

function wrongIdTags(why: string): OperatorError {
  return new OperatorError(
    `--id-tags must be "all", a file with one id tag per line, or http(s)://…: ${why}`,
  );
}

/** A wrong address is reported at the start, before the first charger connects. */
async function warnWhereUnreachable(mqttUrl: string, ca: string | undefined, log: Log): Promise<void> {
  const { reachBroker } = await import('../src/outbound/mqtt/reach-broker.js');
  try {
    await reachBroker(mqttUrl, ca, systemClock);
  } catch (error) {
    log.warn(
      { mqttUrl: withoutSecrets(mqttUrl), err: error },
      'Headroom cannot be reached: no charger is admitted before that',
    );
  }
}

/**
 * Headroom accepts these passwords, but some chargers do not.
 * @param asksCertificates such a charger needs no password
 */
function warnOfPasswords({ tenants }: ProvisioningFile, asksCertificates: boolean, log: Log): void {
  if (asksCertificates) return;
  const chargers = tenants.flatMap(({ locations }) => locations.flatMap(({ chargers }) => chargers));
  const unfit = chargersUnfitForOcpp(chargers);
  const controllers = unfit.slice(0, NAMED_AT_ONCE).map(({ controllerUuid }) => controllerUuid);
  if (unfit.length > 0)
    log.warn(
      { count: unfit.length, controllers },
      'passwords of chargers in the file do not have the 16 to 40 characters that OCPP requires: some chargers take no others',
    );
}

async function runGateway(path: string, flags: GatewayFlags): Promise<void> {
  const { port, host, metricsPort, metricsHost, idTags, csms } = flags;
  const { config, mqttUrl, mqttCa } = gatewayConfigOf(flags);
  const text = readText(path);
  const file = parseProvisioning(text, path);
  const metrics = createGatewayMetrics({ processMetrics: true });
  const log = createLogger({ level: config.logLevel, metrics });
  const idTagRule = idTags === undefined ? undefined : idTagRuleOf(idTags);
  const lock = await lockOf(config.dataDir);
  const gateway = new OcppGateway({
    file,
    host,
    port,
    metricsPort,
    metricsHost,
    metricsToken: config.metricsToken,
    mqttUrl,
    mqttCa,
    tls: tlsOf(config),
    heartbeatS: config.heartbeatS,
    dataDir: config.dataDir,
    csmsUrl: csms,
    idTags: idTagRule,
    newBoot: randomUUID,
    random: randomShare,
    clock: systemClock,
    log,
    metrics,
  });
  const unfollow = followIdTags(idTagRule, log);
  const asksCertificates = config.tlsClientCa !== undefined;
  let followed: FollowedProvisioning | undefined;
  const grace = stopWithGrace(async (why) => {
    log.info({ why }, 'the gateway stops');
    await followed?.stop();
    await unfollow();
    await gateway.stop();
    await lock.release();
    await log.flush();
  });
  try {
    announce({ event: 'ready', ...(await gateway.start()), version: VERSION });
    void warnWhereUnreachable(mqttUrl, mqttCa, log);
    warnOfPasswords(file, asksCertificates, log);
    const apply = (changed: ProvisioningFile) => {
      gateway.provision(changed);
      warnOfPasswords(changed, asksCertificates, log);
    };
    followed = new FollowedProvisioning({ path, text, apply, clock: systemClock, log, metrics });
  } catch (error) {
    grace.uninstall();
    await lock.release();
    await log.flush();
    throw error;
  }
}

export function gatewayCommand(): Command {
  const ocpp = new Command('ocpp')
    .description(
      'let chargers that speak OCPP 1.6J, 2.0.1 or 2.1 join a running service; docs/ocpp.md has the rest',
    )
    .argument(
      '<file>',
      'the provisioning file of the service, with its chargers; changes apply while the gateway runs',
    )
    .option('--metrics-port <port>', 'serve /metrics at this port', parsePort)
    .option('--metrics-host <address>', 'address for that port', '127.0.0.1')
    .option(
      '--id-tags <rule>',
      'cars that may charge: all (the default), a file with one id tag per line, or a webhook http(s)://…; with --csms it decides only while that is unreachable',
    )
    .option(
      '--csms <url>',
      'stand in front of this CSMS (ws:// or wss://, the identity of each charger is appended): all messages pass, and its charging profiles are kept below the grants',
      parseCsmsUrl,
    )
    .action(runGateway);
  return new Command('gateway')
    .description('let chargers that speak another protocol join a service')
    .addCommand(addGatewayFlags(ocpp))
    .addCommand(gatewayCheckCommand());
}
