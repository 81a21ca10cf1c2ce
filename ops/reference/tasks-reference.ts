import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markdownTable } from './schema-table.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['src/engines', 'src/tasks', 'src/media'];

/** What a code of a failed task means, and who can do something about it. */
const MEANINGS: Readonly<Record<string, readonly [meaning: string, then: string]>> = {
  content_refused: ['the engine refused the content', 'change the prompt'],
  deadline_exceeded: [
    'not finished in time: an image 1 h after its order, a video 6 h',
    'order again; operator: more slots',
  ],
  engine_busy: ['the built-in engine has too many runs', 'order again'],
  engine_not_running: ["the engine's server does not run on that host", 'operator: its log'],
  engine_timeout: ['one run took too long', 'order again; operator: a faster engine'],
  internal_error: ['a bug of the service', 'send the operator the id of the task'],
  media_corrupt: ['the file cannot be decoded', 'order again'],
  media_pixel_limit: ['more pixels than the order explains', 'operator: the workflow'],
  media_size_mismatch: ['clearly smaller than ordered', 'operator: the workflow, `sizes`'],
  media_too_large: ['above 32 MB (image) or 512 MB (video)', 'operator: the workflow'],
  media_too_long: ['longer than a video may be', 'operator: the workflow'],
  media_tool_failed: ['ffmpeg or sharp failed', 'order again'],
  media_tool_missing: ['ffmpeg is not there', 'operator: `FFMPEG_PATH`'],
  media_tool_stalled: ['ffmpeg stood still', 'order again'],
  media_tool_timeout: ['ffmpeg took too long', 'order again'],
  media_type_refused: ['not the type that was ordered', 'operator: the workflow'],
  no_output: ['the engine ended without a file', 'operator: the workflow'],
  out_of_memory: ['the engine ran out of memory', 'a smaller size'],
  output_refused: ['the file lies where we do not fetch from', 'operator: `private_downloads`'],
  output_too_large: ['above 32 MB (image) or 512 MB (video)', 'operator: the workflow'],
  output_unavailable: ['the file could not be fetched', 'order again'],
  render_failed: ['the built-in engine could not draw it', 'order again'],
  run_lost: ['the engine forgot the run, e.g. by a restart', 'order again'],
  run_not_found: ['the engine does not know the run yet', 'order again'],
  storage_unavailable: ['our storage was away until the deadline', 'order again'],
  submit_unconfirmed: [
    'whether a billing engine took the order is unknown; it is not sent twice',
    'order again',
  ],
  task_canceled: ['canceled by its owner', ''],
  unknown_workflow: ['the workflow is not in the catalog any more', 'operator: the route'],
  unsupported_size: ['the engine has no size that covers it', 'another size'],
  upstream_busy: ['the engine asks to come back later', 'order again'],
  upstream_canceled: ['the run was canceled at the engine itself', 'order again'],
  upstream_error: ['the engine failed', 'order again'],
  upstream_interrupted: ['the connection to the engine broke', 'order again'],
  upstream_malformed: ['the engine sent an unreadable answer', 'operator: its version'],
  upstream_misconfigured: [
    'the engine rejects our key or our path',
    'operator: `api_key`, `base_url`, `model`',
  ],
  upstream_rate_limited: ['the engine takes no more work', 'order again'],
  upstream_rejected: ['the engine rejected the request', 'change size, steps or length'],
  upstream_timeout: ['the engine did not answer in time', 'order again'],
  upstream_unavailable: ['the engine or its files stayed away', 'order again'],
  upstream_unreachable: ['no connection to the engine', 'operator: `base_url`, network'],
};

const HEAD = `# Tasks that fail

\`npm run generate\` writes this page from the codes in the code. **A failed or canceled task costs nothing.** Its \`reason\` in
\`/v3/async/task-result\` begins with the code in upper case, \`error.code\` of \`/api/v1/tasks/{id}\` is the code. What may pass by itself is tried
again before a task fails: up to five times, with 0.5 to 8 s between, and without a limit but the deadline where an engine only asks to wait.

`;

/** Every code that a failed task can have, as the code says them. */
export function taskFailureCodes(): string[] {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
  );
  const found = files.flatMap((text) =>
    [...text.matchAll(/(?:\bcode: |MediaError\(\s*)'([a-z_]+)'/g)].map(([, code = '']) => code),
  );
  return [...new Set(found)].filter((code) => code !== 'custom').toSorted();
}

/** The codes of failed tasks as a page of the docs. Throws for a code that nobody has explained, or that is gone. */
export function tasksReference(): string {
  const codes = taskFailureCodes();
  const unlike = [
    ...codes.filter((code) => !(code in MEANINGS)),
    ...Object.keys(MEANINGS).filter((code) => !codes.includes(code)),
  ];
  if (unlike.length > 0) {
    throw new Error(`ops/reference/tasks-reference.ts: in the code or here alone: ${unlike.join(', ')}`);
  }
  const rows = codes.map((code) => [`\`${code}\``, ...(MEANINGS[code] ?? [])]);
  return `${HEAD}${markdownTable(['Code', 'What happened', 'What to do'], rows)}\n`;
}
