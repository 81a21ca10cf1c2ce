import { z } from 'zod';
import type { EngineRequest, EngineStatus } from '../engine.types.ts';
import { MISCONFIGURED, OUT_OF_MEMORY, UPSTREAM_ERROR, withUpstreamMessage } from '../engine-failures.ts';
import type { HistoryEntry } from './comfyui-api.ts';

const outputFile = z.looseObject({
  filename: z.string().min(1).max(500),
  subfolder: z.string().max(500).default(''),
  type: z.string().max(20).default('output'),
});
/** The members we read. The others quote the inputs, including prompts. */
const executionError = z.tuple([
  z.literal('execution_error'),
  z.looseObject({
    node_type: z.string().nullish(),
    exception_type: z.string().nullish(),
    exception_message: z.string().nullish(),
  }),
]);

/** The messages of partner nodes without a key, or with a key that has no credit. */
const UNAUTHORIZED =
  /\bunauthorized\b|please (log|sign) ?in|payment required|insufficient (credit|balance|fund)/i;

const EXTENSIONS: Readonly<Record<EngineRequest['kind'], RegExp>> = {
  image: /\.(png|jpe?g|webp)$/i,
  video: /\.(mp4|webm|mov|mkv|avi)$/i,
};

export interface ComfyUiFile {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

/** Returns the outcome of a run from its history entry. */
export function statusOfEnded(entry: HistoryEntry): EngineStatus {
  const messages = entry.status?.messages ?? [];
  if (messages.some((message) => Array.isArray(message) && message[0] === 'execution_interrupted')) {
    return { state: 'canceled' };
  }
  if (entry.status?.status_str === 'error') {
    const error = messages.find((message) => executionError.safeParse(message).success);
    const outOfMemory = /out.?of.?memory/i.test(JSON.stringify(error ?? ''));
    const words = wordsOf(error);
    const kind = outOfMemory
      ? OUT_OF_MEMORY
      : UNAUTHORIZED.test(words ?? '')
        ? MISCONFIGURED
        : UPSTREAM_ERROR;
    return { state: 'failed', failure: withUpstreamMessage(kind, words) };
  }
  return { state: 'succeeded', progress: 1 };
}

function wordsOf(message: unknown): string | undefined {
  const [, error] = executionError.safeParse(message).data ?? [];
  return error && `${error.node_type ?? 'a node'}: ${error.exception_type}: ${error.exception_message}`;
}

/**
 * Returns the saved files of a run: every list item of its outputs that names one (SaveVideo lists videos under `images`, other nodes under
 * `gifs`). Skips previews (`type: temp`) and files of another kind.
 */
export function filesOf(
  entry: HistoryEntry,
  kind: EngineRequest['kind'],
  outputNode: string | undefined,
): ComfyUiFile[] {
  const nodes = Object.entries(entry.outputs).filter(([id]) => outputNode === undefined || id === outputNode);
  const items = nodes.flatMap(([, outputs]) =>
    Object.values(outputs).flatMap((list) => (Array.isArray(list) ? list : [])),
  );
  return items.flatMap((item) => {
    const parsed = outputFile.safeParse(item);
    const wanted =
      parsed.success && parsed.data.type === 'output' && EXTENSIONS[kind].test(parsed.data.filename);
    return wanted ? [parsed.data] : [];
  });
}

/** Returns the path of GET /view for a file. */
export function viewPath({ filename, subfolder, type }: ComfyUiFile): string {
  return `/view?${new URLSearchParams({ filename, subfolder, type })}`;
}
