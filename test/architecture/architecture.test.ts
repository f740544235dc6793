// Enforces the architecture's rules on the tree. For each rule, a test proves that the rule finds a breach.
import { describe, expect, it } from 'vitest';
import { fast } from '../../vitest.config.js';
import {
  bannedWords,
  cycles,
  importBreaches,
  importedPrograms,
  misnamedFiles,
  partsOnTheirOwn,
  writersOf,
} from './rules.js';
import { readSources, type Source } from './sources.js';

const STARTS_PROGRAM = /from '\.[^']*\/(?:postgres-server|mosquitto)\.js'/;
const product = readSources(['machines', 'src', 'cli', 'client', 'sim', 'tools']);
const pages = readSources(['web'], /\.tsx?$/);
// The files in this folder contain the banned words.
const tests = readSources(['test']).filter(({ path }) => !path.startsWith('test/architecture/'));

function planted(path: string, text: string): Source[] {
  return [{ path, text }];
}

function importing(path: string, target: string): Source[] {
  return planted(path, `import { x } from '${target}';\n`);
}

describe('The fast run', () => {
  it('leaves out the tests of the service that start a database or a broker, and no other', () => {
    const starting = readSources(['test/service'], /\.test\.ts$/).filter(({ text }) =>
      STARTS_PROGRAM.test(text),
    );
    expect(fast.exclude).toEqual(starting.map(({ path }) => path).sort());
  });
});

describe('The tree', () => {
  it('was read', () => {
    expect(product.length).toBeGreaterThan(50);
    expect(tests.length).toBeGreaterThan(10);
  });

  it('imports only along the architecture', () => {
    expect(importBreaches(product)).toEqual([]);
  });

  it('has no cycles', () => {
    expect(cycles([...product, ...pages])).toEqual([]);
  });

  it('has one writer for each part of a connector', () => {
    const writers = {
      provisioned: ['machines/power/connector-registry.ts'],
      telemetry: ['machines/power/connector-readings.ts'],
      session: ['machines/power/reallocated-phases.ts'],
      needs: ['machines/power/declared-cars.ts'],
      granted: ['machines/power/granted.ts'],
      failsafe: ['machines/power/failsafes.ts'],
      decided: ['machines/power/connector-targets.ts'],
    };
    expect(writersOf(Object.keys(writers), product)).toEqual(writers);
  });

  it('says no banned word', () => {
    expect(bannedWords([...product, ...tests])).toEqual([]);
  });

  it('has no file of a few lines that is a part of one other', () => {
    expect(partsOnTheirOwn([...product, ...pages])).toEqual([]);
  });

  it('imports no file that takes orders of the process that started it', () => {
    expect(importedPrograms(product)).toEqual([]);
  });

  it('names files in kebab-case, by what they are', () => {
    expect(misnamedFiles([...product, ...tests])).toEqual([]);
  });
});

describe('A writer of a part', () => {
  it.each([
    "type Written = Writing<'car'>;",
    'const car: Writable<Car> = x.car;',
    'Object.assign(x.car, {});',
  ])('is found: %s', (text) => {
    expect(writersOf(['car'], planted('machines/a.ts', text))).toEqual({ car: ['machines/a.ts'] });
  });

  it('is no reader', () => {
    expect(writersOf(['car'], planted('machines/a.ts', 'const { car }: Connector = x;'))).toEqual({
      car: [],
    });
  });
});

describe('A file of a few lines', () => {
  const few = '// Why it exists.\nexport const x = 1;\n';
  const importer = (path: string) => ({ path, text: "import { x } from './part.js';\n" });

  it('is a part of the one file that imports it', () => {
    const alone = [{ path: 'src/part.ts', text: few }, importer('src/a.ts')];
    expect(partsOnTheirOwn(alone)).toHaveLength(1);
    expect(partsOnTheirOwn([...alone, importer('src/b.ts')])).toEqual([]);
    expect(partsOnTheirOwn([{ path: 'src/part.tsx', text: few }, importer('src/a.ts')])).toHaveLength(1);
  });

  it('may stand alone where it is a program, has more to say, or is one of many of its kind', () => {
    expect(partsOnTheirOwn(planted('src/part.ts', few))).toEqual([]);
    const long = { path: 'src/part.ts', text: few.repeat(10) };
    expect(partsOnTheirOwn([long, importer('src/a.ts')])).toEqual([]);
    expect(partsOnTheirOwn([{ path: 'cli/part.ts', text: few }, importer('cli/a.ts')])).toEqual([]);
  });
});

