import { runCommand } from '../embedded/run-command.ts';

const GIT_TIMEOUT_MS = 60_000;

/** A clone on this machine, accessed through the git command. Every method throws an Error with git's message on failure. */
export class Repository {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Returns the names of changed and untracked files, except ignored ones. */
  async changedFiles(): Promise<string[]> {
    return linesOf(await this.#git('status', '--porcelain')).map((line) => line.slice(3));
  }

  /** Returns the newest release tag (vX.Y.Z) among the ancestors of the last commit; null if there is none. */
  async newestRelease(): Promise<string | null> {
    const options = ['--merged', 'HEAD', '--sort=-version:refname', '--list', 'v[0-9]*.[0-9]*.[0-9]*'];
    return linesOf(await this.#git('tag', ...options)).find((tag) => /^v\d+\.\d+\.\d+$/.test(tag)) ?? null;
  }

  async hasTag(tag: string): Promise<boolean> {
    return (await this.#git('tag', '--list', tag)).trim() !== '';
  }

  /** Returns the names of files below a folder that differ between a commit or tag and the last commit. */
  async filesChangedSince(reference: string, folder: string): Promise<string[]> {
    return linesOf(await this.#git('diff', '--name-only', reference, 'HEAD', '--', folder));
  }

  async commit(files: readonly string[], message: string): Promise<void> {
    await this.#git('add', '--', ...files);
    await this.#git('commit', '--quiet', '--message', message);
  }

  /** Creates an annotated tag at the last commit. */
  async tag(name: string, message: string): Promise<void> {
    await this.#git('tag', '--annotate', name, '--message', message);
  }

  async #git(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand('git', ['-C', this.folder, ...args], {
      env: process.env,
      timeoutMs: GIT_TIMEOUT_MS,
    });
    if (code !== 0) {
      throw new Error(`git ${args[0]}: ${stderr.trim() || stdout.trim()}`);
    }
    return stdout;
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
