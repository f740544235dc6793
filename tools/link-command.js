// Links `node_modules/.bin/headroom`, so that `npx headroom` in this checkout starts the checkout's own command. Without the link
// npx installs and builds the whole folder a second time, and keeps a broken copy where that is interrupted.
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'node_modules/.bin');
const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
mkdirSync(folder, { recursive: true });
for (const [name, target] of Object.entries(bin)) {
  const link = join(folder, name);
  rmSync(link, { force: true });
  symlinkSync(relative(folder, join(root, target)), link);
}
