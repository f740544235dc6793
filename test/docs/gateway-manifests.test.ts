// The OCPP gateway in compose.yaml and deploy/kubernetes-gateway.yaml: its command and settings load, its probes are answered.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { gatewayCommand } from '../../cli/gateway.js';
import { loadConfig } from '../../src/config.js';
import { brokenConstraintOfGateway } from '../../src/config-constraints.js';
import { type OcppSite, runOcppSite } from '../gateway/ocpp-site.js';
import { ROOT } from './document.js';
import { containerPorts, documentsOf, fromSecret, probe } from './manifests.js';

const NAME = 'headroom-gateway';
const labels = z.strictObject({ 'app.kubernetes.io/name': z.literal(NAME) });
const metadata = z.strictObject({ name: z.literal(NAME), labels });
const mount = z.strictObject({
  name: z.string(),
  mountPath: z.string(),
  readOnly: z.literal(true).optional(),
});
const container = z.object({
  name: z.literal(NAME),
  image: z.string(),
  args: z.array(z.string()),
  env: z.tuple([fromSecret]),
  ports: containerPorts,
  readinessProbe: probe,
  livenessProbe: probe,
  startupProbe: probe,
  securityContext: z.object({ readOnlyRootFilesystem: z.literal(true) }),
  volumeMounts: z.array(mount),
});
const secretVolume = z.strictObject({
  name: z.string(),
  secret: z.strictObject({
    secretName: z.literal(NAME),
    defaultMode: z.number(),
    items: z.tuple([z.strictObject({ key: z.string(), path: z.string() })]),
  }),
});
const claim = z.object({
  metadata: z.strictObject({ name: z.string() }),
  spec: z.object({ accessModes: z.tuple([z.literal('ReadWriteOnce')]) }),
});

const text = readFileSync(join(ROOT, 'deploy/kubernetes-gateway.yaml'), 'utf8');
const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
const DATA_DIR = /HEADROOM_DATA_DIR=(\S+)/.exec(dockerfile)?.[1];
const [service, { spec: set }] = z
  .tuple([
    z.strictObject({
      apiVersion: z.literal('v1'),
      kind: z.literal('Service'),
      metadata,
      spec: z.strictObject({
        type: z.literal('LoadBalancer'),
        selector: labels,
        ports: z.tuple([z.strictObject({ name: z.string(), port: z.number(), targetPort: z.string() })]),
      }),
    }),
    z.strictObject({
      apiVersion: z.literal('apps/v1'),
      kind: z.literal('StatefulSet'),
      metadata,
      spec: z.strictObject({
        serviceName: z.literal(NAME),
        replicas: z.literal(1),
        selector: z.strictObject({ matchLabels: labels }),
        template: z.strictObject({
          metadata: z.strictObject({ labels }),
          spec: z.object({
            serviceAccountName: z.string(),
            enableServiceLinks: z.literal(false),
            terminationGracePeriodSeconds: z.number().min(11),
            securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.literal(1000) }),
            containers: z.tuple([container]),
            volumes: z.tuple([secretVolume]),
          }),
        }),
        volumeClaimTemplates: z.tuple([claim]),
      }),
    }),
  ])
  .parse(documentsOf('deploy/kubernetes-gateway.yaml'));
const { containers, volumes, serviceAccountName } = set.template.spec;
const [pod] = containers;

const { services } = z
  .object({
    services: z.object({
      headroom: z.object({ environment: z.record(z.string(), z.null()) }),
      gateway: z.object({
        profiles: z.tuple([z.literal('gateway')]),
        command: z.array(z.string()),
        environment: z.record(z.string(), z.string().nullable()),
        ports: z.array(z.string()),
        volumes: z.array(z.string()),
        healthcheck: z.object({
          test: z.tuple([z.literal('CMD'), z.literal('node'), z.literal('-e'), z.string()]),
        }),
      }),
    }),
  })
  .parse(parse(readFileSync(join(ROOT, 'compose.yaml'), 'utf8')));
const composed = services.gateway;

/** The file and the flags as the command itself reads them. */
async function commandOf(words: readonly string[]): Promise<{ file: string; flags: object }> {
  const program = new Command('headroom').addCommand(gatewayCommand());
  const gateway = program.commands.find((each) => each.name() === 'gateway');
  const ocpp = gateway?.commands.find((each) => each.name() === 'ocpp');
  const read: { file: string; flags: object }[] = [];
  ocpp?.exitOverride().action((file: string, flags: object) => void read.push({ file, flags }));
  await program.parseAsync(words, { from: 'user' });
  const [first] = read;
  if (first === undefined) throw new Error(`${words.join(' ')} starts no gateway`);
  return first;
}

