// The settings as flags: each sub-command takes those it uses, under the names the environment gives them too.
import { type Command, Option } from 'commander';
import { type Config, flagOf, loadConfig, SETTINGS, variableOf } from '../src/config.js';
import type { FindContradiction } from '../src/contradictions.js';

export type SettingKey = keyof typeof SETTINGS;

/** Values of the flags that were given, as text, by setting. */
export type SettingsFlags = Partial<Record<SettingKey, string>>;

export const ALL_SETTINGS = Object.keys(SETTINGS) as readonly SettingKey[];

/** Where the database is: all that commands beside a running service need. */
export const DATABASE_SETTINGS: readonly SettingKey[] = ['dataDir', 'databaseUrl'];

/** What settings mean to a sub-command, where that is something else than to the service. */
export type OtherMeanings = Readonly<Partial<Record<SettingKey, string>>>;

function describe(key: SettingKey, about: string): string {
  const fallback: unknown = SETTINGS[key].schema.safeParse(undefined).data;
  const shown = fallback === undefined ? '' : `default ${fallback}; `;
  return `${about} (${shown}${variableOf(key)})`;
}

/** Adds a flag for each of `keys`; its help names unit, default and environment variable. */
export function addSettingsFlags(
  command: Command,
  keys: readonly SettingKey[],
  meanings: OtherMeanings = {},
): Command {
  for (const key of keys) {
    const about = meanings[key] ?? SETTINGS[key].about;
    command.addOption(new Option(`${flagOf(key)} <value>`, describe(key, about)));
  }
  return command;
}

/** The configuration of `flags` over the environment over the defaults. @throws ConfigError */
export function configOf(flags: SettingsFlags, findContradiction?: FindContradiction): Config {
  const given = ALL_SETTINGS.filter((key) => flags[key] !== undefined).map((key) => [key, flags[key]]);
  return loadConfig(Object.fromEntries(given), undefined, findContradiction);
}
