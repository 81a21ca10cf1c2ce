import { cpSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { hasProgram } from '../../ops/embedded/private-apt.ts';
import { runCommand, whyNotRunning } from '../../ops/embedded/run-command.ts';

/** A minimal Debian in a folder, with Node, an ordinary user, and nothing else that a test could find. */
export interface DebianRoot {
  readonly folder: string;
  /** The user's home folder, as seen from inside. */
  readonly home: string;
  /** The environment inside. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Debian's code names of the supported releases. */
export const RELEASES: Readonly<Record<string, string>> = { 12: 'bookworm', 13: 'trixie' };

const MIRROR = 'http://deb.debian.org/debian';
/** Not on the PATH of an ordinary user. */
const CHROOT = '/usr/sbin/chroot';
const USER = 'visitor';
const CERTIFICATES = '/etc/node-certificates.pem';
const BOOTSTRAP_TIMEOUT_MS = 900_000;
/** Settings for package downloads, which a machine behind a proxy needs. None of them provides a library. */
const NETWORK = ['http_proxy', 'https_proxy', 'no_proxy', 'npm_config_registry'];

/** Returns why no root can be created here; undefined when one can. */
export async function whyNoRoot(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    return 'it needs Linux and root, for chroot and mounts';
  }
  for (const program of ['debootstrap', 'unshare', CHROOT, 'git']) {
    if (!(await hasProgram(program))) {
      return `${program} is missing: apt-get install debootstrap util-linux coreutils git`;
    }
  }
  return undefined;
}

/**
 * Prepares the root of a release in the per-user cache (200 MB, created the first time), with this Node and a new home with empty caches.
 * Throws an Error that says what went wrong.
 */
export async function prepareRoot(release: string, environment: NodeJS.ProcessEnv): Promise<DebianRoot> {
  const cache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  const folder = join(cache, 'tollgate', 'bare', `debian-${release}`);
  if (!existsSync(folder)) {
    await bootstrap(folder, RELEASES[release]!);
  }
  installNode(folder);
  cpSync('/etc/resolv.conf', join(folder, 'etc/resolv.conf'), { dereference: true });
  writeFileSync(join(folder, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n');
  const inside = insideEnvironment(folder, environment);
  const home = await newHome(folder);
  const problem = await whyNotRunning(CHROOT, [folder, '/usr/local/bin/npm', '--version'], {
    env: inside,
    timeoutMs: 60_000,
  });
  if (problem !== undefined) {
    throw new Error(
      `Node ${process.versions.node} of this machine does not run in a minimal Debian ${release} (${problem}). Use a build from nodejs.org.`,
    );
  }
  return { folder, home, environment: { ...inside, HOME: home, USER } };
}

async function bootstrap(folder: string, suite: string): Promise<void> {
  const work = `${folder}.${process.pid}`;
  mkdirSync(dirname(folder), { recursive: true });
  try {
    const parameters = ['--variant=minbase', suite, work, MIRROR];
    const result = await runCommand('debootstrap', parameters, { timeoutMs: BOOTSTRAP_TIMEOUT_MS });
    if (result.code !== 0) {
      throw new Error(`debootstrap failed: ${`${result.stdout}\n${result.stderr}`.trim().slice(-1_000)}`);
    }
    renameSync(work, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Copies Node and npm below /usr/local, laid out as in an archive from nodejs.org. */
function installNode(folder: string): void {
  const local = join(folder, 'usr/local');
  const npm = realpathSync(join(dirname(process.execPath), 'npm'));
  const npmFolder = dirname(dirname(npm));
  cpSync(realpathSync(process.execPath), join(local, 'bin/node'));
  const npmInside = join(local, 'lib/node_modules/npm');
  rmSync(npmInside, { recursive: true, force: true });
  cpSync(npmFolder, npmInside, { recursive: true, verbatimSymlinks: true });
  writeFileSync(
    join(local, 'bin/npm'),
    '#!/bin/sh\nexec /usr/local/bin/node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n',
    { mode: 0o755 },
  );
}

function insideEnvironment(folder: string, environment: NodeJS.ProcessEnv): Record<string, string> {
  const inside: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' };
  for (const name of NETWORK) {
    const value = environment[name];
    if (value !== undefined) {
      inside[name] = value;
    }
  }
  if (environment.NODE_EXTRA_CA_CERTS) {
    cpSync(environment.NODE_EXTRA_CA_CERTS, join(folder, CERTIFICATES), { dereference: true });
    inside.NODE_EXTRA_CA_CERTS = CERTIFICATES;
  }
  return inside;
}

async function newHome(folder: string): Promise<string> {
  const home = `/home/${USER}`;
  rmSync(join(folder, home), { recursive: true, force: true });
  rmSync(join(folder, 'tmp'), { recursive: true, force: true });
  mkdirSync(join(folder, 'tmp'));
  const script = `chmod 1777 /tmp; id ${USER} >/dev/null 2>&1 || useradd ${USER}; mkdir -p ${home}; chown ${USER}: ${home}`;
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
  const result = await runCommand(CHROOT, [folder, '/bin/sh', '-ec', script], { env, timeoutMs: 30_000 });
  if (result.code !== 0) {
    throw new Error(`could not create a user in ${folder}: ${result.stderr.trim()}`);
  }
  return home;
}

/** Returns the command that runs `script` inside as the ordinary user, with mounts and processes that end with it. */
export function insideCommand(root: DebianRoot, script: string): readonly [string, readonly string[]] {
  const mounts = [
    `mount -t proc proc '${root.folder}/proc'`,
    `mount --rbind /dev '${root.folder}/dev'`,
    `mount -t tmpfs -o mode=1777 tmpfs '${root.folder}/dev/shm'`,
    `exec ${CHROOT} --userspec=${USER}:${USER} '${root.folder}' /bin/sh -c "$0"`,
  ].join(' && ');
  // The kernel ends every process of the namespace when its first one ends.
  return ['unshare', ['--mount', '--pid', '--fork', '--kill-child', '/bin/sh', '-c', mounts, script]];
}
