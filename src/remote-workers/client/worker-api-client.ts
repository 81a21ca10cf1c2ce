import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { publicId } from '../../lib/ids.ts';
import type { LeaseRenewal } from '../../tasks/task-claims.store.ts';
import { CallTimeouts } from '../../upstream/call-timeouts.ts';
import { decodedBody, UNCODED } from '../../upstream/decoded-body.ts';
import { HttpClient } from '../../upstream/http-client.ts';
import { readBody, textOf } from '../../upstream/read-body.ts';
import { transportErrorOf } from '../../upstream/transport-error.ts';
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
  /** Address of the API, without a trailing slash. */
  readonly url: string;
  readonly token: string;
  /** The name of this process. */
  readonly worker: string;
}

/** Identifies a file of an attempt. */
export interface OutputName {
  readonly taskId: string;
  readonly attempt: number;
  readonly index: number;
}

type Step = z.input<typeof stepBody>;
/** A step without the members that all steps share. */
export type StepOf<Kind extends Step['step']> = Omit<
  Extract<Step, { step: Kind }>,
  'worker' | 'task_id' | 'attempt'
>;

interface Call<Answer> {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: object | Buffer;
  readonly answer: z.ZodType<Answer>;
  /** Ms until the response begins. */
  readonly answerMs?: number;
  readonly signal?: AbortSignal;
}

const CONNECT_MS = 10_000;
const ANSWER_MS = 20_000;
/** Ms until the response to a part begins. The last part of a file is answered only when the whole file is in the storage. */
const UPLOAD_ANSWER_MS = 300_000;
const CONNECTIONS_MAX = 50;
const ANSWER_BYTES_MAX = 2 ** 20;
/** How long a step is resent while the API is away, in ms. By then the task's lease has expired. */
const PERSIST_MS = 300_000;
const AGAIN_MS = { first: 250, most: 5_000 };

/** Client of the API for a worker on another host. Only opens connections, accepts none. Owns its connections. */
export class WorkerApiClient {
  readonly #options: WorkerApiOptions;
  readonly #http = new HttpClient({ connections: CONNECTIONS_MAX, connectMs: CONNECT_MS });

  constructor(options: WorkerApiOptions) {
    this.#options = options;
  }

  /** Waits up to `waitSeconds` for a task. Throws WorkerApiError, or the signal's reason. */
  async claim(
    {
      pool,
      waitSeconds,
      loaded,
    }: { readonly pool: string; readonly waitSeconds: number; readonly loaded: readonly string[] },
    signal: AbortSignal,
  ): Promise<ClaimedTaskJson | null> {
    const models = loaded.length === 0 ? {} : { loaded };
    const { data } = await this.#call({
      method: 'POST',
      path: '/worker/v1/claims',
      body: { worker: this.#options.worker, pool, wait_seconds: waitSeconds, ...models },
      answer: claimResponse,
      answerMs: waitSeconds * 1_000 + ANSWER_MS,
      signal,
    });
    return data.task;
  }

  /** Renews leases. Returns those that the worker still holds. Throws WorkerApiError. */
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

  /** Reports the state of this worker. Returns whether an operator has drained this host. Throws WorkerApiError. */
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

  /** Reports a step of a task, and retries while the API is away. Returns false when the claim is lost. Throws WorkerApiError. */
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

  /** Returns how much of a file the API has; undefined when the claim is lost. Throws WorkerApiError. */
  async uploaded(output: OutputName): Promise<UploadState | undefined> {
    const path = `/worker/v1/files?${this.#outputQuery(output)}`;
    const { data } = await this.#call({ method: 'GET', path, answer: outputResponse });
    return data.held ? data : undefined;
  }

  /** Uploads a part of a file. Returns undefined when the claim is lost. Throws WorkerApiError. */
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

  /** Closes the connections. Calls in flight fail. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  #outputQuery({ taskId, attempt, index }: OutputName, more: Readonly<Record<string, string | number>> = {}) {
    const { worker } = this.#options;
    const query = { worker, task_id: publicId('generation', taskId), attempt, index, ...more };
    return new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
  }

  async #call<Answer>(call: Call<Answer>): Promise<Answer> {
    const { answerMs = ANSWER_MS, signal, method, body, answer } = call;
    const { origin, pathname, search } = new URL(this.#options.url + call.path);
    const isBytes = Buffer.isBuffer(body);
    const clocks = new CallTimeouts(answerMs + CONNECT_MS + ANSWER_MS, signal);
    clocks.enter(CONNECT_MS + answerMs);
    let status: number | undefined;
    try {
      const headers = {
        ...UNCODED,
        authorization: `Bearer ${this.#options.token}`,
        ...(body && { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' }),
      };
      const sent = isBytes ? body : (body && JSON.stringify(body)) || null;
      const request = { origin, path: pathname + search, method, headers, body: sent };
      const answered = await this.#http.request(request, clocks);
      status = answered.statusCode;
      clocks.enter(ANSWER_MS);
      const text = textOf(await readBody(decodedBody(answered), ANSWER_BYTES_MAX, clocks));
      return readAnswer(status, text, answer);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof WorkerApiError ? error : toWorkerApiError(clocks.explain(error), status);
    } finally {
      clocks.stop();
    }
  }
}

function readAnswer<Answer>(status: number, text: string, schema: z.ZodType<Answer>): Answer {
  if (status !== 200) {
    throw new WorkerApiError(status, messageOf(text));
  }
  const parsed = schema.safeParse(parseAnswer(text));
  if (!parsed.success) {
    throw new WorkerApiError(
      status,
      'its response has another format; check that the API and this host run compatible versions',
    );
  }
  return parsed.data;
}

/** Parses JSON. Other responses come from something between us and the API, which may be gone on the next try. */
function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new WorkerApiError(undefined, 'its response is not JSON', { cause });
  }
}

function toWorkerApiError(error: unknown, status: number | undefined): WorkerApiError {
  const { reason, code } = transportErrorOf(error);
  return reason === 'too_long'
    ? new WorkerApiError(status, 'its response is too long', { cause: error })
    : new WorkerApiError(undefined, code || reason, { cause: error });
}

const errorAnswer = z.object({ error: z.object({ message: z.string() }) });

function messageOf(text: string): string {
  try {
    return errorAnswer.parse(JSON.parse(text)).error.message.slice(0, 500);
  } catch {
    return 'no reason was given';
  }
}
