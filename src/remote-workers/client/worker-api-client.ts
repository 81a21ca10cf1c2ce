import { setTimeout as delay } from 'node:timers/promises';
import { Agent, type Dispatcher } from 'undici';
import { z } from 'zod';
import { publicId } from '../../lib/ids.ts';
import type { LeaseRenewal } from '../../tasks/task-claims.store.ts';
import type { UploadState } from '../output-uploads.ts';
import {
  type ClaimedTaskJson,
  claimResponse,
  leasesResponse,
  outputResponse,
  type reportBody,
  reportResponse,
  type stepBody,
  stepResponse,
} from '../worker-api.schema.ts';
import { WorkerApiError } from './worker-api-error.ts';

export interface WorkerApiOptions {
  /** Address of the API, without a slash at the end. */
  readonly url: string;
  readonly token: string;
  /** Name of this process. */
  readonly worker: string;
}

/** Which file of which attempt. */
export interface OutputName {
  readonly taskId: string;
  readonly attempt: number;
  readonly index: number;
}

type Step = z.input<typeof stepBody>;
/** A step without what every one says. */
export type StepOf<Kind extends Step['step']> = Omit<
  Extract<Step, { step: Kind }>,
  'worker' | 'task_id' | 'attempt'
>;

interface Call<Answer> {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: object | Buffer;
  readonly answer: z.ZodType<Answer>;
  /** Ms until the answer begins. */
  readonly answerMs?: number;
  readonly signal?: AbortSignal;
}

const CONNECT_MS = 10_000;
const ANSWER_MS = 20_000;
/** Ms: the last part of a file is answered when all of it lies in the storage. */
const UPLOAD_ANSWER_MS = 300_000;
const CONNECTIONS_MAX = 50;
const ANSWER_BYTES_MAX = 2 ** 20;
/** Ms for which what became of a task is told again while the API is away: then its lease has lapsed. */
const PERSIST_MS = 300_000;
const AGAIN_MS = { first: 250, most: 5_000 };

/** The API as a worker on another host sees it. Opens connections and takes none. Owns them. */
export class WorkerApiClient {
  readonly #options: WorkerApiOptions;
  readonly #agent = new Agent({ connections: CONNECTIONS_MAX, connect: { timeout: CONNECT_MS } });

  constructor(options: WorkerApiOptions) {
    this.#options = options;
  }

