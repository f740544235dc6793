// `headroom sim seeds`: many seeds of one scenario, and the way back to a failed one. It runs bundled, because each
// thread loads the whole program.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runAlone, temporaryDirectory, writeFile } from './headroom.js';
import { smallScenario } from './small-scenario.js';

describe('headroom sim seeds', () => {
  it('writes the connectors and cars of all seeds as CSV, in the order of seeds', async () => {
    const dir = temporaryDirectory();
    const file = writeFile(dir, 'small.yaml', smallScenario());
    const args = ['sim', 'seeds', file, '--count', '3', '--from', '9', '--jobs', '2', '--days', '0.01'];
    const { code } = await runAlone([...args, '--csv', `${dir}/tables`]);
    expect(code).toBe(0);
    const seedsOf = (table: string) =>
      readFileSync(`${dir}/tables/${table}.csv`, 'utf8')
        .trimEnd()
        .split('\r\n')
        .map((line) => line.split(',')[0]);
    expect(seedsOf('connectors')).toEqual(['seed', '9', '9', '10', '10', '11', '11']);
    expect(seedsOf('sessions')).toEqual(['seed', '9', '9', '10', '10', '11', '11']);
  });

  it('runs the given number of seeds from the first one, several at once, and reports no failure', async () => {
    const file = writeFile(temporaryDirectory(), 'small.yaml', smallScenario());
    const args = ['sim', 'seeds', file, '--count', '3', '--from', '5', '--jobs', '2', '--days', '0.02'];
    const [forPeople, forScripts] = await Promise.all([runAlone(args), runAlone([...args, '--json'])]);
    expect(forPeople).toMatchObject({ code: 0, stderr: '' });
    expect(forPeople.stdout).toMatch(
      /^3 seeds, 1 h simulated in .* s: 0 with violations or unmet expectations\n$/,
    );
    expect(JSON.parse(forScripts.stdout)).toMatchObject({ seeds: 3, bad: [] });
  });

  it('ends with 1 after a failed seed, and prints the command for that seed', async () => {
    // The kind of vehicle is drawn: some seeds have a bike, which cannot take as much.
    const text = smallScenario({
      expect: '  - { at: "12:10", connector: site-1-c1/1, powerKw: { atLeast: 5 } }',
    }).replace(
      'actions:',
      'vehicles: [{ name: van, maxKw: 11, phases: 3, reaction: [0s, 2s] }, { name: bike, maxKw: 4, phases: 1 }]\nactions:',
    );
    const file = writeFile(temporaryDirectory(), 'drawn.yaml', text);
    const junit = join(temporaryDirectory(), 'seeds.xml');
    const options = '--faults none --days 0.01';
    const drawn = ['--count', '8', '--jobs', '2', '--junit', junit, ...options.split(' ')];
    const { code, stdout, stderr } = await runAlone(['sim', 'seeds', file, ...drawn]);
    expect(code).toBe(1);
    const bad = Number(/: (\d+) with violations or unmet/.exec(stdout)?.[1]);
    expect(bad).toBeGreaterThan(0);
    expect(bad).toBeLessThan(8);
    const [, seed = '', first = '', again = ''] =
      /^seed (\d+): (.*)\n {2}again: headroom (.*)$/m.exec(stderr) ?? [];
    expect(first).toContain('expect[2].powerKw: site-1-c1/1 drew');
    expect(again).toBe(`sim seeds ${file} --from ${seed} --count 1 ${options}`);
    const xml = readFileSync(junit, 'utf8');
    expect(xml).toContain(`<testsuites tests="8" failures="${bad}" errors="0"`);
    expect(xml.match(/<failure /g)).toHaveLength(bad);
    expect(xml).toContain(`>again: headroom ${again}</failure>`);
    const second = await runAlone(again.split(' '));
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`seed ${seed}: ${first}`);
  });

  it('reports an error in a file or a number once, and runs nothing', async () => {
    const file = writeFile(
      temporaryDirectory(),
      'wrong.yaml',
      smallScenario().replace('seed: 1', 'seed: -1'),
    );
    const [wrong, many] = await Promise.all([
      runAlone(['sim', 'seeds', file, '--count', '50']),
      runAlone(['sim', 'seeds', file, '--count', '0']),
    ]);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr.match(/wrong\.yaml:2:1 seed: /g)).toHaveLength(1);
    expect(many.code).toBe(2);
    const beyond = ['--from', '2147483647', '--count', '2'];
    const far = await runAlone([
      'sim',
      'seeds',
      writeFile(temporaryDirectory(), 'small.yaml', smallScenario()),
      ...beyond,
    ]);
    expect(far).toMatchObject({ code: 2, stdout: '' });
    expect(far.stderr).toBe(
      'headroom: --from and --count lead to seed 2147483648; the largest is 2147483647\n',
    );
    expect(many.stderr).toContain('It must be a whole number from 1 to 1000000.');
  });
});
