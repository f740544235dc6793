// The demo's three lines, run as printed, show a schedule, a limit and live draw.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.js';
import { missingPrograms, needing } from '../needs.js';
import { onlyInCi } from '../seeds.js';
import { start, temporaryDirectory } from './headroom.js';

function shell(line: string) {
  return JSON.parse(execFileSync('sh', ['-c', line], { encoding: 'utf8' }));
}

async function runDemo(environment: Readonly<Record<string, string>>) {
  // The demo makes its own directory inside; a file left in here afterwards was not cleaned up.
  const temporary = temporaryDirectory();
  const demo = start(['demo'], {
    HEADROOM_HTTP_PORT: '0',
    HEADROOM_MQTT_PORT: '0',
    TMPDIR: temporary,
    ...environment,
  });
  const curls: string[] = [];
  for (const path of ['/schedules', '/limits', '/clusters/']) {
    curls.push(await demo.line((line) => line.startsWith('curl ') && line.includes(path)));
  }
  return { demo, curls, temporary };
}

describe('headroom demo', () => {
  // curl is no part of Node, so a machine without it cannot run the three lines.
  it(
    'prints three curl lines that set a schedule and read limits and power, which change by themselves',
    needing(missingPrograms('curl')),
    async () => {
      const { demo, curls } = await runDemo({});
      const [set = '', read = '', live = ''] = curls;
      expect(shell(set)).toMatchObject({ locationId: 'quay-1', status: 'SCHEDULED', effectiveLimitKw: 50 });
      expect(shell(read)).toMatchObject({
        effectiveLimitKw: 50,
        profiles: [{ status: 'SCHEDULED', limitKw: 22 }],
      });

      const draws = new Set<number>();
      await eventually(() => {
        draws.add(shell(live).liveStatus.actualTotalKw);
        expect(draws.size).toBeGreaterThan(3);
      });
      await eventually(() => {
        expect(shell(read)).toMatchObject({ effectiveLimitKw: 22, profiles: [{ status: 'ACTIVE' }] });
      });
      const { code, stdout, stderr } = await demo.stop('SIGINT');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.split('\n').filter((line) => line.includes('curl '))).toHaveLength(3);
    },
  );

  it('uses free ports if the usual ones are in use, reports this, and removes its files', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await once(taken, 'listening');
    const port = String((taken.address() as AddressInfo).port);
    const { demo, curls, temporary } = await runDemo({ HEADROOM_HTTP_PORT: port, HEADROOM_MQTT_PORT: port });
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(curls[0] ?? '')?.[0];
    expect((await fetch(`${url}/docs/`)).status).toBe(200);
    expect(readdirSync(temporary)).toHaveLength(1);
    const { code, stderr } = await demo.stop('SIGTERM');
    expect(code).toBe(0);
    expect(stderr.split('\n').filter((line) => line.startsWith(`Port ${port} is in use: `))).toHaveLength(2);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('keeps its data in a given data directory, and finds its cluster again', onlyInCi(), async () => {
    const dataDir = `${temporaryDirectory()}/kept`;
    const clusterOf = async () => {
      const { demo, curls } = await runDemo({ HEADROOM_DATA_DIR: dataDir });
      await demo.stop();
      return /clusters\/(\S+)/.exec(curls[2] ?? '')?.[1];
    };
    const first = await clusterOf();
    expect(existsSync(dataDir)).toBe(true);
    expect(await clusterOf()).toBe(first);
  });
});
