// The provisioning file of the demo, which is part of the package; all its secrets are public.
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Relative to the built file, in the checkout or the package. */
export const DEMO_FILE = fileURLToPath(new URL('../../cli/demo/harbour.yaml', import.meta.url));

/** `file` must exist. */
export function isDemoFile(file: string): boolean {
  return realpathSync(file) === realpathSync(DEMO_FILE);
}
