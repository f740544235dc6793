// The sub-commands. Each is loaded on demand, so that none slows down the start of another.
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';

interface Listed {
  readonly name: string;
  /** Must equal the description in the command's own help. */
  readonly about: string;
  readonly load: () => Promise<Command>;
}

const HEAP_OF_A_GATEWAY = [
  // By default V8 collects the old generation only after its size has doubled. The surviving objects are then spread
  // over all pages that V8 allocated meanwhile.
  '--heap-growing-percent=20',
  // By default V8 lets the space of new objects grow from 2 to 32 MB, and never shrinks it.
  '--semi-space-growth-factor=1',
];

/**
 * A gateway has many chargers with few messages, and few objects outlive a heartbeat. The flags apply before the code
 * of the gateway is loaded, because loading makes the heap grow.
 */
function keepHeapSmall(): void {
  for (const flag of HEAP_OF_A_GATEWAY) setFlagsFromString(flag);
}

/** In the order of the help. */
export const COMMANDS: readonly Listed[] = [
  { name: 'serve', about: 'run the service', load: async () => (await import('./serve.js')).serveCommand() },
  {
    name: 'demo',
    about: 'the service with a demo tenant and virtual chargers, live',
    load: async () => (await import('./demo.js')).demoCommand(),
  },
  {
    name: 'sandbox',
    about: 'the service with virtual chargers on a clock that you move, for tests of a back end',
    load: async () => (await import('./sandbox.js')).sandboxCommand(),
  },
  {
    name: 'provision',
    about: 'create and update tenants, sites and credentials from a YAML file',
    load: async () => (await import('./provision.js')).provisionCommand(),
  },
  {
    name: 'tenant',
    about: 'the tenants of this service',
    load: async () => (await import('./tenant.js')).tenantCommand(),
  },
  {
    name: 'feature',
    about: 'switch features of a tenant',
    load: async () => (await import('./feature.js')).featureCommand(),
  },
  { name: 'key', about: 'API keys', load: async () => (await import('./key.js')).keyCommand() },
  {
    name: 'client',
    about: 'OAuth clients (client_credentials)',
    load: async () => (await import('./client.js')).clientCommand(),
  },
  {
    name: 'token-key',
    about: 'keys that sign access tokens',
    load: async () => (await import('./token-key.js')).tokenKeyCommand(),
  },
  {
    name: 'status',
    about: 'limits and power of locations, or of the connectors of one',
    load: async () => (await import('./remote.js')).statusCommand(),
  },
  {
    name: 'limit',
    about: 'read the limits of a location, or set its permanent limit',
    load: async () => (await import('./remote.js')).limitCommand(),
  },
  {
    name: 'schedule',
    about: 'list, submit or cancel the profiles of a location',
    load: async () => (await import('./remote.js')).scheduleCommand(),
  },
  {
    name: 'cluster',
    about: 'clusters, or the members of one with their shares; create, change or delete one',
    load: async () => (await import('./remote.js')).clusterCommand(),
  },
  {
    name: 'events',
    about: 'the event log, the oldest first',
    load: async () => (await import('./remote.js')).eventsCommand(),
  },
  {
    name: 'sessions',
    about: 'ended charging sessions, the newest end first',
    load: async () => (await import('./remote.js')).sessionsCommand(),
  },
  {
    name: 'watch',
    about: 'a line for each change of power or limit of a location, until Ctrl-C',
    load: async () => (await import('./remote.js')).watchCommand(),
  },
  {
    name: 'charger',
    about: 'virtual chargers',
    load: async () => (await import('./charger.js')).chargerCommand(),
  },
  {
    name: 'gateway',
    about: 'let chargers that speak another protocol join a service',
    load: async () => {
      keepHeapSmall();
      return (await import('./gateway.js')).gatewayCommand();
    },
  },
  {
    name: 'sim',
    about: 'simulate days of a site in seconds, with the production service on a virtual clock',
    load: async () => (await import('./sim.js')).simCommand(),
  },
  {
    name: 'doctor',
    about: 'check an installation, before and while it runs; changes nothing',
    load: async () => (await import('./doctor.js')).doctorCommand(),
  },
  {
    name: 'migrate',
    about: "bring the database's schema up to date",
    load: async () => (await import('./migrate.js')).migrateCommand(),
  },
  {
    name: 'backup',
    about: 'copy a live SQLite database',
    load: async () => (await import('./backup.js')).backupCommand(),
  },
  {
    name: 'restore',
    about: 'replace the database by a backup; the service must be stopped',
    load: async () => (await import('./restore.js')).restoreCommand(),
  },
  {
    name: 'completion',
    about: 'print a script that completes commands and flags in your shell',
    load: async () => (await import('./completion.js')).completionCommand(),
  },
];

/** The hidden command behind `completion`; undefined if `words` ask for another. */
export async function completeCommandFor(words: readonly string[]): Promise<Command | undefined> {
  if (words[0] !== 'complete') return undefined;
  return (await import('./completion.js')).completeCommand(commandsFor);
}

/** All sub-commands. Only the one that `words` ask for is loaded; the others only appear in the help. */
export async function commandsFor(words: readonly string[]): Promise<readonly Command[]> {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  const asked = first === 'help' ? second : first;
  return Promise.all(
    COMMANDS.map(({ name, about, load }) => (name === asked ? load() : new Command(name).description(about))),
  );
}
