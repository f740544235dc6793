// The architecture as rules over sources: allowed imports, banned words, file names and opening comments.
import { importsOf, type Source, withoutComments } from './sources.js';

/** One line that names the file. */
export type Breach = string;

/** Stands for any package of the registry or of Node itself. */
const PACKAGES = 'packages';

/** Small files that all of src may import. They may import each other, the machines, ports and wire. */
const FOUNDATION = [
  'bounded-cache',
  'broker-url',
  'certificate-names',
  'clock',
  'config',
  'config-constraints',
  'follow-files',
  'guess-limit',
  'health',
  'line-writer',
  'log',
  'metrics',
  'open-files',
  'password-check',
  'pause',
  'private-files',
  'rare-log',
  'secrets',
  'sign-in-log',
  'tls-files',
  'token-bucket',
  'version',
];
const SHARED_BY_WAYS_IN_AND_OUT = [
  'bounded-cache',
  'broker-url',
  'certificate-names',
  'guess-limit',
  'metrics',
  'open-files',
  'password-check',
  'pause',
  'private-files',
  'rare-log',
  'secrets',
  'sign-in-log',
  'tls-files',
  'token-bucket',
];

/** The layers of `machines/`, lowest first. No layer imports one above it. */
const MACHINES = ['values', 'policy', 'limits', 'ledger', 'power', 'session'];

/** Every folder of `src/features/`. Its own files import it as one of their shared parts. */
const EACH_FEATURE = 'features/*';
/** A feature imports the domain and shared parts, and never another feature. Lists directly in `src/features/` do. */
const OF_FEATURES = [
  'actors',
  'enforcement',
  ...MACHINES,
  'ports',
  'wire',
  'pause',
  'secrets',
  'src/inbound/http/endpoint.ts',
  'src/outbound/knex/engine.ts',
  'src/outbound/knex/event-ids.ts',
  'src/outbound/knex/json-rows.ts',
  'src/provisioning/field-schemas.ts',
  'zod',
  'zod-openapi',
  'knex',
];

const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  machines: [...MACHINES, 'xstate'],
  values: ['values'],
  policy: ['values', 'policy'],
  limits: ['values', 'limits', 'xstate'],
  ledger: ['values', 'ledger'],
  power: ['values', 'policy', 'limits', 'ledger', 'power', 'xstate'],
  session: ['values', 'ledger', 'power', 'session', 'xstate'],
  ports: ['ports', ...MACHINES, 'knex'],
  wire: ['wire', ...MACHINES, 'ports', 'zod', 'zod-openapi'],
  actors: ['actors', ...MACHINES, 'ports', 'wire', 'xstate', 'flatqueue', 'node:util'],
  enforcement: ['enforcement', 'actors', ...MACHINES, 'ports', 'wire', 'metrics', 'rare-log'],
  features: ['features', EACH_FEATURE, 'outbound', ...OF_FEATURES],
  [EACH_FEATURE]: OF_FEATURES,
  'actor-system': [
    'features',
    EACH_FEATURE,
    'actors',
    'enforcement',
    ...MACHINES,
    'ports',
    'wire',
    'metrics',
  ],
  inbound: [
    'inbound',
    'features',
    EACH_FEATURE,
    'actors',
    'wire',
    'ports',
    ...MACHINES,
    ...SHARED_BY_WAYS_IN_AND_OUT,
    PACKAGES,
  ],
  outbound: [
    'outbound',
    'features',
    EACH_FEATURE,
    'wire',
    'ports',
    ...MACHINES,
    ...SHARED_BY_WAYS_IN_AND_OUT,
    PACKAGES,
  ],
  // The gateway is a process of its own. It acts as chargers and reaches the service over the wire only.
  gateway: ['gateway', 'provisioning', 'wire', 'ports', ...MACHINES, ...SHARED_BY_WAYS_IN_AND_OUT, PACKAGES],
  provisioning: ['provisioning', 'features', 'wire', 'ports', ...MACHINES, 'secrets', PACKAGES],
  nodes: ['nodes', 'values', 'ports', 'pause', 'rare-log'],
  term: [
    'actor-system',
    'features',
    EACH_FEATURE,
    'inbound',
    'outbound',
    'wire',
    'ports',
    ...MACHINES,
    ...FOUNDATION,
    PACKAGES,
  ],
  'service-node': [
    'term',
    'actor-system',
    'features',
    EACH_FEATURE,
    'actors',
    'nodes',
    'inbound',
    'ports',
    ...MACHINES,
    ...FOUNDATION,
    PACKAGES,
  ],
  front: ['actors', 'inbound', 'outbound', 'ports', ...FOUNDATION],
  service: [
    'service-node',
    'term',
    'nodes',
    'inbound',
    'outbound',
    'wire',
    'ports',
    ...MACHINES,
    ...FOUNDATION,
    PACKAGES,
  ],
  // For browsers, too.
  client: ['client', 'clock', 'eventsource-parser/stream'],
  cli: [
    'cli',
    'client',
    'features',
    EACH_FEATURE,
    'front',
    'service',
    'gateway',
    'provisioning',
    'inbound',
    'outbound',
    'wire',
    'ports',
    ...MACHINES,
    'sim',
    ...FOUNDATION,
    PACKAGES,
  ],
  sim: [
    'sim',
    'service',
    'gateway',
    'provisioning',
    'inbound',
    'outbound',
    'actor-system',
    'features',
    EACH_FEATURE,
    'enforcement',
    'actors',
    'ports',
    'wire',
    ...MACHINES,
    'config',
    'metrics',
    'private-files',
    'secrets',
    'tls-files',
    'version',
    'token-bucket',
    PACKAGES,
  ],
  tools: [
    'tools',
    'sim',
    'service',
    'provisioning',
    'inbound',
    'outbound',
    'actor-system',
    'features',
    EACH_FEATURE,
    'enforcement',
    'actors',
    'wire',
    'ports',
    ...MACHINES,
    ...FOUNDATION,
    PACKAGES,
  ],
  ...Object.fromEntries(
    FOUNDATION.map((name) => [name, [...MACHINES, 'ports', 'wire', ...FOUNDATION, PACKAGES]]),
  ),
};

