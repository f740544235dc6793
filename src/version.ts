// The version of the product, as package.json has it.
import { readFileSync } from 'node:fs';

// The same file whether this runs from src/ or, compiled, from dist/src/.
const candidates = ['../package.json', '../../package.json'].map((path) => new URL(path, import.meta.url));

function readVersion(): string {
  for (const url of candidates) {
    try {
      const read: unknown = JSON.parse(readFileSync(url, 'utf8'));
      if (read !== null && typeof read === 'object' && 'version' in read && typeof read.version === 'string')
        return read.version;
    } catch {
      // The other place is tried; both missing means a broken installation.
    }
  }
  throw new Error('package.json was not found beside the installed service');
}

export const VERSION = readVersion();