describe('A file that takes orders of its parent', () => {
  const importer = { path: 'sim/a.ts', text: "import { x } from './worker.js';\n" };

  it.each(["process.on('message', () => {});", "parentPort?.on('message', () => {});"])(
    'is imported by nobody: %s',
    (listens) => {
      const worker = { path: 'sim/worker.ts', text: `export const x = 1;\n${listens}\n` };
      expect(importedPrograms([worker, importer])).toHaveLength(1);
    },
  );

  it('may be imported where it does so only once it is told to', () => {
    const worker = {
      path: 'sim/worker.ts',
      text: "function begin() {\n  process.on('message', () => {});\n}\n",
    };
    expect(importedPrograms([worker, importer])).toEqual([]);
  });
});

describe('The import rules', () => {
  it.each([
    ['machines/a.ts', 'zod'],
    ['machines/a.ts', 'node:fs'],
    ['machines/values/a.ts', '../limits/b.js'],
    ['machines/limits/a.ts', '../power/b.js'],
    ['src/actors/a.ts', '../features/b.js'],
    ['src/enforcement/a.ts', '../features/b/c.js'],
    ['src/features/a/b.ts', '../c/contract.js'],
    ['src/features/a/b.ts', '../endpoints.js'],
    ['src/features/a/b.ts', '../../inbound/http/server.js'],
    ['src/features/a/b.ts', '../../outbound/knex/store.js'],
    ['machines/a.ts', '../src/ports/clock.js'],
    ['src/ports/store.ts', '../wire/rest.js'],
    ['src/wire/a.ts', 'express'],
    ['src/actors/a.ts', 'knex'],
    ['src/actors/a.ts', '../inbound/http/server.js'],
    ['src/inbound/http/a.ts', '../../outbound/knex/store.js'],
    ['src/inbound/http/a.ts', '../../config.js'],
    ['src/outbound/knex/a.ts', '../../actors/core.js'],
    ['src/outbound/mqtt/a.ts', '../../inbound/mqtt/logins.js'],
    ['src/provisioning/a.ts', '../outbound/knex/store.js'],
    ['src/provisioning/a.ts', '../features/b/contract.js'],
    ['src/features/live/a.ts', '../alarms/contract.js'],
    ['src/features/live/a.ts', '../live-contract.js'],
    ['src/service.ts', '../cli/serve.js'],
    ['src/service.ts', '../sim/charger/fleet.js'],
    ['src/inbound/http/a.ts', '../../../sim/charger/fleet.js'],
    ['src/inbound/http/a.ts', '../../../test/service/running-service.js'],
    ['src/provisioning/a.ts', '../../sim/charger/fleet.js'],
    ['cli/a.ts', '../src/actors/core.js'],
    ['sim/a.ts', '../cli/serve.js'],
    ['src/clock.ts', './service.js'],
    ['machines/session/a.ts', '../limits/b.js'],
    ['machines/power/a.ts', '../session/b.js'],
    ['src/gateway/a.ts', '../outbound/knex/store.js'],
    ['src/gateway/a.ts', '../actors/core.js'],
    ['src/service.ts', './gateway/ocpp/ocpp-gateway.js'],
    ['src/strange/a.ts', './b.js'],
  ])('refuse %s to import %s', (path, target) => {
    expect(importBreaches(importing(path, target))).toHaveLength(1);
  });

  it.each([
    ['cli/a.ts', '../sim/charger/fleet.js'],
    ['cli/a.ts', '../src/service.js'],
    ['src/inbound/http/a.ts', '../../features/endpoints.js'],
    ['src/features/endpoints.ts', './a/b.js'],
    ['src/features/a/b.ts', './rows.js'],
    ['src/features/a/b.ts', '../../inbound/http/endpoint.js'],
    ['machines/power/a.ts', '../limits/b.js'],
    ['machines/a.ts', 'xstate'],
  ])('let %s import %s', (path, target) => {
    expect(importBreaches(importing(path, target))).toEqual([]);
  });

  it.each([
    ["import type { X } from 'knex';"],
    ["import {\n  a,\n  b,\n} from 'knex';"],
    ["export { x } from 'knex';"],
    ["export * from 'knex';"],
    ["import 'knex';"],
    ["const x = await import('knex');"],
    ['import x from "knex";'],
  ])('see an import however it is written: %j', (text) => {
    expect(importBreaches(planted('machines/a.ts', text))).toEqual(['machines/a.ts imports knex']);
  });

  it('do not take a comment for an import', () => {
    expect(
      importBreaches(planted('machines/a.ts', "// import x from 'knex';\n/*\nimport 'knex';\n*/")),
    ).toEqual([]);
  });
});

