import { join } from 'node:path';
import { cachedFolder, clientCache, installFromNpm } from '../clients/client-cache.ts';

/** The pinned packages of the agents. Each has a separate package with a program for each system. */
const AGENTS = {
  claude: {
    package: '@anthropic-ai/claude-code',
    version: '2.1.332',
    program: `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  },
  codex: {
    package: '@openai/codex',
    version: '0.171.0',
    program: `@openai/codex-${process.platform}-${process.arch}/vendor/${codexTarget()}/bin/codex`,
  },
} as const;

export type InstalledAgents = Readonly<Record<keyof typeof AGENTS, string>>;

/**
 * Returns the paths of the agents' programs, from the user's cache or npm's registry; they appear in neither the lock file nor the
 * repository. Throws NotInstalled.
 */
export async function installAgents(environment: NodeJS.ProcessEnv): Promise<InstalledAgents> {
  const packages = Object.values(AGENTS).map((agent) => `${agent.package}@${agent.version}`);
  const name = packages.join('+').replaceAll('/', '-');
  const folder = join(clientCache(environment), 'agents', name);
  return programsIn(await cachedFolder(folder, (partial) => installFromNpm(partial, packages)));
}

/** Returns the name of this system as Codex uses it: Rust's target names. */
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
