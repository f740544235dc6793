// Common parts of the repository's Kubernetes manifests, and a reader for them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { ROOT } from './document.js';

export const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string(), port: z.enum(['http', 'metrics']) }),
  periodSeconds: z.number(),
  timeoutSeconds: z.number().optional(),
  failureThreshold: z.number(),
});

export const fromSecret = z.strictObject({
  name: z.string(),
  valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name: z.string(), key: z.string() }) }),
});

export const containerPorts = z.array(z.strictObject({ name: z.string(), containerPort: z.number() }));

/** A budget that lets one pod at a time be removed. */
export function disruptionBudget<Metadata extends z.ZodType, Labels extends z.ZodType>(
  metadata: Metadata,
  labels: Labels,
) {
  return z.strictObject({
    apiVersion: z.literal('policy/v1'),
    kind: z.literal('PodDisruptionBudget'),
    metadata,
    spec: z.strictObject({
      maxUnavailable: z.literal(1),
      selector: z.strictObject({ matchLabels: labels }),
    }),
  });
}

/** The documents of a manifest in the root of the repository. @throws Error on a mistake of YAML */
export function documentsOf(file: string): unknown[] {
  return parseAllDocuments(readFileSync(join(ROOT, file), 'utf8')).map((each) => {
    const [mistake] = each.errors;
    if (mistake !== undefined) throw mistake;
    return each.toJS();
  });
}
