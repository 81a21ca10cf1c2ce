import { relative } from 'node:path';
import type { CatalogModel } from './catalog-file.ts';
import { ADMIN_TOKEN_FILE } from './data-folder.ts';
import type { Terminal } from './terminal.ts';

export type Welcome = {
  /** Address to call, without a trailing slash. */
  url: string;
  /** Folder in which the command was run; paths are shown relative to it. */
  folder: string;
  dataDir: string;
  models: readonly CatalogModel[];
  /** Whether the first start created an account with a key. */
  hasOwnerKey: boolean;
  /** Whether the operator token is the one in the data folder; false when it was given. */
  hasTokenFile: boolean;
  startedInMs: number;
};

const JSON_HEADER = `-H 'content-type: application/json'`;
/** Prints the response and keeps the id, using tools that every system has. */
const TAKE_TASK_ID = `| tee /dev/stderr | sed -E 's/.*"task_id" *: *"([^"]+)".*/\\1/'`;

/** Returns the lines printed once everything is ready: the address, where the keys are, and calls to paste. */
export function welcomeLines(welcome: Welcome, terminal: Pick<Terminal, 'bold' | 'dim'>): string[] {
  const { url, startedInMs } = welcome;
  const path = (name: string) => shortPath(welcome, name);
  const row = (label: string, value: string, remark = '') =>
    `  ${label.padEnd(16)}${remark === '' ? value : `${value.padEnd(19)} ${terminal.dim(remark)}`}`;
  return [
    '',
    `  ${terminal.bold(`Tollgate is ready at ${url}`)}  ${terminal.dim(`(${(startedInMs / 1000).toFixed(1)} s; Ctrl-C stops it)`)}`,
    '',
    row('Reference', `${url}/docs`),
    ...(welcome.hasOwnerKey
      ? [row('Owner key', path('owner.key'), 'calls models, manages the account `default`')]
      : []),
    row(
      'Operator token',
      welcome.hasTokenFile ? path(ADMIN_TOKEN_FILE) : '$ADMIN_TOKEN',
      'for /console/operator and the operator API',
    ),
    row('Logs', path('logs')),
    ...(welcome.hasOwnerKey ? [] : openAccount(welcome, terminal)),
    ...exampleCalls(welcome, terminal),
    '',
  ];
}

/**
 * Returns how to open an account: an external database does not get one automatically, because its contents belong to its owner.
 */
function openAccount(welcome: Welcome, terminal: Pick<Terminal, 'dim'>): string[] {
  const token = welcome.hasTokenFile ? `$(cat ${shortPath(welcome, ADMIN_TOKEN_FILE)})` : '$ADMIN_TOKEN';
  const body = JSON.stringify({ name: 'default', credits: '10.00' });
  return [
    '',
    `  ${terminal.dim('# an account with its owner key, which is shown only once')}`,
    `  curl -s ${welcome.url}/admin/v1/accounts -H "Authorization: Bearer ${token}" ${JSON_HEADER} -d '${body}'; echo`,
  ];
}

function exampleCalls(welcome: Welcome, terminal: Pick<Terminal, 'dim'>): string[] {
  const { url } = welcome;
  const key = welcome.hasOwnerKey ? `$(cat ${shortPath(welcome, 'owner.key')})` : 'sk-tg-v1-…';
  const authorization = `-H "Authorization: Bearer ${key}"`;
  const model = (endpoint: string) =>
    welcome.models.find((candidate) => candidate.endpoints.includes(endpoint))?.id ?? 'your/model';
  const get = (path: string) => `  curl -s "${url}${path}" ${authorization}`;
  const post = (path: string, body: unknown) =>
    `curl -s ${url}${path} ${authorization} ${JSON_HEADER} -d '${JSON.stringify(body)}'`;
  const submit = (path: string, body: unknown) => `  TASK_ID=$(${post(path, body)} ${TAKE_TASK_ID}); echo`;
  const comment = (text: string) => ['', `  ${terminal.dim(`# ${text}`)}`];
  const messages = [{ role: 'user', content: 'Hello' }];
  const image = { prompt: 'a lighthouse at dawn', size: '1024*1024' };
  const size = { width: 1280, height: 720 };
  const video = { model_name: 'video-fast', ...size, seed: -1, steps: 10, prompt: 'waves at night' };
  return [
    ...comment('chat, in the OpenAI dialect'),
    `  ${post('/api/v1/chat/completions', { model: model('chat'), messages })}; echo`,
    ...comment('messages, in the Anthropic dialect'),
    `  ${post('/vendorx/v1/messages', { model: model('messages'), max_tokens: 200, messages })}; echo`,
    ...comment('an image, a video: each returns a task id immediately'),
    submit('/v3/async/image-turbo', image),
    submit('/v3/async/video-fast', video),
    ...comment('the result of the last task, waiting up to 30 s for it'),
    `${get('/v3/async/task-result?task_id=$TASK_ID')} -H 'prefer: wait=30'; echo`,
    ...comment('the remaining credits'),
    `${get('/api/v1/credits')}; echo`,
  ];
}

/** Returns a relative path if that is shorter. It works when pasted into the shell in which the command was run. */
function shortPath(welcome: Welcome, name: string): string {
  const absolute = `${welcome.dataDir}/${name}`;
  const fromFolder = relative(welcome.folder, absolute);
  const shown = fromFolder.startsWith('..') ? absolute : fromFolder;
  return /^[\w./@:-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
