// The container's files agree with their sources: settings, the files that the build copies, the contents of the
// package.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Config, loadConfig, SETTINGS, variableOf } from '../../src/config.js';
import { frontConfigOf } from '../../src/front.js';
import { missingPrograms, needing } from '../needs.js';
import { ROOT } from './document.js';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const dockerfile = read('deploy/Dockerfile');
const composeSchema = z.object({
  services: z.object({
    headroom: z.object({
      environment: z.record(z.string(), z.null()),
      ports: z.array(z.string()),
    }),
  }),
});
const { headroom } = composeSchema.parse(parse(read('compose.yaml'))).services;

/** Settings that the container fixes. */
const OF_CONTAINER = [
  ...['HEADROOM_HTTP_HOST', 'HEADROOM_HTTP_PORT', 'HEADROOM_MQTT_HOST', 'HEADROOM_MQTT_PORT'],
  'HEADROOM_DATA_DIR',
];

/** Folders and files that the Dockerfile copies from the project. */
function copied(): readonly string[] {
  const copies = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)];
  return copies.flatMap(([, sources = '']) => sources.split(' '));
}

describe('compose.yaml', () => {
  it('passes every setting to the container, except those fixed by the container', () => {
    const settings = (Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]).map(variableOf);
    const expected = settings.filter((variable) => !OF_CONTAINER.includes(variable));
    expect(Object.keys(headroom.environment).sort()).toEqual(expected.sort());
  });

  it('publishes ports to its own host by default', () => {
    expect(headroom.ports).toEqual([
      `\${PUBLISH_ADDRESS:-127.0.0.1}:8080:8080`,
      `\${PUBLISH_ADDRESS:-127.0.0.1}:1883:1883`,
    ]);
  });
});

