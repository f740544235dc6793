// Descriptions of the scopes for the person who grants them.
import type { Scope } from '../../machines/values/scopes.js';

const WORDS: Readonly<Record<Scope, string>> = {
  'locations:read': 'Read locations, live values, history and alarms',
  'locations:write': 'Set and cancel limits of locations, acknowledge and mute alarms',
  'clusters:read': 'Read clusters',
  'clusters:write': 'Create, change and schedule clusters',
  'chargers:write': 'Lock and unlock connectors',
  'org:write': 'Read and record limits of the organization',
  'operator:write': 'Act as the grid operator',
  'meter:write': 'Report as the meter of a location',
  'credentials:write': 'Create and end credentials, webhooks and mails',
};

/** Undefined for a scope of a newer service. */
export function scopeWords(scope: string): string | undefined {
  return Object.entries(WORDS).find(([name]) => name === scope)?.[1];
}
