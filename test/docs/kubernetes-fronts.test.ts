// deploy/kubernetes-fronts.yaml agrees with the product and with deploy/kubernetes.yaml: its settings are a front's, its probes are
// answered.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config.js';
import { frontConfigOf } from '../../src/front.js';
import { ROOT } from './document.js';
import { containerPorts, disruptionBudget, documentsOf, fromSecret, probe } from './manifests.js';

const NAME = 'headroom-front';
const labels = z.strictObject({ 'app.kubernetes.io/name': z.literal(NAME) });
const metadata = z.strictObject({ name: z.literal(NAME), labels });
const selector = z.strictObject({ matchLabels: labels });
const container = z.object({
  name: z.literal(NAME),
  image: z.string(),
  args: z.array(z.string()),
  env: z.array(fromSecret),
  ports: containerPorts,
  readinessProbe: probe,
  livenessProbe: probe,
  startupProbe: probe,
  securityContext: z.object({ readOnlyRootFilesystem: z.literal(true) }),
});

const text = readFileSync(join(ROOT, 'deploy/kubernetes-fronts.yaml'), 'utf8');
const [service, budget, { spec: deployment }] = z
  .tuple([
    z.strictObject({
      apiVersion: z.literal('v1'),
      kind: z.literal('Service'),
      metadata,
      spec: z.strictObject({
        type: z.literal('LoadBalancer'),
        selector: labels,
        ports: z.tuple([
          z.strictObject({ name: z.string(), port: z.literal(1883), targetPort: z.literal('mqtt') }),
        ]),
      }),
    }),
    disruptionBudget(metadata, labels),
    z.strictObject({
      apiVersion: z.literal('apps/v1'),
      kind: z.literal('Deployment'),
      metadata,
      spec: z.object({
        replicas: z.number().min(2),
        selector,
        template: z.strictObject({
          metadata: z.strictObject({ labels }),
          spec: z.object({
            serviceAccountName: z.string(),
            enableServiceLinks: z.literal(false),
            containers: z.tuple([container]),
          }),
        }),
      }),
    }),
  ])
  .parse(documentsOf('deploy/kubernetes-fronts.yaml'));
const { serviceAccountName, containers } = deployment.template.spec;
const [front] = containers;

describe('deploy/kubernetes-fronts.yaml', () => {
  it('starts fronts with valid settings', () => {
    const values: Readonly<Record<string, string>> = {
      'database-url': 'postgres://headroom:secret@db.example/headroom',
      'bus-url': 'nats://headroom:secret@nats.example:4222',
    };
    const environment = front.env.map(({ name, valueFrom }) => [name, values[valueFrom.secretKeyRef.key]]);
    expect(frontConfigOf(loadConfig({}, Object.fromEntries(environment)))).toMatchObject({
      busUrl: values['bus-url'],
      databaseUrl: values['database-url'],
      mqttPort: 1883,
      httpPort: 8080,
    });
    expect(front.args).toEqual(['serve', '--front']);
  });

  it('uses the secrets from its first lines and from deploy/kubernetes.yaml', () => {
    const nodes = readFileSync(join(ROOT, 'deploy/kubernetes.yaml'), 'utf8');
    for (const { valueFrom } of front.env) {
      const { name, key } = valueFrom.secretKeyRef;
      const [shownIn] = [text, nodes].filter((each) =>
        new RegExp(`^#.* generic ${name} [\\s\\S]*?--from-literal=${key}=`, 'm').test(each),
      );
      expect([name, key, shownIn === undefined]).toEqual([name, key, false]);
    }
    expect(nodes).toContain(`serviceAccountName: ${serviceAccountName}`);
    expect(nodes).toContain(`image: ${front.image}`);
  });

  it('names existing ports and paths of a front', () => {
    expect(front.ports).toEqual([
      { name: 'mqtt', containerPort: 1883 },
      { name: 'http', containerPort: 8080 },
    ]);
    expect(front.ports.map(({ name }) => name)).toContain(service.spec.ports[0].targetPort);
    expect(front.readinessProbe.httpGet.path).toBe('/health');
    for (const { httpGet } of [front.livenessProbe, front.startupProbe])
      expect(httpGet.path).toBe('/metrics');
    expect(budget.spec.maxUnavailable).toBeLessThan(deployment.replicas);
  });
});
