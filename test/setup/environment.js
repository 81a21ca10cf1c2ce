import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { types } from 'node:util';
import { TestEnvironment } from 'jest-environment-node';

const require = createRequire(import.meta.url);

/**
 * A Node environment that removes the temporary folders of a test file after its last hook: servers that stop in a hook still write to
 * theirs. Provides the packages that shared-package.js refers to.
 */
export default class Environment extends TestEnvironment {
  async setup() {
    await super.setup();
    this.global.temporaryFolders = [];
    this.global.sharedPackage = (path) => require(path);
    // what shared packages and Node itself create has the classes of the worker, not those of the sandbox
    recognize(this.global.Error, types.isNativeError);
    recognize(this.global.Date, types.isDate);
  }

  async teardown() {
    for (const folder of this.global.temporaryFolders ?? []) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
    await super.teardown();
  }
}

/** Lets `instanceof` with a sandbox's class, but not with its subclasses, also accept objects made outside. */
function recognize(ofSandbox, isOne) {
  const ordinary = Function.prototype[Symbol.hasInstance];
  Object.defineProperty(ofSandbox, Symbol.hasInstance, {
    configurable: true,
    value(object) {
      return ordinary.call(this, object) || (this === ofSandbox && isOne(object));
    },
  });
}
