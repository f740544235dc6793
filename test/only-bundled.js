// Loaded before all other modules (`node --import …/only-bundled.js`): a bundled module must not be loaded from its
// compiled file.
import { register } from 'node:module';

const hooks = `
  export function load(url, context, next) {
    if (/\\/dist\\/(cli|client|machines|sim|src)\\//.test(url)) throw new Error(url + ' is not bundled');
    return next(url, context);
  }
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
