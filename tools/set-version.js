// `npm version 0.3.0` runs it: manifests and documents name the version of package.json.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const NAMES = /(?<=headroom[:-]|"version": "|\bversion )\d+\.\d+\.\d+(?=[".,\s]|$)/gm;
const FILES = [
  'deploy/kubernetes-fronts.yaml',
  'deploy/kubernetes-gateway.yaml',
  'deploy/kubernetes.yaml',
  'docs/examples/site-tests/README.md',
  'docs/operations.md',
];

for (const path of FILES) writeFileSync(path, readFileSync(path, 'utf8').replaceAll(NAMES, version));
execFileSync('git', ['add', ...FILES]);
