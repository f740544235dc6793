// knex looks here before it looks at knexfile.ts, which Node cannot run as it is: this is what that was built to.
import { existsSync } from 'node:fs';

const built = new URL('./dist/knexfile.js', import.meta.url);
if (!existsSync(built)) {
  process.stderr.write('knexfile.ts is not built yet: run "npm run build" first.\n');
  process.exit(1);
}
export default (await import(built.href)).default;
