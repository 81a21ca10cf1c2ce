import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * Lets the entry file of a package return the copy that the worker has loaded outside of the sandboxes of its test files (environment.js).
 * Each test file would otherwise load, compile and run the package again: half of what it costs to load the application. Where there is no
 * sandbox, as in Jest's global setup, the file stays what it is. Jest reads the names of a CommonJS file's exports from its text.
 */
export default {
  process(source, path) {
    if (path.includes('/esm/')) {
      return { code: exportsOf(path.replace('/esm/', '/cjs/')) };
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
  const shared = `const shared = sharedPackage(${JSON.stringify(twin)});`;
  return `${shared}\nexport default shared.default;\nexport const { ${names.join(', ')} } = shared;\n`;
}
