// The version of the product and its supported versions of Node, from package.json.
import { readFileSync } from 'node:fs';

// The same file for src/ and for the compiled dist/src/.
const candidates = ['../package.json', '../../package.json'].map((path) => new URL(path, import.meta.url));

/** The text at `name` in a parsed file; undefined without it. */
function textAt(read: unknown, name: string): string | undefined {
  const found: unknown = read !== null && typeof read === 'object' ? Reflect.get(read, name) : undefined;
  return typeof found === 'string' ? found : undefined;
}

function readVersions(): { readonly version: string; readonly node: string } {
  for (const url of candidates) {
    try {
      const read: unknown = JSON.parse(readFileSync(url, 'utf8'));
      const engines: unknown = Object(read).engines;
      const [version, node] = [textAt(read, 'version'), textAt(engines, 'node')];
      if (version !== undefined && node !== undefined) return { version, node };
    } catch {
      // The other place is tried; both missing means a broken installation.
    }
  }
  throw new Error('package.json was not found beside the installed service');
}

const versions = readVersions();

export const VERSION = versions.version;
/** As npm writes them. */
export const NODE_VERSIONS = versions.node;
