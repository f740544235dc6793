// The cluster as an operator runs it, and the chaos bench: real processes, a real PostgreSQL, virtual chargers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.js';
import { missingPrograms, needing } from '../needs.js';
import { missingPostgres } from '../outbound/knex/postgres-server.js';
import { casesOf, onlyInCi } from '../seeds.js';

function run(script: string, ...options: readonly string[]) {
  const child = spawn(process.execPath, [`dist/tools/bench/${script}.js`, ...options]);
  onTestFinished(() => void child.kill('SIGTERM'));
  let printed = '';
  child.stdout.on('data', (bytes) => {
    printed += bytes;
  });
  child.stderr.on('data', (bytes) => {
    printed += bytes;
  });
  return {
    child,
    printed: () => printed,
    ended: once(child, 'close').then(([code]) => code as number | null),
  };
}

/** Each round breaks the cluster once. `faults` selects the kinds of fault, and the seed their order. */
async function expectNothingLost(faults: string, ...options: readonly string[]): Promise<void> {
  const rounds = casesOf(3);
  const chaos = run('chaos', `--rounds=${rounds}`, `--faults=${faults}`, ...options);
  expect(await chaos.ended, chaos.printed()).toBe(0);
  expect(chaos.printed()).toContain(
    `{"rounds":${rounds},"leasesLost":0,"limitsBroken":0,"writesLost":0,"doubleWriters":0,"acknowledged":`,
  );
}

describe('A cluster of nodes', needing(missingPostgres()), () => {
  it('loses no lease, limit or write while nodes are killed and frozen during a commit', async () => {
    await expectNothingLost('kill,freezeInCommit,terminate', '--nodes=2', '--seed=2');
  });

  it('shows the owner of the database, and stops and restarts a node by a key', async () => {
    const cluster = run('cluster', '--nodes=2');
    const shown = (text: RegExp) => eventually(() => expect(cluster.printed()).toMatch(text), 60_000);
    await shown(/active .*the database, term 1,/);
    cluster.child.stdin.write('k');
    await shown(/node-1 .*ended/);
    await shown(/node-2 .*active .*the database, term 2,/);
    cluster.child.stdin.write('r');
    await shown(/node-1 .*runs.*standby .*\n.*\n.*node-2 .*term 2/);
    cluster.child.stdin.write('q');
    expect(await cluster.ended).toBe(0);
  });

  it(
    "loses no lease, limit or write if nodes share the tenants, and affects only the failed node's tenants",
    onlyInCi(),
    () => expectNothingLost('kill,freezeInCommit,terminate', '--sharded', '--nodes=3', '--seed=6'),
  );

  it(
    'shows the shards of each node, and moves those of a stopped node to the other',
    onlyInCi(),
    async () => {
      const cluster = run('cluster', '--nodes=2', '--sharded');
      const shown = (text: RegExp) => eventually(() => expect(cluster.printed()).toMatch(text), 60_000);
      await shown(/node-1 .*shards( \d+){8},.*\n.*\n.*node-2 .*shards( \d+){8},/);
      cluster.child.stdin.write('k');
      await shown(/node-1 .*ended.*\n.*\n.*node-2 .*shards( \d+){16},/);
      cluster.child.stdin.write('q');
      expect(await cluster.ended).toBe(0);
    },
  );

  it(
    'loses no lease, limit or write while fronts, their NATS and nodes are killed',
    { ...onlyInCi(), ...needing(missingPrograms('nats-server')) },
    () => expectNothingLost('killFront,killBus,kill', '--sharded', '--fronts=2', '--nodes=2', '--seed=2'),
  );

  it('shows its fronts, and kills one and its NATS by keys', {
    ...onlyInCi(),
    ...needing(missingPrograms('nats-server')),
  }, async () => {
    const cluster = run('cluster', '--nodes=1', '--fronts=2');
    const shown = (text: RegExp) => eventually(() => expect(cluster.printed()).toMatch(text), 60_000);
    await shown(/front-1: MQTT at port (\d+) · front-2: MQTT at port/);
    await shown(/[1-9]\d* of 16 connectors hold a lease/);
    cluster.child.stdin.write('f');
    await shown(/SIGKILL to front-1/);
    await shown(/front-1: MQTT at port \d+, start 2/);
    cluster.child.stdin.write('b');
    await shown(/SIGKILL to the NATS/);
    cluster.child.stdin.write('q');
    expect(await cluster.ended).toBe(0);
  });

  it('refuses an invalid number of nodes', async () => {
    const cluster = run('cluster', '--nodes=none');
    expect(await cluster.ended).toBe(2);
    expect(cluster.printed()).toBe('--nodes none: must be a whole number from 1 to 9\n');
  });
});
