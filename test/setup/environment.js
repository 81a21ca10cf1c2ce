import { rmSync } from 'node:fs';
import { TestEnvironment } from 'jest-environment-node';

/** Node, and the temporary folders of a test file removed after its last hook: servers that stop there still write into theirs. */
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
