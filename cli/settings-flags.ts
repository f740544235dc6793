// The settings as flags: each sub-command takes the ones that it uses; environment variables have matching names.
import { type Command, Option } from 'commander';
import { type Config, flagOf, loadConfig, SETTINGS, variableOf } from '../src/config.js';
import type { FindBrokenConstraint } from '../src/config-constraints.js';

export type SettingKey = keyof typeof SETTINGS;

/** Values of the given flags as text, by setting. */
export type SettingsFlags = Partial<Record<SettingKey, string>>;

export const ALL_SETTINGS = Object.keys(SETTINGS) as readonly SettingKey[];

/** The location of the database: commands next to a running service need no other settings. */
export const DATABASE_SETTINGS: readonly SettingKey[] = ['dataDir', 'databaseUrl'];

/** Descriptions of settings that have another meaning for a sub-command than for the service. */
export type OtherMeanings = Readonly<Partial<Record<SettingKey, string>>>;

function describe(key: SettingKey, about: string): string {
  const fallback: unknown = SETTINGS[key].schema.safeParse(undefined).data;
  const shown = fallback === undefined ? '' : `default ${fallback}; `;
  return `${about} (${shown}${variableOf(key)})`;
}

/** Adds a flag for each of `keys`; its help names the unit, the default and the environment variable. */
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

/** Flags take precedence over the environment, and the environment over the defaults. @throws ConfigError */
export function configOf(flags: SettingsFlags, findBrokenConstraint?: FindBrokenConstraint): Config {
  const given = ALL_SETTINGS.filter((key) => flags[key] !== undefined).map((key) => [key, flags[key]]);
  return loadConfig(Object.fromEntries(given), undefined, findBrokenConstraint);
}
