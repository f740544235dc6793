// deploy/kubernetes.yaml agrees with the product: its settings load, its ports and probes are answered, its parts find each
// other.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { loadConfig, SETTINGS, variableOf } from '../../src/config.js';
import { Service } from '../../src/service.js';
import { temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { needing } from '../needs.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { silentLog } from '../outbound/knex/harbour.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { ROOT } from './document.js';
import { containerPorts, disruptionBudget, documentsOf, fromSecret, probe } from './manifests.js';

const labels = z.strictObject({ 'app.kubernetes.io/name': z.literal('headroom') });
const metadata = z.strictObject({ name: z.string(), labels });
const variable = z.union([
  z.strictObject({ name: z.string(), value: z.string() }),
  fromSecret,
  z.strictObject({
    name: z.string(),
    valueFrom: z.strictObject({ fieldRef: z.strictObject({ fieldPath: z.literal('metadata.name') }) }),
  }),
]);
const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  env: z.array(variable),
  ports: containerPorts,
  readinessProbe: probe,
  livenessProbe: probe,
  startupProbe: probe,
  resources: z.strictObject({
    requests: z.record(z.string(), z.string()),
    limits: z.strictObject({ memory: z.string() }),
  }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string() })),
});
const selector = z.strictObject({ matchLabels: labels });
const pod = z.strictObject({
  serviceAccountName: z.string(),
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  terminationGracePeriodSeconds: z.number(),
  securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.number() }),
  topologySpreadConstraints: z.array(z.object({ labelSelector: selector })),
  containers: z.tuple([container]),
  volumes: z.array(z.strictObject({ name: z.string(), emptyDir: z.strictObject({}) })),
});
const servicePort = z.strictObject({ name: z.string(), port: z.number(), targetPort: z.literal('http') });

const manifests = z
  .tuple([
    z.strictObject({
      apiVersion: z.literal('v1'),
      kind: z.literal('ServiceAccount'),
      metadata,
      automountServiceAccountToken: z.literal(false),
    }),
    z.strictObject({
      apiVersion: z.literal('v1'),
      kind: z.literal('Service'),
      metadata,
      spec: z.strictObject({ selector: labels, ports: z.tuple([servicePort]) }),
    }),
    z.strictObject({
      apiVersion: z.literal('v1'),
      kind: z.literal('Service'),
      metadata,
      spec: z.strictObject({
        clusterIP: z.literal('None'),
        publishNotReadyAddresses: z.literal(true),
        selector: labels,
        ports: z.tuple([servicePort]),
      }),
    }),
    disruptionBudget(metadata, labels),
    z.strictObject({
      apiVersion: z.literal('apps/v1'),
      kind: z.literal('StatefulSet'),
      metadata,
      spec: z.strictObject({
        serviceName: z.string(),
        replicas: z.number().min(2),
        podManagementPolicy: z.literal('Parallel'),
        updateStrategy: z.strictObject({ type: z.literal('RollingUpdate') }),
        selector,
        template: z.strictObject({ metadata: z.strictObject({ labels }), spec: pod }),
      }),
    }),
  ])
  .parse(documentsOf('deploy/kubernetes.yaml'));
const [account, , nodes, , { spec: set }] = manifests;
const [node] = set.template.spec.containers;
const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');

/** The secret from the manifest's first lines, by its keys. */
const SECRET: Readonly<Record<string, string>> = {
  'database-url': 'postgres://headroom:secret@db.example/headroom',
  'mqtt-url': 'mqtts://headroom:secret@mqtt.example',
  'token-keys': '{"keys":[]}',
};