/** The default value of a compose variable. */
function unset(value: string | null): string {
  return value?.replace(/^\$\{\w+:-(.*)\}$/, '$1') ?? '';
}

/** An address of this machine that a server on 127.0.0.1 alone does not have. */
const OUTSIDE =
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.2';

let site: OcppSite;
let metricsPort: string;
beforeAll(async () => {
  site = await runOcppSite({ metricsPort: 0, metricsHost: '0.0.0.0' });
  metricsPort = new URL(site.metricsUrl ?? '').port;
});
afterAll(() => site.stop());

describe('deploy/kubernetes-gateway.yaml', () => {
  it('starts a gateway that accepts chargers and probes from other hosts, on the named ports', async () => {
    const { file, flags } = await commandOf(pod.args);
    expect(flags).toMatchObject({ port: 9000, host: '0.0.0.0', metricsPort: 9001, metricsHost: '0.0.0.0' });
    expect(pod.ports).toEqual([
      { name: 'ocpp', containerPort: 9000 },
      { name: 'metrics', containerPort: 9001 },
    ]);
    expect(service.spec.ports).toEqual([{ name: 'ocpp', port: 9000, targetPort: 'ocpp' }]);
    const [sites] = volumes;
    const folder = pod.volumeMounts.find(({ name }) => name === sites.name)?.mountPath;
    expect(file).toBe(`${folder}/${sites.secret.items[0].path}`);
  });

  it('stores persistent state in a volume of its only pod', () => {
    const [{ metadata: kept }] = set.volumeClaimTemplates;
    expect(pod.volumeMounts.find(({ name }) => name === kept.name)?.mountPath).toBe(DATA_DIR);
  });

  it('uses the secret from its first lines, and the account and image of deploy/kubernetes.yaml', () => {
    const { name, key } = pod.env[0].valueFrom.secretKeyRef;
    expect(pod.env[0].name).toBe('HEADROOM_MQTT_URL');
    expect(text).toMatch(
      new RegExp(
        `generic ${name} \\\\\\n#     --from-literal=${key}=\\S+ \\\\\\n#     --from-file=sites.yaml`,
      ),
    );
    expect(volumes[0].secret.items[0].key).toBe('sites.yaml');
    const nodes = readFileSync(join(ROOT, 'deploy/kubernetes.yaml'), 'utf8');
    expect(nodes).toContain(`serviceAccountName: ${serviceAccountName}`);
    expect(nodes).toContain(`image: ${pod.image}`);
  });

  it.each(['readinessProbe', 'livenessProbe', 'startupProbe'] as const)(
    'has a %s that the gateway answers',
    async (name) => {
      const { path, port } = pod[name].httpGet;
      expect(port).toBe('metrics');
      const answer = await fetch(`http://${OUTSIDE}:${metricsPort}${path}`);
      await answer.body?.cancel();
      expect(answer.status).toBe(200);
    },
  );
});

describe('The gateway of compose.yaml', () => {
  it('connects to the service in the same file, and accepts chargers from other hosts', async () => {
    const environment = Object.entries(composed.environment).map(([name, value]) => [name, unset(value)]);
    const { file, flags } = await commandOf(composed.command);
    const { mqttUrl } = loadConfig({}, Object.fromEntries(environment), brokenConstraintOfGateway);
    expect(mqttUrl).toBe('mqtt://headroom:1883');
    expect(Object.keys(services)).toContain('headroom');
    expect(flags).toMatchObject({ port: 9000, host: '0.0.0.0', metricsPort: 9001 });
    expect(composed.volumes).toContain(`\${SITES_FILE:-./sites.yaml}:${file}:ro`);
    expect(composed.volumes).toContain(`gateway:${DATA_DIR}`);
  });

  it('publishes ports to its own host by default', () => {
    expect(composed.ports).toEqual([`\${PUBLISH_ADDRESS:-127.0.0.1}:9000:9000`]);
  });

  it('is healthy only while a gateway answers', async () => {
    const [, , , program] = composed.healthcheck.test;
    const codeAt = async (port: string) => {
      const child = spawn(process.execPath, ['-e', program.replace('9001', port)], { stdio: 'ignore' });
      const [code] = await once(child, 'close');
      return code;
    };
    expect(await codeAt(metricsPort)).toBe(0);
    await site.gateway.stop();
    expect(await codeAt(metricsPort)).toBe(1);
  });
});
