/**
 * Lets the entry file of a package return the copy that the worker has loaded outside of the sandboxes of its test files (environment.js).
 * Each test file would otherwise load, compile and run the package again: half of what it costs to load the application. Where there is no
 * sandbox, as in Jest's global setup, the file stays what it is. Jest reads the names of its exports from its text.
 */
export default {
  process(source, path) {
    const shared = `sharedPackage(${JSON.stringify(path)})`;
    return {
      code: `if (typeof sharedPackage === 'function') return void (module.exports = ${shared});\n${source}`,
    };
  },
};
