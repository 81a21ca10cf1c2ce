import { join } from 'node:path';
import { z } from 'zod';
import { downloadOutput } from '../download-output.ts';
import {
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import { MALFORMED, RUN_LOST, SUBMIT_UNCONFIRMED, UPSTREAM_ERROR } from '../engine-failures.ts';
import { toForm } from '../form-body.ts';
import type { UpstreamHttp } from '../upstream-http.ts';
import type { OpenAiSettings } from './openai-settings.ts';
import { requestBody } from './request-body.ts';
import { failureOfVideo, refineByBody } from './upstream-error.ts';

const job = z.object({ id: z.string().min(1).max(200), status: z.string().optional() });
const jobState = z.object({
  status: z.string(),
  progress: z.number().nullish(),
  error: z.unknown().optional(),
});

const NOT_FOUND = 404;
const GONE = 410;
const CANCEL_MS = 5_000;

/** The asynchronous half of OpenAI's API: POST /videos, GET /videos/{id}, …/content, DELETE (served by vLLM-Omni and SGLang). */
export class VideoJobs {
  readonly #http: UpstreamHttp;
  readonly #settings: OpenAiSettings;

  constructor(http: UpstreamHttp, settings: OpenAiSettings) {
    this.#http = http;
    this.#settings = settings;
  }

  /** Returns the video's id. Throws EngineError: `submit_unconfirmed` when the response of a paid upstream is lost. */
  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const { body_encoding, submit_path, paid } = this.#settings;
    const body = requestBody(request, this.#settings);
    const encoded = body_encoding === 'json' ? { json: body } : { form: toForm(body) };
    const lost = paid ? SUBMIT_UNCONFIRMED : undefined;
    const call = { method: 'POST' as const, path: submit_path, ...encoded, signal: context.signal };
    const answer = await this.#http.submit(call, lost, refineByBody);
    const parsed = job.safeParse(answer.json);
    if (!parsed.success) {
      throw new EngineError(lost ?? MALFORMED);
    }
    return parsed.data.id;
  }

  async poll(reference: string, context: EngineContext): Promise<EngineStatus> {
    const path = withId(this.#settings.poll_path, reference);
    const answer = await this.#http.call({ method: 'GET', path, signal: context.signal });
    if (answer.status === NOT_FOUND || answer.status === GONE) {
      return { state: 'failed', failure: RUN_LOST };
    }
    if (answer.failure) {
      throw new EngineError(refineByBody(answer.failure, answer.json));
    }
    const parsed = jobState.safeParse(answer.json);
    if (!parsed.success) {
      throw new EngineError(MALFORMED);
    }
    return toStatus(parsed.data);
  }

  async collect(reference: string, context: EngineContext): Promise<EngineOutput[]> {
    const path = join(context.folder, 'output-0.bin');
    const from = withId(this.#settings.content_path, reference);
    await downloadOutput(this.#http, {
      from,
      path,
      kind: 'video',
      signal: context.signal,
    });
    return [{ index: 0, file: path }];
  }

  /** Never returns more than `requested`: servers confirm the deletion while their GPU keeps working. */
  async cancel(reference: string): Promise<'requested' | 'unsupported'> {
    if (this.#settings.cancel_method === 'none') {
      return 'unsupported';
    }
    const path = withId(this.#settings.poll_path, reference);
    const answer = await this.#http.call({ method: 'DELETE', path, totalMs: CANCEL_MS });
    return answer.failure && answer.status !== NOT_FOUND ? 'unsupported' : 'requested';
  }
}

function withId(template: string, id: string): string {
  return template.replaceAll('{id}', encodeURIComponent(id));
}

function toStatus({ status, progress, error }: z.output<typeof jobState>): EngineStatus {
  const fraction = progress == null ? {} : { progress: Math.min(Math.max(progress / 100, 0), 1) };
  switch (status) {
    case 'queued':
    case 'pending':
      return { state: 'queued' };
    case 'in_progress':
    case 'processing':
    case 'running':
      return { state: 'running', ...fraction };
    case 'completed':
    case 'succeeded':
      return { state: 'succeeded', progress: 1 };
    case 'cancelled':
    case 'canceled':
      return { state: 'canceled' };
    case 'failed':
    case 'expired':
      return { state: 'failed', failure: error ? failureOfVideo(error) : UPSTREAM_ERROR };
    default:
      throw new EngineError(MALFORMED);
  }
}
