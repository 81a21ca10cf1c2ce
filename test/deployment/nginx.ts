import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tryListen } from '../../ops/embedded/free-port.ts';
import { ROOT } from './compose-file.ts';

const run = promisify(execFile);
const PATHS = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

/** nginx with the configuration of ops/nginx, in front of the given API processes. */
export interface Nginx {
  /** What `nginx -t` says. */
  readonly check: string;
  stop(): Promise<void>;
}

export function hasNginx(): boolean {
  try {
    execFileSync('nginx', ['-v'], { env: { PATH: PATHS }, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Only the addresses and the place of the log are not those of the files. Throws what `nginx -t` objects to. */
export async function startNginx(port: number, urls: readonly string[]): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-nginx-'));
  const server = (await readFile(join(ROOT, 'ops/nginx/tollgate.conf'), 'utf8'))
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replaceAll('/var/log/nginx/', `${folder}/`);
  const upstream = (await readFile(join(ROOT, 'ops/nginx/upstream-host.conf'), 'utf8')).replaceAll(
    /127\.0\.0\.1:808(\d)/g,
    (_address, digit) => new URL(urls[Number(digit) - 1]!).host,
  );
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(' ');
  const main = [
    `pid ${folder}/nginx.pid; error_log ${folder}/error.log; worker_processes 1; daemon off;`,
    process.getuid?.() === 0 ? 'user root;' : '',
    'events { worker_connections 1024; }',
    `http { ${temporary} include ${folder}/tollgate.conf; include ${folder}/upstream.conf; }`,
  ];
  await writeFile(join(folder, 'tollgate.conf'), server);
  await writeFile(join(folder, 'upstream.conf'), upstream);
  await writeFile(join(folder, 'nginx.conf'), main.join('\n'));
  const options = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')];
  const env = { PATH: PATHS };
  const { stderr: check } = await run('nginx', [...options, '-t'], { env });
  const child = spawn('nginx', options, { env, stdio: 'ignore' });
  const gone = once(child, 'exit');
  await untilListening(port, () => child.exitCode !== null);
  return {
    check,
    stop: async () => {
      child.kill('SIGQUIT');
      await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilListening(port: number, hasEnded: () => boolean): Promise<void> {
  // free again = not listening yet
  while ((await tryListen('127.0.0.1', port)) === undefined) {
    if (hasEnded()) {
      throw new Error('nginx ended');
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
