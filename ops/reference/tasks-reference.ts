import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markdownTable } from './schema-table.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['src/engines', 'src/tasks', 'src/media'];

/** What a code of a failed task means, and what to do about it. */
const MEANINGS: Readonly<Record<string, readonly [meaning: string, then: string]>> = {
  content_refused: ['the engine refused the content', 'change the prompt'],
  deadline_exceeded: [
    'not finished in time: 1 h after the order for an image, 6 h for a video',
    'order again; operator: add slots',
  ],
  engine_busy: ['the built-in engine has too many runs at once', 'order again'],
  engine_not_answering: [
    'the engine accepts connections but does not respond',
    "operator: see the engine's log",
  ],
  engine_not_running: ["the engine's server is not running on that host", "operator: see the engine's log"],
  engine_timeout: ['one run took too long', 'order again; operator: use a faster engine'],
  internal_error: ['a bug in the service', "send the operator the task's id"],
  media_corrupt: ['the file cannot be decoded', 'order again'],
  media_pixel_limit: ['the file has far more pixels than requested', 'operator: check the workflow'],
  media_length_mismatch: [
    'the video is clearly shorter than requested',
    'operator: check the workflow and `media.seconds`',
  ],
  media_size_mismatch: [
    'the file is clearly smaller than requested',
    'operator: check the workflow and `sizes`',
  ],
  media_too_large: ['the file exceeds 32 MB (image) or 512 MB (video)', 'operator: check the workflow'],
  media_too_long: ['the video is longer than allowed', 'operator: check the workflow'],
  media_tool_killed: ['ffmpeg was killed, e.g. for lack of memory', 'operator: see the log of the host'],
  media_tool_failed: ['ffmpeg or sharp failed', 'order again'],
  media_tool_missing: ['ffmpeg was not found', 'operator: set `FFMPEG_PATH`'],
  media_tool_stalled: ['ffmpeg made no progress', 'order again'],
  media_tool_timeout: ['ffmpeg took too long', 'order again'],
  media_type_refused: [
    'the file is not of the requested type, or its codec is not accepted',
    'operator: check the workflow',
  ],
  no_output: ['the engine finished without a file', 'operator: check the workflow'],
  out_of_memory: ['the engine ran out of memory', 'request a smaller size'],
  output_refused: ['the file is at an address that must not be fetched', 'operator: see `private_downloads`'],
  output_too_large: ['the download exceeds 32 MB (image) or 512 MB (video)', 'operator: check the workflow'],
  output_unavailable: ['the file could not be fetched', 'order again'],
  output_unwritten: [
    'the file could not be written to the scratch disk of the host',
    'order again; operator: see the log of the host',
  ],
  render_failed: ['the built-in engine could not render it', 'order again'],
  run_lost: ['the engine lost the run, e.g. because it restarted', 'order again'],
  run_not_found: ['the engine does not know the run yet', 'order again'],
  storage_unavailable: ['the media storage was unavailable until the deadline', 'order again'],
  submit_unconfirmed: [
    'it is unknown whether a billing engine accepted the order, so it is not sent twice',
    'order again',
  ],
  task_canceled: ['canceled by its owner', ''],
  unknown_workflow: ['the workflow is no longer in the catalog', 'operator: check the route'],
  unsupported_size: ['the engine has no size that covers the requested one', 'request another size'],
  upstream_busy: ['the engine asked to retry later', 'order again'],
  upstream_canceled: ['the run was canceled directly at the engine', 'order again'],
  upstream_error: ['the engine failed', 'order again'],
  upstream_interrupted: ['the connection to the engine broke', 'order again'],
  upstream_malformed: ['the engine sent an unreadable answer', "operator: check the engine's version"],
  upstream_misconfigured: [
    'the engine rejects our key or path',
    'operator: check `api_key`, `base_url` and `model`',
  ],
  upstream_rate_limited: ['the engine limits its rate', 'order again'],
  upstream_rejected: ['the engine rejected the request', 'change its size, steps or length'],
  upstream_timeout: ['the engine did not answer in time', 'order again'],
  upstream_unavailable: ['the engine or its files were unavailable', 'order again'],
  upstream_unreachable: ['no connection to the engine', 'operator: check `base_url` and the network'],
};

const HEAD = `# Tasks that fail

\`npm run generate\` writes this page from the source code. **A failed or canceled task costs nothing.** Its \`reason\` in
\`/v3/async/task-result\` begins with the code in upper case; \`error.code\` in \`/api/v1/tasks/{id}\` is the code itself. Transient failures
are retried before a task fails: five attempts, 0.5 to 8 s apart. An engine that only asks to wait is retried until the deadline.

`;

/** Returns every code that a failed task can have, as found in the code. */
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

/**
 * Returns the codes of failed tasks as a page of the docs. Throws for a code that has no explanation, or that no longer exists.
 */
export function tasksReference(): string {
  const codes = taskFailureCodes();
  const unlike = [
    ...codes.filter((code) => !(code in MEANINGS)),
    ...Object.keys(MEANINGS).filter((code) => !codes.includes(code)),
  ];
  if (unlike.length > 0) {
    throw new Error(`ops/reference/tasks-reference.ts: only in the code or only here: ${unlike.join(', ')}`);
  }
  const rows = codes.map((code) => [`\`${code}\``, ...(MEANINGS[code] ?? [])]);
  return `${HEAD}${markdownTable(['Code', 'What happened', 'What to do'], rows)}\n`;
}