/** The environment of the first pod, with the variables of the image. */
function environment(): Readonly<Record<string, string>> {
  const pairs = node.env.map((each) => {
    if ('value' in each) return [each.name, each.value.replace('$(POD_NAME)', 'headroom-0')];
    const { valueFrom } = each;
    return [each.name, 'fieldRef' in valueFrom ? 'headroom-0' : (SECRET[valueFrom.secretKeyRef.key] ?? '')];
  });
  const ofImage = [...dockerfile.matchAll(/(HEADROOM_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]);
  return Object.fromEntries([...ofImage, ...pairs]);
}

describe('deploy/kubernetes.yaml', () => {
  it('configures each node as a standby for the others, under a reachable name', () => {
    const config = loadConfig({}, environment());
    expect(config).toMatchObject({
      standby: true,
      nodeUrl: `http://headroom-0.${nodes.metadata.name}:${config.httpPort}`,
      mqttUrl: SECRET['mqtt-url'],
      databaseUrl: SECRET['database-url'],
    });
    const known = (Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]).map(variableOf);
    const named = node.env.map(({ name }) => name).filter((name) => name !== 'POD_NAME');
    expect(known).toEqual(expect.arrayContaining(named));
    // Kubernetes replaces it only in later variables.
    expect(node.env[0]?.name).toBe('POD_NAME');
  });

  it('uses the secret from its first lines', () => {
    const refs = node.env.flatMap((each) =>
      'valueFrom' in each && 'secretKeyRef' in each.valueFrom ? [each.valueFrom.secretKeyRef] : [],
    );
    expect(refs.map(({ name }) => name)).toEqual(refs.map(() => 'headroom'));
    expect(refs.map(({ key }) => key).sort()).toEqual(Object.keys(SECRET).sort());
    const text = readFileSync(join(ROOT, 'deploy/kubernetes.yaml'), 'utf8');
    for (const { key } of refs) expect(text).toMatch(new RegExp(`--from-(literal|file)=${key}=`));
  });

  it('maps every port to the port of the service, and refers to existing resources', () => {
    const { httpPort, dataDir } = loadConfig({}, environment());
    expect(node.ports).toEqual([{ name: 'http', containerPort: httpPort }]);
    expect(nodes.spec.ports[0].port).toBe(httpPort);
    expect(set.serviceName).toBe(nodes.metadata.name);
    expect(set.template.spec.serviceAccountName).toBe(account.metadata.name);
    expect(node.volumeMounts).toEqual([{ name: 'data', mountPath: dataDir }]);
    expect(set.template.spec.volumes.map(({ name }) => name)).toEqual(['data']);
  });

  it('runs as the user of the image, with enough time for a stop', () => {
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(set.template.spec.securityContext.runAsUser).toBe(1000);
    const stop = /STOP_WITHIN_MS = ([\d_]+)/.exec(
      readFileSync(join(ROOT, 'cli/stop-with-grace.ts'), 'utf8'),
    )?.[1];
    const stopMs = Number(stop?.replaceAll('_', ''));
    expect(1000 * set.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(stopMs);
  });
});

describe('The probes of deploy/kubernetes.yaml', needing(missingPostgres()), () => {
  async function probed(httpUrl: string) {
    const { readinessProbe, livenessProbe, startupProbe } = node;
    const statuses = [readinessProbe, livenessProbe, startupProbe].map(async ({ httpGet }) => {
      const answer = await fetch(`${httpUrl}${httpGet.path}`);
      await answer.body?.cancel();
      return answer.status;
    });
    const [ready, alive, started] = await Promise.all(statuses);
    return { ready, alive, started };
  }

  it('report active and standby nodes as ready and alive, and nodes without a database as alive only', async () => {
    const server: DatabaseServer = await startPostgresServer();
    onTestFinished(() => server.stop());
    const databaseUrl = await server.createDatabase();
    async function start() {
      const flags = {
        databaseUrl,
        standby: 'true',
        httpPort: '0',
        mqttPort: '0',
        dataDir: temporaryDirectory(),
      };
      const roles: string[] = [];
      let tell = () => {};
      const told = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const service = new Service(loadConfig(flags, {}), {
        log: silentLog,
        onRole(role) {
          roles.push(role);
          if (role === 'active') tell();
        },
      });
      onTestFinished(() => service.stop());
      return { ...(await service.start()), roles, told };
    }
    const first = await start();
    await first.told;
    const second = await start();
    expect(second.roles).toEqual(['standby']);
    const well = { ready: 200, alive: 200, started: 200 };
    expect(await probed(first.httpUrl)).toEqual(well);
    expect(await probed(second.httpUrl)).toEqual(well);
    const giveBack = await server.takeAway(databaseUrl);
    // Each node queries its database at most once a second.
    for (const { httpUrl } of [first, second])
      await eventually(async () => expect(await probed(httpUrl)).toEqual({ ...well, ready: 503 }));
    await giveBack();
  });
});
