// knex reads this file before knexfile.ts, which Node cannot run. This file loads its compiled form.
import { existsSync } from 'node:fs';

const built = new URL('./dist/knexfile.js', import.meta.url);
if (!existsSync(built)) {
  process.stderr.write('knexfile.ts is not built yet: run "npm run build" first.\n');
  process.exit(1);
}
export default (await import(built.href)).default;
