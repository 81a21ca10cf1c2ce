import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { runCommand } from '../../ops/embedded/run-command.ts';
import { type DebianRoot, insideCommand, prepareRoot, RELEASES, whyNoRoot } from './debian-root.ts';

/**
 * `npm run test:bare [-- 12] [-- test/…]`: runs the README's two commands on pristine machines: minimal Debian roots (debootstrap) with
 * Node and a clone of HEAD, an ordinary user and empty caches. Needs root. Arguments select releases and test paths. Prints a line per
 * command; exit code 1 when one fails.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CLONE = 'tollgate';
const START_TIMEOUT_MS = 600_000;
const TASK_TIMEOUT_MS = 180_000;
const TEST_TIMEOUT_MS = 3 * 3_600_000;
const STOP_TIMEOUT_MS = 60_000;
const UNENDING = 'did not exit';
/** npm's own exit code after Ctrl-C, whatever the program's exit code was. */
const NPM_INTERRUPTED = 130;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(130));
}
const releases = process.argv.slice(2).filter((argument) => argument in RELEASES);
const tests = process.argv.slice(2).filter((argument) => !(argument in RELEASES));
const problem = await whyNoRoot();
if (problem !== undefined) {
  process.stderr.write(`test:bare cannot run here: ${problem}\n`);
  process.exit(2);
}
for (const release of releases.length > 0 ? releases : Object.keys(RELEASES)) {
  try {
    process.stdout.write(`Debian ${release}, Node ${process.versions.node}: ${await tryRelease(release)}\n`);
  } catch (error) {
    process.stdout.write(`Debian ${release}: FAILED, ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}

async function tryRelease(release: string): Promise<string> {
  const root = await prepareRoot(release, process.env);
  const log = `${root.folder}.log`;
  rmSync(log, { force: true });
  process.stdout.write(`Debian ${release}: all output goes to ${log}\n`);
  await cloneInto(root);
  process.stdout.write(`Debian ${release}: npm start ${await tryStart(root, log)}\n`);
  return `npm test ${await tryTests(root, log)}`;
}

/** Clones the newest commit, as a newcomer would. */
async function cloneInto(root: DebianRoot): Promise<void> {
  const target = join(root.folder, root.home, CLONE);
  const clone = ['clone', '--quiet', '--no-hardlinks', '--depth=1', `file://${ROOT}`, target];
  const owner = ['--reference', join(root.folder, root.home), '-R', target];
  for (const [program, parameters] of [['git', clone] as const, ['chown', owner] as const]) {
    const { code, stderr } = await runCommand(program, parameters, { timeoutMs: 120_000 });
    if (code !== 0) {
      throw new Error(`${program}: ${stderr.trim()}`);
    }
  }
}

/** Starts the service, requests a chat answer and a video, and interrupts the service. */
async function tryStart(root: DebianRoot, log: string): Promise<string> {
  const port = await choosePort();
  const startedAtMs = Date.now();
  const command = inside(root, `env PORT=${port} npm start`, log);
  try {
    await command.printed(/Tollgate is ready at/, START_TIMEOUT_MS);
    const seconds = secondsSince(startedAtMs);
    const read = await runCommand('cat', [join(root.folder, root.home, CLONE, '.data/owner.key')], {
      timeoutMs: 5_000,
    });
    const url = `http://127.0.0.1:${port}`;
    const key = read.stdout.trim();
    await call(url, key, '/api/v1/chat/completions', {
      model: 'tollgate/small',
      messages: [{ role: 'user', content: 'Say hello.' }],
    });
    const video = await call(url, key, '/v3/async/video-fast', {
      model_name: 'video-fast',
      prompt: 'slow waves at night',
      width: 1280,
      height: 720,
      seed: 7,
      steps: 4,
    });
    await untilMade(url, key, (video as { task_id: string }).task_id);
    const code = await command.stop();
    if (![0, NPM_INTERRUPTED].includes(code)) {
      throw new Error(`Ctrl-C ended it with code ${code}; see ${log}`);
    }
    return `ready in ${seconds} s, answered a chat, made a video, stopped on Ctrl-C`;
  } finally {
    await command.stop();
  }
}

async function untilMade(url: string, key: string, id: string): Promise<void> {
  const deadline = Date.now() + TASK_TIMEOUT_MS;
  for (;;) {
    const result = await call(url, key, `/v3/async/task-result?task_id=${id}`);
    const { status, reason } = (result as { task: { status: string; reason: string } }).task;
    if (status === 'TASK_STATUS_SUCCEED') {
      return;
    }
    if (status === 'TASK_STATUS_FAILED' || Date.now() > deadline) {
      throw new Error(`the video is ${status} ${reason}`);
    }
  }
}

async function call(url: string, key: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'wait=20' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${path}: ${response.status} ${text}`);
  }
  return JSON.parse(text);
}

async function tryTests(root: DebianRoot, log: string): Promise<string> {
  const startedAtMs = Date.now();
  const command = inside(root, ['npm test', ...(tests.length > 0 ? ['--', ...tests] : [])].join(' '), log);
  const code = await command.ended(TEST_TIMEOUT_MS);
  const counts = /^\d+ passed, \d+ failed.*$/m.exec(command.output())?.[0] ?? 'no count was printed';
  const result = `${counts}, in ${secondsSince(startedAtMs)} s`;
  if (code !== 0 || command.output().includes(UNENDING)) {
    throw new Error(`npm test ended with code ${code}: ${result}; see ${log}`);
  }
  return result;
}

function secondsSince(startedAtMs: number): string {
  return ((Date.now() - startedAtMs) / 1_000).toFixed(0);
}

/** A running command in the clone inside the root. */
interface InsideCommand {
  /** The last 200,000 characters of output. */
  output(): string;
  /** Waits until it has printed this. Throws when it ends or the time is over first. */
  printed(text: RegExp, timeoutMs: number): Promise<void>;
  /** Resolves to its exit code; kills it when the time is over. */
  ended(timeoutMs: number): Promise<number>;
  /** Sends Ctrl-C and resolves to its exit code. */
  stop(): Promise<number>;
}

function inside(root: DebianRoot, line: string, log: string): InsideCommand {
  // The shell remains as the first process, which must reap orphans: a dead process would otherwise look alive.
  const [program, parameters] = insideCommand(root, `cd ${root.home}/${CLONE} && ${line}; exit $?`);
  const child = spawn(program, parameters, {
    env: root.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const signal = (name: NodeJS.Signals) =>
    child.exitCode === null && child.pid && process.kill(-child.pid, name);
  const killAtExit = () => signal('SIGKILL');
  process.once('exit', killAtExit);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      appendFileSync(log, chunk);
      text = (text + chunk.toString()).slice(-200_000);
    });
  }
  const exit = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  void exit.then(() => process.off('exit', killAtExit));
  const ended = async (timeoutMs: number) => {
    const timer = setTimeout(() => signal('SIGKILL'), timeoutMs);
    const code = await exit;
    clearTimeout(timer);
    return code;
  };
  return {
    output: () => text,
    printed: (wanted, timeoutMs) => printed(child, () => wanted.test(text), timeoutMs, log),
    ended,
    // signals the whole group, as a terminal does
    stop: async () => {
      signal('SIGINT');
      return await ended(STOP_TIMEOUT_MS);
    },
  };
}

async function printed(
  child: ChildProcess,
  isThere: () => boolean,
  timeoutMs: number,
  log: string,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!isThere()) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`npm start ${child.exitCode === null ? 'takes too long' : 'ended'}; see ${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