describe('The search for cycles', () => {
  it('finds one of two files, and one of three through types', () => {
    const two = [...importing('src/a.ts', './b.js'), ...importing('src/b.ts', './a.js')];
    expect(cycles(two)).toEqual(['src/a.ts → src/b.ts → src/a.ts']);
    const three = [
      ...importing('src/a.ts', './b.js'),
      ...planted('src/b.ts', "import type { X } from './c.js';"),
      ...importing('src/c.ts', './a.js'),
    ];
    expect(cycles(three)).toHaveLength(1);
  });

  it('finds one of components', () => {
    const two = [...importing('web/a.tsx', './b.js'), ...importing('web/b.tsx', './a.js')];
    expect(cycles(two)).toEqual(['web/a.tsx → web/b.tsx → web/a.tsx']);
  });

  it('does not mistake two ways to the same file for one', () => {
    const diamond = [
      ...planted('src/a.ts', "import './b.js';\nimport './c.js';"),
      ...importing('src/b.ts', './d.js'),
      ...importing('src/c.ts', './d.js'),
      ...planted('src/d.ts', ''),
    ];
    expect(cycles(diamond)).toEqual([]);
  });
});

describe('The banned words', () => {
  it.each([
    ['machines/a.ts', 'const d = new Date(0);'],
    ['machines/a.ts', 'process.exit(1);'],
    ['machines/a.ts', 'const f = async () => 1;'],
    ['machines/a.ts', 'Date.now()'],
    ['machines/a.ts', 'setTimeout(f, 1);'],
    ['machines/a.ts', 'Math.random()'],
    ['src/a.ts', 'Math.random()'],
    ['src/a.ts', 'const t = Date.now();'],
    ['src/a.ts', 'const t = new Date();'],
    ['src/a.ts', 'setTimeout(f, 1);'],
    ['sim/a.ts', 'setInterval(f, 1);'],
    ['src/a.ts', "import { setTimeout as sleep } from 'node:timers/promises';"],
    ['src/a.ts', "import * as timers from 'node:timers';"],
    ['src/a.ts', 'process.env.HOME'],
    ['src/clock.ts', 'process.env.HOME'],
    ['src/a.ts', 'const x = y as any;'],
    ['test/a.test.ts', 'const x = y as any;'],
    ['src/a.ts', '// @ts-ignore'],
    ['src/a.ts', '// biome-ignore lint: no'],
    ['test/a.test.ts', 'vi.useFakeTimers();'],
    ['test/a.test.ts', 'await vi.waitFor(check);'],
    ['test/a.test.ts', "it('is slow', { timeout: 60_000 }, f);"],
    ['test/a.test.ts', 'fetch(url, { signal: AbortSignal.timeout(1000) });'],
    ['test/web/a.test.ts', 'chromium.launch();'],
    ['test/a.test.ts', "vi.mock('node:crypto');"],
    ['test/a.test.ts', "describe.skipIf(!hasCurl)('curl', f);"],
    ['machines/power/a.ts', "control.actor.send({ type: 'car.left' });"],
    ['machines/session/a.ts', "say('SetChargingProfile');"],
    ['src/gateway/a.ts', 'const csmsUrl = 1;'],
    ['src/gateway/a.ts', "import { x } from './ocpp/b.js';"],
  ])('are found in %s: %s', (path, text) => {
    expect(bannedWords(planted(path, text))).not.toEqual([]);
  });

  it.each([
    ['src/clock.ts', 'Date.now(); setTimeout(f, 1);'],
    ['src/config.ts', 'process.env'],
    ['src/a.ts', 'new Date(epochMs); clock.setTimeout(f, 1);'],
    ['src/a.ts', '// Date.now() would not do here'],
    ['machines/a.ts', '/** No async, no Date.now. */'],
    ['machines/limits/profile.machine.ts', 'actor.send(event);'],
    ['src/actors/directory.ts', 'location.actor.send(event);'],
    ['src/gateway/ocpp/a.ts', "say('SetChargingProfile');"],
  ])('are allowed where they belong, %s: %s', (path, text) => {
    expect(bannedWords(planted(path, text))).toEqual([]);
  });
});

describe('The rules for files', () => {
  it.each([
    'src/index.ts',
    'src/utils.ts',
    'src/http-helpers.ts',
    'src/types.ts',
    'src/userManager.ts',
    'src/Foo.ts',
  ])('refuse the name %s', (path) => {
    expect(misnamedFiles(planted(path, ''))).toHaveLength(1);
  });
});