  /** Waits up to that many seconds for a task. Throws WorkerApiError, or the signal's reason. */
  async claim(pool: string, waitSeconds: number, signal: AbortSignal): Promise<ClaimedTaskJson | null> {
    const { data } = await this.#call({
      method: 'POST',
      path: '/worker/v1/claims',
      body: { worker: this.#options.worker, pool, wait_seconds: waitSeconds },
      answer: claimResponse,
      answerMs: waitSeconds * 1_000 + ANSWER_MS,
      signal,
    });
    return data.task;
  }

  /** Those that the worker still holds. Throws WorkerApiError. */
  async renew(leases: readonly LeaseRenewal[]): Promise<z.output<typeof leasesResponse>['data']> {
    const named = leases.map(({ id, attempt, progress, queuePosition = null }) => ({
      task_id: publicId('generation', id),
      attempt,
      progress,
      ...(queuePosition === null ? {} : { queue_position: queuePosition }),
    }));
    const body = { worker: this.#options.worker, leases: named };
    return (await this.#call({ method: 'POST', path: '/worker/v1/leases', body, answer: leasesResponse }))
      .data;
  }

  /** Says whether an operator has drained this host. Throws WorkerApiError. */
  async report(report: Omit<z.input<typeof reportBody>, 'worker'>): Promise<boolean> {
    const body = { worker: this.#options.worker, ...report };
    const { data } = await this.#call({
      method: 'POST',
      path: '/worker/v1/reports',
      body,
      answer: reportResponse,
    });
    return data.drained;
  }

  /** Tells what became of a task, again while the API is away. False when the claim is over. Throws WorkerApiError. */
  async step<Kind extends Step['step']>(
    taskId: string,
    attempt: number,
    step: StepOf<Kind>,
  ): Promise<boolean> {
    const about = { worker: this.#options.worker, task_id: publicId('generation', taskId), attempt };
    const call = {
      method: 'POST',
      path: '/worker/v1/steps',
      body: { ...about, ...step },
      answer: stepResponse,
    } as const;
    const giveUpAt = performance.now() + PERSIST_MS;
    for (let tries = 0; ; tries += 1) {
      try {
        return (await this.#call(call)).data.held;
      } catch (error) {
        if (!(error instanceof WorkerApiError && error.mayPass) || performance.now() > giveUpAt) {
          throw error;
        }
      }
      await delay(Math.min(AGAIN_MS.first * 2 ** tries, AGAIN_MS.most));
    }
  }

  /** How much of a file the API has; undefined when the claim is over. Throws WorkerApiError. */
  async uploaded(output: OutputName): Promise<UploadState | undefined> {
    const path = `/worker/v1/files?${this.#outputQuery(output)}`;
    const { data } = await this.#call({ method: 'GET', path, answer: outputResponse });
    return data.held ? data : undefined;
  }

  /** Sends a part of a file; undefined when the claim is over. Throws WorkerApiError. */
  async upload(
    output: OutputName,
    part: { offset: number; bytes: number; sha256: string; content: Buffer },
  ): Promise<UploadState | undefined> {
    const { offset, bytes, sha256, content } = part;
    const path = `/worker/v1/files?${this.#outputQuery(output, { offset, bytes, sha256 })}`;
    const { data } = await this.#call({
      method: 'PATCH',
      path,
      body: content,
      answer: outputResponse,
      answerMs: UPLOAD_ANSWER_MS,
    });
    return data.held ? data : undefined;
  }

  /** Destroys the connections; calls in flight fail. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #outputQuery({ taskId, attempt, index }: OutputName, more: Readonly<Record<string, string | number>> = {}) {
    const { worker } = this.#options;
    const query = { worker, task_id: publicId('generation', taskId), attempt, index, ...more };
    return new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
  }

  async #call<Answer>(call: Call<Answer>): Promise<Answer> {
    const { answerMs = ANSWER_MS, signal } = call;
    const url = new URL(this.#options.url + call.path);
    const isBytes = Buffer.isBuffer(call.body);
    try {
      const answer = await this.#agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: call.method,
        headers: {
          authorization: `Bearer ${this.#options.token}`,
          ...(call.body && { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' }),
        },
        body: Buffer.isBuffer(call.body) ? call.body : (call.body && JSON.stringify(call.body)) || null,
        headersTimeout: answerMs,
        bodyTimeout: ANSWER_MS,
        signal: AbortSignal.any([
          AbortSignal.timeout(answerMs + CONNECT_MS + ANSWER_MS),
          ...(signal ? [signal] : []),
        ]),
      });
      return await readAnswer(answer, call.answer);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof WorkerApiError
        ? error
        : new WorkerApiError(undefined, codeOf(error), { cause: error });
    }
  }
}

async function readAnswer<Answer>(
  { statusCode, body }: Dispatcher.ResponseData,
  schema: z.ZodType<Answer>,
): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) {
      throw new WorkerApiError(statusCode, 'its answer is too long');
    }
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (statusCode !== 200) {
    throw new WorkerApiError(statusCode, messageOf(text));
  }
  const parsed = schema.safeParse(JSON.parse(text));
  if (!parsed.success) {
    throw new WorkerApiError(statusCode, 'its answer is of another version');
  }
  return parsed.data;
}

const errorAnswer = z.object({ error: z.object({ message: z.string() }) });

function messageOf(text: string): string {
  try {
    return errorAnswer.parse(JSON.parse(text)).error.message.slice(0, 500);
  } catch {
    return 'no reason was given';
  }
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name);
}
