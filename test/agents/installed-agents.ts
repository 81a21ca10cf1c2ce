import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The agents by their pinned packages; each brings a program for every system in a package of its own. */
const AGENTS = {
  claude: {
    package: '@anthropic-ai/claude-code',
    version: '2.1.330',
    program: `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  },
  codex: {
    package: '@openai/codex',
    version: '0.169.0',
    program: `@openai/codex-${process.platform}-${process.arch}/vendor/${codexTarget()}/bin/codex`,
  },
} as const;

export type InstalledAgents = Readonly<Record<keyof typeof AGENTS, string>>;

const INSTALL_TIMEOUT_MS = 180_000;

/** npm could not install them, for instance behind a mirror that has not got them: nothing is known of the agents then. */
export class AgentsNotInstalled extends Error {
  override readonly name = 'AgentsNotInstalled';
}

/**
 * Paths of the agents' programs, from the user's cache or npm's registry; neither the lock file nor the repository knows them.
 * Throws {@link AgentsNotInstalled}.
 */
export async function installAgents(environment: NodeJS.ProcessEnv): Promise<InstalledAgents> {
  const userCache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  const packages = Object.values(AGENTS).map((agent) => `${agent.package}@${agent.version}`);
  const folder = join(userCache, 'tollgate', 'agents', packages.join('+').replaceAll('/', '-'));
  const programs = programsIn(folder);
  if (!Object.values(programs).every((path) => existsSync(path))) {
    await installInto(folder, packages);
  }
  return programs;
}

/** Codex names the systems as Rust does. */
function codexTarget(): string {
  const processor = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  return `${processor}-${process.platform === 'darwin' ? 'apple-darwin' : 'unknown-linux-musl'}`;
}

function programsIn(folder: string): InstalledAgents {
  const entries = Object.entries(AGENTS).map(([name, { program }]) => [
    name,
    join(folder, 'node_modules', program),
  ]);
  return Object.fromEntries(entries) as InstalledAgents;
}

/** Under another name first: a half-made folder is never taken for a whole one. */
async function installInto(folder: string, packages: readonly string[]): Promise<void> {
  const partial = `${folder}.${process.pid}`;
  await mkdir(partial, { recursive: true });
  try {
    const quiet = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error'];
    await run('npm', ['install', '--prefix', partial, ...quiet, ...packages], {
      timeout: INSTALL_TIMEOUT_MS,
    });
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    const text = (error as { stderr?: string }).stderr || String(error);
    throw new AgentsNotInstalled(`npm cannot install ${packages.join(' and ')}: ${text.slice(0, 300)}`, {
      cause: error,
    });
  }
  await rm(folder, { recursive: true, force: true });
  await rename(partial, folder);
}
