import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The folder of a package's ES modules. The repository itself may be in a folder of that name. */
const ES_MODULES = /(\/node_modules\/[^/]+)\/esm\//;
/** Zod has both forms beside each other. */
const ZOD = /(\/node_modules\/zod\/index)\.js$/;

/**
 * Lets the entry file of a package return the copy that the worker has loaded outside of the sandboxes of its test files (environment.js).
 * Each test file would otherwise load, compile and run the package again: half of what it costs to load the application. Where there is no
 * sandbox, as in Jest's global setup, the file stays what it is. Jest reads the names of a CommonJS file's exports from its text.
 */
export default {
  process(source, path) {
    const twin = path.replace(ES_MODULES, '$1/cjs/').replace(ZOD, '$1.cjs');
    if (twin !== path) {
      return { code: exportsOf(twin) };
    }
    const shared = `sharedPackage(${JSON.stringify(path)})`;
    return {
      code: `if (typeof sharedPackage === 'function') return void (module.exports = ${shared});\n${source}`,
    };
  },
};

/** Returns an ES module with the exports of its CommonJS twin. Only test files load ES modules of packages through Jest. */
function exportsOf(twin) {
  const names = Object.keys(require(twin)).filter((name) => name !== 'default');
  // Zod exports names such as `null`
  const named = names.map(
    (name, index) => `const export${index} = shared.${name}; export { export${index} as ${name} };`,
  );
  const shared = `const shared = sharedPackage(${JSON.stringify(twin)});`;
  return [shared, 'export default shared.default;', ...named].join('\n');
}