describe('deploy/compose.cluster.yaml', () => {
  const node = z.object({ environment: z.record(z.string(), z.union([z.string(), z.number(), z.null()])) });
  const clusterSchema = z.object({
    services: z.object({ 'node-1': node, 'node-2': node }),
    configs: z.object({ balancer: z.object({ content: z.string() }) }),
  });
  const cluster = clusterSchema.parse(parse(read('deploy/compose.cluster.yaml'), { merge: true }));

  it.each(['node-1', 'node-2'] as const)('configures %s as a standby for the other node', (name) => {
    const { environment } = cluster.services[name];
    const given = Object.entries(environment).filter(([, value]) => value !== null);
    const texts = Object.fromEntries(given.map(([variable, value]) => [variable, String(value)]));
    const config = loadConfig({}, { HEADROOM_HTTP_HOST: '0.0.0.0', ...texts });
    expect(config).toMatchObject({ standby: true, nodeUrl: `http://${name}:8080`, trustProxy: 1 });
    const known = (Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]).map(variableOf);
    expect(known).toEqual(expect.arrayContaining(Object.keys(environment)));
  });

  it('has a balancer whose configuration HAProxy accepts', needing(missingPrograms('haproxy')), () => {
    const directory = mkdtempSync(join(tmpdir(), 'headroom-haproxy-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'haproxy.cfg');
    // The names of the containers do not resolve here.
    writeFileSync(file, cluster.configs.balancer.content.replaceAll(/node-\d:(?=\d+$)/gm, '127.0.0.1:'));
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

describe('deploy/compose.fronts.yaml', () => {
  const scalar = z.union([z.string(), z.number(), z.null()]);
  const process = z.object({
    environment: z.record(z.string(), scalar),
    command: z.array(z.string()).optional(),
  });
  const { services, configs } = z
    .object({
      services: z.object({ 'node-1': process, 'node-2': process, 'front-1': process, 'front-2': process }),
      configs: z.object({ balancer: z.object({ content: z.string() }) }),
    })
    .parse(parse(read('deploy/compose.fronts.yaml'), { merge: true }));

  function configOf(name: keyof typeof services): Config {
    const given = Object.entries(services[name].environment).filter(([, value]) => value !== null);
    const texts = given.map(([variable, value]) => [
      variable,
      String(value).replace(/\$\{\w+:-(\w+)\}/g, '$1'),
    ]);
    const config = loadConfig({}, { HEADROOM_HTTP_HOST: '0.0.0.0', ...Object.fromEntries(texts) });
    const known = (Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]).map(variableOf);
    expect(known).toEqual(expect.arrayContaining(Object.keys(services[name].environment)));
    return config;
  }

  it.each(['node-1', 'node-2'] as const)('configures %s for shared tenants', (name) => {
    const nodeUrl = `http://${name}:8080`;
    expect(configOf(name)).toMatchObject({ sharded: true, nodeUrl, trustProxy: 1 });
    expect(services[name].command).toBeUndefined();
  });

  it.each(['front-1', 'front-2'] as const)('configures %s as a front, on the NATS of the nodes', (name) => {
    expect(frontConfigOf(configOf(name)).busUrl).toBe(configOf('node-1').busUrl);
    expect(services[name].command).toEqual(['serve', '--front']);
  });

  it('has a balancer whose configuration HAProxy accepts', needing(missingPrograms('haproxy')), () => {
    const directory = mkdtempSync(join(tmpdir(), 'headroom-haproxy-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'haproxy.cfg');
    // The names of the containers do not resolve here.
    const content = configs.balancer.content.replaceAll(/(node|front)-\d:(?=\d+$)/gm, '127.0.0.1:');
    writeFileSync(file, content);
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

describe('The Dockerfile', () => {
  it('copies existing files, and its ignore file admits only those', () => {
    const allowed = read('deploy/Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const isInside = (path: string) => allowed.some((folder) => path.startsWith(`${folder}/`));
    const outermost = copied().filter((path) => !isInside(path));
    expect([...new Set(outermost)].sort()).toEqual(allowed.sort());
    expect(copied().filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('copies the files of the package into the final image, and runs without root', () => {
    const { files } = z.object({ files: z.array(z.string()) }).parse(JSON.parse(read('package.json')));
    const final = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    const folders = files.filter((file) => /^\w+$/.test(file));
    expect(folders.filter((folder) => !new RegExp(`^COPY .*\\b${folder}$`, 'm').test(final))).toEqual([]);
    expect(final).toMatch(/^USER node$/m);
  });

  it('uses an image with a digest, of a Node version in the CI tests', () => {
    const image = /^ARG NODE_IMAGE=node:(\d+)\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/m.exec(dockerfile);
    const tested = /^for major in (.+); do$/m.exec(read('.ci/run'))?.[1]?.split(' ');
    expect(tested).toContain(image?.[1]);
  });

  it.each(['compose.yaml', 'deploy/compose.cluster.yaml', 'deploy/compose.fronts.yaml'])(
    'alone names the base image: %s passes NODE_IMAGE on if it is set',
    (file) => {
      const builtSchema = z.object({ build: z.object({ args: z.object({ NODE_IMAGE: z.null() }) }) });
      const { services } = z
        .object({ services: z.record(z.string(), z.unknown()) })
        .parse(parse(read(file), { merge: true }));
      const built = Object.values(services).filter(
        (service) => z.object({ build: z.unknown() }).safeParse(service).success,
      );
      expect(built.length).toBeGreaterThan(0);
      for (const service of built) expect(() => builtSchema.parse(service)).not.toThrow();
    },
  );

  it('sets hosts and data directory in its environment, and uses one image for both stages', () => {
    for (const variable of ['HEADROOM_HTTP_HOST', 'HEADROOM_MQTT_HOST', 'HEADROOM_DATA_DIR']) {
      expect(dockerfile).toContain(`${variable}=`);
    }
    expect(dockerfile.match(/^FROM .*$/gm)).toEqual([`FROM \${NODE_IMAGE} AS build`, `FROM \${NODE_IMAGE}`]);
  });
});
