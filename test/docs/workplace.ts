// The place of a document's examples: a directory like the checkout, with its own ports and data.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from '../free-port.js';
import { ROOT } from './document.js';

/** Results of earlier runs: an example begins without them. */
const NOT_SHARED = ['.git', 'data', 'coverage'];
const COMPILER = join(ROOT, 'node_modules/typescript/bin/tsc');

export interface Workplace {
  readonly directory: string;
  readonly scriptDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * `text` with this workplace's ports instead of the usual ones, and without steps that were done before the tests.
   */
  translate(text: string): string;
  /** The output of a command with the usual ports instead of this workplace's. */
  translateBack(text: string): string;
  write(name: string, text: string): void;
  /**
   * Type-checks all TypeScript written so far and puts JavaScript beside it. @throws Error with the compiler's words
   */
  compile(): void;
  remove(): void;
}

export async function openWorkplace(): Promise<Workplace> {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-docs-'));
  for (const name of readdirSync(ROOT).filter((entry) => !NOT_SHARED.includes(entry))) {
    symlinkSync(join(ROOT, name), join(directory, name));
  }
  const ports = { '8080': String(await freePort()), '1883': String(await freePort()) };
  const given = Object.entries(process.env).filter(
    ([name]) => !/^(HEADROOM_|npm_|VITEST|NODE_ENV)/.test(name),
  );
  return {
    directory,
    scriptDir: join(directory, '.scripts'),
    environment: {
      ...Object.fromEntries(given),
      HEADROOM_HTTP_PORT: ports['8080'],
      HEADROOM_MQTT_PORT: ports['1883'],
      HEADROOM_LOG_LEVEL: 'warn',
    },
    translate: (text) =>
      Object.entries(ports).reduce(
        (translated, [usual, own]) => translated.replaceAll(new RegExp(`\\b${usual}\\b`, 'g'), own),
        alreadyBuilt(text),
      ),
    translateBack: (text) =>
      Object.entries(ports).reduce((translated, [usual, own]) => translated.replaceAll(own, usual), text),
    write(name, text) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), text);
    },
    compile() {
      const config = {
        extends: join(ROOT, 'tsconfig.json'),
        // Files of the checkout are in folders; the page's own files are beside this one.
        compilerOptions: { noEmit: false, noUnusedLocals: false, lib: ['ES2023', 'DOM'] },
        include: ['*.ts'],
        exclude: ['knexfile.ts', '*.config.ts'],
      };
      writeFileSync(join(directory, 'tsconfig.page.json'), JSON.stringify(config));
      try {
        execFileSync(process.execPath, [COMPILER, '-p', 'tsconfig.page.json'], {
          cwd: directory,
          encoding: 'utf8',
          stdio: 'pipe',
        });
      } catch (error) {
        throw new Error(`the TypeScript of the page has errors:\n${Object(error).stdout}`);
      }
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/**
 * `npm start`, `npm run demo` and `npx headroom` without their builds (the last one builds at its first call). The
 * tests build before they begin, and run side by side.
 */
function alreadyBuilt(text: string): string {
  return text
    .replaceAll(/\bnpm ci && /g, '')
    .replaceAll(/\bnpx headroom\b/g, 'node cli/headroom.js')
    .replaceAll(/\bnpm (?:run )?(start|demo)\b/g, (_, name: string) => scriptBehindBuild(name));
}

function scriptBehindBuild(name: string): string {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const [build, command] = String(scripts[name]).split(' --silent && ');
  if (build !== 'npm run build' || command === undefined) throw new Error(`npm run ${name} is another now`);
  return command;
}
