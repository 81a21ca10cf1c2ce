import { join } from 'node:path';
import { cachedFolder, clientCache, installFromNpm } from '../clients/client-cache.ts';

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

/**
 * Paths of the agents' programs, from the user's cache or npm's registry; neither the lock file nor the repository knows them.
 * Throws NotInstalled.
 */
export async function installAgents(environment: NodeJS.ProcessEnv): Promise<InstalledAgents> {
  const packages = Object.values(AGENTS).map((agent) => `${agent.package}@${agent.version}`);
  const name = packages.join('+').replaceAll('/', '-');
  const folder = join(clientCache(environment), 'agents', name);
  return programsIn(await cachedFolder(folder, (partial) => installFromNpm(partial, packages)));
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
