// The provisioning file of the demo: it comes with the program, and every secret in it is public.
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** From the built file to the checkout or the package. */
export const DEMO_FILE = fileURLToPath(new URL('../../demo/harbour.yaml', import.meta.url));

/** Whether `file`, which exists, is the demo's own. */
export function isDemoFile(file: string): boolean {
  return realpathSync(file) === realpathSync(DEMO_FILE);
}
