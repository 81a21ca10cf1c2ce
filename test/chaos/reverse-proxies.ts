import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { runCommand } from '../../ops/embedded/run-command.ts';
import { ROOT } from '../deployment/compose-file.ts';
import { startNginx } from '../deployment/nginx.ts';
import { eventually } from '../factories/eventually.ts';
import { type DebianProgram, findProgram } from '../setup/debian-program.ts';
import type { ChaosStack } from './stack.ts';

export interface RunningProxy {
  readonly url: string;
  /** The version it reports. */
  readonly version: string;
  stop(): Promise<void>;
}

/** A reverse proxy, run with the configuration file that we ship for it. */
export interface ReverseProxy {
  readonly name: string;
  /** Throws an Error when the proxy is not available. */
  find(): Promise<DebianProgram>;
  /** Starts the proxy in front of three API processes, with its own files in `folder`. */
  start(
    program: DebianProgram,
    stack: Pick<ChaosStack, 'urls' | 'sockets'>,
    folder: string,
  ): Promise<RunningProxy>;
}

export const nginx: ReverseProxy = {
  name: 'nginx',
  find: () => findProgram('nginx', 'usr/sbin/nginx', '-v'),
  async start(program, { sockets }) {
    const port = await choosePort();
    const { stop } = await startNginx(port, sockets);
    return { url: urlOf(port), version: await versionOf(program, '-v'), stop };
  },
};

export const haproxy: ReverseProxy = {
  name: 'HAProxy',
  find: () => findProgram('haproxy', 'usr/sbin/haproxy', '-v'),
  async start(program, stack, folder) {
    const port = await choosePort();
    const file = shipped('haproxy/haproxy.cfg', folder, stack, [['bind :80', `bind 127.0.0.1:${port}`]]);
    return await run(program, ['-db', '-f', file], { port, folder, versionBy: '-v' });
  },
};

export const caddy: ReverseProxy = {
  name: 'Caddy',
  find: () => findProgram('caddy', 'usr/bin/caddy', 'version'),
  async start(program, stack, folder) {
    const port = await choosePort();
    const file = shipped('caddy/Caddyfile', folder, stack, [
      ['{\n\tservers', '{\n\tadmin off\n\tservers'],
      [':80 {', `http://127.0.0.1:${port} {`],
    ]);
    const options = { port, folder, versionBy: 'version' };
    return await run(program, ['run', '--config', file, '--adapter', 'caddyfile'], options);
  },
};

export const traefik: ReverseProxy = {
  name: 'Traefik',
  find: () => findOnPath('traefik', 'version'),
  async start(program, stack, folder) {
    const port = await choosePort();
    const routes = shipped('traefik/tollgate.yaml', folder, stack, []);
    const file = shipped('traefik/traefik.yaml', folder, stack, [
      ['":80"', `"127.0.0.1:${port}"`],
      ['/etc/traefik/tollgate.yaml', routes],
    ]);
    return await run(program, [`--configFile=${file}`], { port, folder, versionBy: 'version' });
  },
};

export const envoy: ReverseProxy = {
  name: 'Envoy',
  find: () => findOnPath('envoy', '--version'),
  async start(program, stack, folder) {
    const port = await choosePort();
    const file = shipped('envoy/envoy.yaml', folder, stack, [
      ['address: 0.0.0.0, port_value: 80 }', `address: 127.0.0.1, port_value: ${port} }`],
    ]);
    const options = ['-c', file, '--use-dynamic-base-id', '--concurrency', '2', '--log-level', 'warn'];
    return await run(program, options, { port, folder, versionBy: '--version' });
  },
};

/** Finds a program that Debian does not package. */
async function findOnPath(name: string, version: string): Promise<DebianProgram> {
  const program = { command: name, environment: { PATH: process.env.PATH ?? '' } };
  await versionOf(program, version).catch((error: unknown) => {
    throw new Error(`${name} is not on PATH`, { cause: error });
  });
  return program;
}

/** Returns the first version number that the program prints. */
async function versionOf({ command, environment }: DebianProgram, option: string): Promise<string> {
  const { stdout, stderr } = await runCommand(command, [option], { env: environment, timeoutMs: 10_000 });
  const [version] = /\d+\.\d+(\.\d+)?/.exec(stdout + stderr) ?? [];
  if (version === undefined) {
    throw new Error(`${command} ${option} prints no version`);
  }
  return version;
}

/**
 * Writes our configuration file with other addresses: those of the API processes, and `changes`, each of which must occur in it. Returns
 * its path.
 */
function shipped(
  name: string,
  folder: string,
  { urls }: Pick<ChaosStack, 'urls'>,
  changes: readonly (readonly [string, string])[],
): string {
  const ports = urls.map((url) => new URL(url).port);
  const original = readFileSync(join(ROOT, 'ops', name), 'utf8');
  const withPorts = original.replaceAll(
    /127\.0\.0\.1(:|, port_value: )808([123])/g,
    (_address, between, digit) => `127.0.0.1${between}${ports[Number(digit) - 1]}`,
  );
  const text = changes.reduce((changed, [from, to]) => {
    if (!changed.includes(from)) {
      throw new Error(`ops/${name} does not contain ${from}`);
    }
    return changed.replace(from, to);
  }, withPorts);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name.replace('/', '-'));
  writeFileSync(file, text);
  return file;
}

async function run(
  program: DebianProgram,
  args: readonly string[],
  { port, folder, versionBy }: { port: number; folder: string; versionBy: string },
): Promise<RunningProxy> {
  const log = openSync(join(folder, 'proxy.log'), 'a');
  const child = spawn(program.command, [...args], {
    env: {
      ...program.environment,
      HOME: folder,
      PATH: [program.environment.PATH, process.env.PATH].join(delimiter),
    },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const url = urlOf(port);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
  };
  try {
    // ready only once its health checks have found the processes
    await eventually(async () => (await fetch(`${url}/readyz`)).ok, 30_000, 'an answer through the proxy');
  } catch (error) {
    await stop();
    throw new Error(`its log: ${readFileSync(join(folder, 'proxy.log'), 'utf8').slice(-2_000)}`, {
      cause: error,
    });
  }
  return { url, version: await versionOf(program, versionBy), stop };
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