/** A folder, a feature, or a single file directly in src. */
function partOf(path: string): string {
  const [top = '', below = '', feature = '', inside] = path.split('/');
  if (below === 'features' && inside !== undefined) return `features/${feature}`;
  const isInside = top === 'src' || (top === 'machines' && !below.endsWith('.ts'));
  return isInside ? below.replace(/\.ts$/, '') : top;
}

function ruleOf(part: string): string {
  return part.startsWith('features/') ? EACH_FEATURE : part;
}

function isInTree(target: string): boolean {
  return target.endsWith('.ts');
}

export function importBreaches(sources: readonly Source[]): readonly Breach[] {
  return sources.flatMap((source) => {
    const part = partOf(source.path);
    const allowed = ALLOWED[ruleOf(part)];
    if (allowed === undefined) return [`${source.path}: "${part}" has no import rule`];
    return importsOf(source)
      .filter((target) => {
        if (isInTree(target)) {
          const other = partOf(target);
          return other !== part && !allowed.includes(ruleOf(other)) && !allowed.includes(target);
        }
        return !allowed.includes(PACKAGES) && !allowed.includes(target);
      })
      .map((target) => `${source.path} imports ${target}`);
  });
}

export function cycles(sources: readonly Source[]): readonly Breach[] {
  const paths = new Set(sources.map(({ path }) => path));
  const written = (target: string) => (paths.has(target) ? target : target.replace(/\.ts$/, '.tsx'));
  const graph = new Map(
    sources.map((source) => [source.path, importsOf(source).filter(isInTree).map(written)]),
  );
  const found: Breach[] = [];
  const done = new Set<string>();

  function visit(path: string, trail: readonly string[]): void {
    const at = trail.indexOf(path);
    if (at !== -1) found.push([...trail.slice(at), path].join(' → '));
    if (at !== -1 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  }

  for (const path of graph.keys()) visit(path, []);
  return found;
}

/** A module that may write a part of a connector: `Writing<'granted'>`, `Writable<Session>` or `Object.assign`. */
const WRITES = /\b(?:Writing<'|Writable<|Object\.assign\([\w.]*\.)(\w+)/g;

/** The modules that may write each of `parts`. */
export function writersOf(parts: readonly string[], sources: readonly Source[]) {
  const written = sources.flatMap(({ path, text }) =>
    [...text.matchAll(WRITES)].map(([, part = '']) => ({ path, part: part.toLowerCase() })),
  );
  const pathsOf = (name: string) => written.filter(({ part }) => part === name).map(({ path }) => path);
  return Object.fromEntries(parts.map((part) => [part, [...new Set(pathsOf(part))]]));
}

const MOST_LINES_OF_A_PART = 17;
/** Each of these keeps a file of its own: a command with its flags. */
const ONE_EACH = /^cli\/[a-z]+\.ts$/;

/** Short files with a single importer belong into that importer. */
export function partsOnTheirOwn(sources: readonly Source[]): readonly Breach[] {
  const imported = sources.flatMap((source) => [...new Set(importsOf(source))].map(scriptOf));
  return sources
    .filter(({ path, text }) => !ONE_EACH.test(path) && linesOf(text) <= MOST_LINES_OF_A_PART)
    .filter(({ path }) => imported.filter((target) => target === scriptOf(path)).length === 1)
    .map(({ path }) => `${path} is a part of the one file that imports it`);
}

/** Only an unindented statement runs when the file is loaded. */
const LISTENS_TO_PARENT = /^(process|parentPort\??)\.on\('message'/m;

/** A process that imports such a file for a value would take its own parent's messages as orders. */
export function importedPrograms(sources: readonly Source[]): readonly Breach[] {
  const programs = sources.filter(({ text }) => LISTENS_TO_PARENT.test(text)).map(({ path }) => path);
  return sources.flatMap((source) =>
    importsOf(source)
      .filter((target) => programs.includes(target))
      .map((target) => `${source.path} imports ${target}, which takes orders of its parent`),
  );
}

/** Importers name the compiled file, which hides the extension .tsx. */
function scriptOf(path: string): string {
  return path.replace(/\.tsx$/, '.ts');
}

function linesOf(text: string): number {
  return text.trimEnd().split('\n').length;
}

interface BannedWord {
  readonly word: RegExp;
  readonly where: (path: string) => boolean;
}

const isTest = (path: string) => path.startsWith('test/');
const isProduct = (path: string) => !isTest(path);
const isMachine = (path: string) => path.startsWith('machines/');
const writesAnswers = (path: string) =>
  path.startsWith('src/inbound/http/') && !/\/(exchange|token-keys|docs-page)\.ts$/.test(path);
const isTimed = (path: string) => isProduct(path) && path !== 'src/clock.ts';

/**
 * A session, and the part of the gateway that each protocol of chargers uses. The folders in the gateway are protocols.
 * The metrics of a process are in one registry, so those of OCPP are beside the others. `ocppState` is a field of the MQTT
 * contract.
 */
const isOfAnyProtocol = (path: string) =>
  /^(machines\/session|src\/gateway)\/[^/]+\.ts$/.test(path) && path !== 'src/gateway/gateway-metrics.ts';

/** A holder advances its profiles within its own transition. Other events to children are actions of a machine. */
const sendsByActions = (path: string) => isMachine(path) && path !== 'machines/limits/profile.machine.ts';

const BANNED: readonly BannedWord[] = [
  { word: /\bactor\.send\(/i, where: sendsByActions },
  {
    word: /\b(BootNotification|StatusNotification|MeterValues|TransactionEvent|(Start|Stop)Transaction|TriggerMessage|(Set|Clear)ChargingProfile|GetCompositeSchedule|ChangeConfiguration|GetConfiguration|[GS]etVariables|Tx(Default)?Profile|csms\w*|ocpp(?!-|State\b)\w*)\b/i,
    where: isOfAnyProtocol,
  },
  { word: /\bfrom '\.\/[\w-]+\//, where: isOfAnyProtocol },
  { word: /\bnew Date\(/, where: isMachine },
  { word: /\bprocess\./, where: isMachine },
  { word: /\basync\b/, where: isMachine },
  { word: /\bMath\.random\b/, where: isProduct },
  { word: /\bDate\.now\b/, where: isTimed },
  { word: /\bnew Date\(\s*\)/, where: isTimed },
  { word: /(?<![.\w])set(Timeout|Interval)\b/, where: isTimed },
  // A namespace import of the module would hide the banned words above.
  { word: /\bimport\s+[\w*][^;]*['"](node:)?timers(\/promises)?['"]/, where: isTimed },
  { word: /\bprocess\.env\b/, where: (path) => isProduct(path) && path !== 'src/config.ts' },
  // `toJson` of the exchange writes answers and events and rounds their numbers. The others write a key file and a script.
  { word: /\bJSON\.stringify\b/, where: writesAnswers },
  { word: /\bas any\b/, where: () => true },
  { word: /@ts-(ignore|expect-error|nocheck)|biome-ignore/, where: () => true },
  { word: /\buseFakeTimers\b/, where: () => true },
  // Wall-clock bounds fail on a busy machine. Tests wait with `test/eventually.ts`, pages with `test/browser.ts`.
  { word: /\bvi\.(waitFor|waitUntil|setConfig)\b|\bexpect\.poll\b/, where: isTest },
  { word: /\btimeout:\s*[1-9]|\bAbortSignal\.timeout\b/, where: isTest },
  // A skipped test must name the missing tool, with `needing` of `test/needs.ts`.
  { word: /\b(skipIf|runIf)\b/, where: isTest },
  // Test files share a process, so a replacement in one file would reach the next one.
  { word: /\bvi\.(mock|doMock|stubEnv|stubGlobal)\b/, where: isTest },
  { word: /\bchromium\.launch\b/, where: (path) => isTest(path) && path !== 'test/browser.ts' },
];

export function bannedWords(sources: readonly Source[]): readonly Breach[] {
  return sources.flatMap((source) =>
    BANNED.filter(({ where }) => where(source.path)).flatMap(({ word }) => {
      // Directives to the tools are comments themselves, so comments stay in for these.
      const text = word.source.startsWith('@ts') ? source.text : withoutComments(source);
      const found = word.exec(text)?.[0];
      return found === undefined ? [] : [`${source.path} says ${found}`];
    }),
  );
}

const BANNED_NAMES = /\/index\.ts$|[/-](utils?|helpers?|managers?|types|common|misc)\.ts$/;
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.(machine|test|config))*\.ts$/;

export function misnamedFiles(sources: readonly Source[]): readonly Breach[] {
  return sources
    .filter(({ path }) => BANNED_NAMES.test(path) || !KEBAB_CASE.test(path.split('/').at(-1) ?? ''))
    .map(({ path }) => `${path} is not named by the domain's noun or verb in kebab-case`);
}
