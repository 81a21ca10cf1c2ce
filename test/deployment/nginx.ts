import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tryListen } from '../../ops/embedded/free-port.ts';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';
import { libraryPath, unpackedPackages } from '../setup/debian-packages.ts';
import { ROOT } from './compose-file.ts';

const run = promisify(execFile);
const PATHS = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

/** nginx with the configuration of ops/nginx, in front of the given API processes. */
export interface Nginx {
  /** Output of `nginx -t`. */
  readonly check: string;
  /** Returns the errors it has logged so far. */
  errors(): Promise<string>;
  stop(): Promise<void>;
}

/** How to run nginx. */
interface NginxProgram {
  readonly command: string;
  readonly environment: Record<string, string>;
}

/** Finds the nginx of this system, or Debian's package unpacked into the per-user cache. Throws an Error when there is neither. */
export async function findNginx(environment: NodeJS.ProcessEnv): Promise<NginxProgram> {
  const installed = { command: 'nginx', environment: { PATH: PATHS } };
  if ((await whyNot(installed)) === undefined) {
    return installed;
  }
  const programIn = (folder: string) => ({
    command: join(folder, 'usr', 'sbin', 'nginx'),
    environment: { PATH: PATHS, LD_LIBRARY_PATH: libraryPath(folder) },
  });
  const choice = {
    name: 'nginx',
    packages: ['nginx'],
    whyNot: (folder: string) => whyNot(programIn(folder)),
  };
  return programIn(await unpackedPackages(choice, environment));
}

function whyNot({ command, environment }: NginxProgram): Promise<string | undefined> {
  return whyNotRunning(command, ['-v'], { env: environment, timeoutMs: 10_000 });
}

/**
 * Starts nginx with ops/nginx, changing only the addresses and the folders of its own files. `targets` are three addresses of API
 * processes: `http://…` or socket paths. Throws the errors of `nginx -t`.
 */
export async function startNginx(port: number, targets: readonly string[]): Promise<Nginx> {
  const { command, environment: env } = await findNginx(process.env);
  const folder = ownTemporaryFolder('nginx');
  const server = (await readFile(join(ROOT, 'ops/nginx/tollgate.conf'), 'utf8'))
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replaceAll('/var/log/nginx/', `${folder}/`);
  const upstream = (await readFile(join(ROOT, 'ops/nginx/upstream-host.conf'), 'utf8')).replaceAll(
    /unix:\/run\/tollgate-api-808(\d)\/api\.sock/g,
    (_address, digit) => addressOf(targets[Number(digit) - 1]!),
  );
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(' ');
  const main = (await readFile(join(ROOT, 'ops/nginx/nginx.conf'), 'utf8'))
    .replace('/run/nginx.pid', `${folder}/nginx.pid`)
    .replace('/var/log/nginx/', `${folder}/`)
    .replace('include /etc/nginx/conf.d/*.conf;', `${temporary} include ${folder}/conf.d/*.conf;`);
  await mkdir(join(folder, 'conf.d'));
  await writeFile(join(folder, 'conf.d', 'tollgate.conf'), server);
  await writeFile(join(folder, 'conf.d', 'upstream.conf'), upstream);
  await writeFile(join(folder, 'nginx.conf'), main);
  const directives = `daemon off;${process.getuid?.() === 0 ? ' user root;' : ''}`;
  const options = [
    ...['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')],
    ...['-g', directives],
  ];
  const { stderr: check } = await run(command, [...options, '-t'], { env });
  const child = spawn(command, options, { env, stdio: 'ignore' });
  const gone = once(child, 'exit');
  await untilListening(port, () => child.exitCode !== null);
  return {
    check,
    errors: () => readFile(join(folder, 'error.log'), 'utf8'),
    stop: async () => {
      child.kill('SIGQUIT');
      await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function addressOf(target: string): string {
  return target.startsWith('/') ? `unix:${target}` : new URL(target).host;
}

async function untilListening(port: number, hasEnded: () => boolean): Promise<void> {
  // while the port is free, nginx is not listening yet
  while ((await tryListen('127.0.0.1', port)) === undefined) {
    if (hasEnded()) {
      throw new Error('nginx ended');
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
