// Installs packages and builds a fresh clone. Uses only Node's own modules: this runs before anything is installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { buildConsole } from './build-console.mjs';

const NODE_OLDEST = [20, 15];
const SOURCE_FOLDERS = ['src', 'queues', 'workers', 'migrations', 'ops', 'console'];
const BUILD_FILES = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
const STAMP = '.sources';

/** A failed installation. The message is one line that says what is wrong and what to do. */
export class InstallFailure extends Error {}

/** Checks the version of Node. Throws InstallFailure when it is too old. */
export function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < NODE_OLDEST[0] || (major === NODE_OLDEST[0] && minor < NODE_OLDEST[1])) {
    throw new InstallFailure(
      `Node ${process.versions.node} is too old: Tollgate needs ${NODE_OLDEST.join('.')} or newer (nodejs.org).`,
    );
  }
}

/** Shows the progress of one step: an animated line on a terminal, otherwise a plain line at its start and end. */
export async function showStep(label, quick, work) {
  const { stdout } = process;
  const color = stdout.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  const paint = (code, text) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const started = Date.now();
  const seconds = () => ((Date.now() - started) / 1000).toFixed(0);
  let doing = '';
  const draw = () => stdout.write(`\r\u001b[2K  ${paint(2, '⠿')} ${label.padEnd(11)}${doing} ${seconds()} s`);
  const timer = stdout.isTTY ? setInterval(() => doing && draw(), 250) : undefined;
  const update = (text) => {
    doing = text;
    stdout.isTTY ? draw() : stdout.write(`  · ${label.padEnd(11)}${text}\n`);
  };
  try {
    const text = await work(update);
    const took = doing === '' ? '' : ` in ${seconds()} s`;
    if (doing !== '' || !quick) {
      const line = `  ${paint(32, '✓')} ${label.padEnd(11)}${paint(2, text + took)}\n`;
      stdout.write(`${stdout.isTTY ? '\r\u001b[2K' : ''}${line}`);
    }
  } catch (error) {
    stdout.write(
      `${stdout.isTTY ? '\r\u001b[2K' : ''}  ${paint(31, '✗')} ${label.padEnd(11)}${paint(2, 'failed')}\n`,
    );
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/** Installs the locked packages unless node_modules already contains exactly those. Throws InstallFailure. */
export async function ensurePackages(root, update) {
  if (hasLockedPackages(root)) {
    return 'up to date';
  }
  if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) {
    // npm would empty the folder that the link leads to, which may belong to another clone
    throw new InstallFailure(
      'node_modules is a link to a folder that does not contain the packages of package-lock.json: remove the link, or run `npm ci` where it leads.',
    );
  }
  update('installing with npm, about 800 MB, only this once …');
  const npm = process.env.npm_execpath?.endsWith('.js')
    ? [process.execPath, process.env.npm_execpath]
    : ['npm'];
  // No install scripts are needed or run; the development packages include the compiler.
  const flags = ['--ignore-scripts', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  // With npm's default pauses it takes over a minute to report that there is no network.
  const pauses = ['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=8000'];
  const result = await run([...npm, 'ci', ...flags, ...pauses, '--loglevel=error'], root);
  if (result.code !== 0) {
    throw new InstallFailure(explainNpm(result.output));
  }
  return `${countInstalled(root)} packages installed`;
}

/** Compiles to dist/ if the sources have changed since the last build. Throws InstallFailure. */
export async function ensureBuild(root, update) {
  const digest = sourceDigest(root);
  const stamp = join(root, 'dist', STAMP);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) {
    return 'up to date';
  }
  update('compiling …');
  const fresh = join(root, `dist.${process.pid}`);
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    // checking the types, which CI has done, takes three quarters of the time
    const parameters = ['-p', 'tsconfig.build.json', '--noCheck', '--outDir', fresh];
    const result = await run([process.execPath, compiler, ...parameters], root);
    if (result.code !== 0) {
      const first = result.output.split('\n').find((line) => line.includes('error')) ?? result.output;
      throw new InstallFailure(`The sources do not compile: ${first.trim()}`);
    }
    copyOtherFiles(root, fresh);
    await ensureConsole(root, join(fresh, 'console'));
    writeFileSync(join(fresh, STAMP), digest);
    rmSync(join(root, 'dist'), { recursive: true, force: true });
    renameSync(fresh, join(root, 'dist'));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return 'compiled';
}

/** Builds the web console into a folder. Throws InstallFailure. */
export async function ensureConsole(root, folder = join(root, 'dist', 'console')) {
  try {
    await buildConsole(root, folder);
  } catch (error) {
    throw new InstallFailure(`The console does not build: ${String(error.message).slice(0, 300)}`);
  }
  return 'built';
}

/** npm writes node_modules/.package-lock.json last, so an interrupted install is detected, too. */
function hasLockedPackages(root) {
  try {
    const read = (file) => JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
    const [wanted, installed] = [read('package-lock.json'), read('node_modules/.package-lock.json')];
    return Object.entries(wanted).every(
      ([path, entry]) => path === '' || entry.optional || installed[path]?.version === entry.version,
    );
  } catch {
    return false;
  }
}

function countInstalled(root) {
  return Object.keys(JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8')).packages)
    .length;
}

function listFiles(root) {
  return SOURCE_FOLDERS.filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

function sourceDigest(root) {
  const hash = createHash('sha256');
  const sources = listFiles(root).filter((file) => !file.endsWith('.test.ts'));
  for (const file of [...BUILD_FILES.map((name) => join(root, name)), ...sources]) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex');
}

/** Copies files that the compiler does not: SQL, JSON and the like are read from beside the code. */
function copyOtherFiles(root, target) {
  const isCopied = (name) => !name.endsWith('.ts') && !relative(root, name).startsWith('console');
  for (const file of listFiles(root).filter(isCopied)) {
    cpSync(file, join(target, relative(root, file)));
  }
}

function explainNpm(output) {
  const lines = output
    .split('\n')
    .filter((line) => line.startsWith('npm error'))
    .map((line) => line.slice(10).trim());
  const text = lines.find((line) => /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|network/.test(line));
  if (text !== undefined) {
    return `npm cannot reach its registry (${text.slice(0, 120)}). Check the network or proxy and start again.`;
  }
  if (output.includes('spawn npm ENOENT')) {
    return 'npm is not on PATH. Install it (it comes with Node from nodejs.org) and start again.';
  }
  const reason =
    lines.find((line) => line !== '' && !/^(code|errno|syscall|path) /.test(line)) ?? 'see `npm ci`';
  return /ENOSPC/.test(output)
    ? 'The disk is full while installing packages (they need about 800 MB). Free some space and start again.'
    : `npm could not install the packages: ${reason.slice(0, 200)}`;
}

function run([command, ...parameters], cwd) {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(command, parameters, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    const keep = (chunk) => {
      output = (output + chunk).slice(-100_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => resolve({ code: 127, output: `npm error ${error.message}` }));
    // Nothing may keep running in the background after the person has aborted.
    let interrupted = false;
    const interrupt = () => {
      interrupted = true;
      child.kill('SIGTERM');
    };
    process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
    child.on('close', (code) => {
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      if (interrupted) {
        process.exit(130);
      }
      resolve({ code: code ?? 1, output });
    });
  });
}
