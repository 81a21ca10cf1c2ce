import { rmSync } from 'node:fs';
import { TestEnvironment } from 'jest-environment-node';

/**
 * A Node environment that removes the temporary folders of a test file after its last hook: servers that stop in a hook still write to
 * theirs.
 */
export default class Environment extends TestEnvironment {
  async setup() {
    await super.setup();
    this.global.temporaryFolders = [];
  }

  async teardown() {
    for (const folder of this.global.temporaryFolders ?? []) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
    await super.teardown();
  }
}
