// Loaded before everything else (`node --import …/only-bundled.js`): what the build has bundled is not taken from the compiled files.
import { register } from 'node:module';

const hooks = `
  export function load(url, context, next) {
    if (/\\/dist\\/(cli|machines|sim|src)\\//.test(url)) throw new Error(url + ' is not bundled');
    return next(url, context);
  }
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
