import { join } from 'node:path';
import { OUTPUT_BYTES_MAX, OUTPUT_UNAVAILABLE } from '../download-output.ts';
import {
  type EngineCapabilities,
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import {
  MALFORMED,
  MISCONFIGURED,
  RUN_LOST,
  SUBMIT_UNCONFIRMED,
  withUpstreamMessage,
} from '../engine-failures.ts';
import { parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import { toForm } from '../form-body.ts';
import { afterLongCall, type FiledAnswer, longCall, readFiled, spent } from '../long-call.ts';
import { modelPath, modelPathError } from '../model-path.ts';
import { PollableRuns } from '../pollable-runs.ts';
import type { EngineKind } from '../registry.ts';
import { fitSeed, fitSize, withExtra } from '../request-fit.ts';
import { toEngineError } from '../transport-failure.ts';
import { UpstreamEngine } from '../upstream-engine.ts';
import type { EngineCall } from '../upstream-http.ts';
import { type HttpEngineSettings, httpSettings } from './http-settings.ts';
import { ServiceAnswers } from './service-answers.ts';
import { createSigner } from './signature.ts';
import { fillPath, fillTemplate, type TemplateValues, valueAt } from './template.ts';

const POLL_INTERVAL_MS = 2_000;
const CANCEL_MS = 5_000;
const NOT_FOUND = 404;
const GONE = 410;

/** The engine kind `http` in tollgate.yaml. */
export const httpKind: EngineKind = {
  slotsDefault: 20,
  create: (settings) => new HttpEngine(parseEngineSettings(httpSettings, settings)),
};

/**
 * A service described entirely by its entry: either one call whose response is the result, or a submit, polling and a download. Where its
 * entry leaves something open, the worst is assumed.
 */
export class HttpEngine extends UpstreamEngine<HttpEngineSettings> {
  readonly capabilities: EngineCapabilities;
  readonly #answers = new ServiceAnswers(this.settings, this.http);
  /** Calls whose response is the result. */
  readonly #held = new PollableRuns();

  constructor(settings: HttpEngineSettings) {
    const key = settings.api_key === '' ? '' : `${settings.key_scheme} ${settings.api_key}`.trim();
    const unsigned = toHttpSettings(settings, key);
    const http = { ...unsigned, signer: createSigner(settings.signature, unsigned) };
    super(settings, { http, pollIntervalMs: POLL_INTERVAL_MS, readyPath: '/' });
    const { kinds, size_multiple: sizeMultiple, paid, poll, cancel } = settings;
    const stops = cancel !== undefined;
    this.capabilities = {
      ...{ kinds, sizeMultiple, paid },
      ...{ cancelQueued: stops, cancelRunning: stops },
      ...(poll || paid ? {} : { transient: () => true }),
    };
  }

  modelError(model: string): string | undefined {
    const { submit, poll } = this.settings;
    const isInPath = [submit.path, poll?.path].some((path) => path?.includes('{model}'));
    return isInPath ? modelPathError(model) : undefined;
  }

  sizeError({ width, height }: Pick<EngineRequest, 'width' | 'height'>): string | undefined {
    const { id, sizes } = this.settings;
    return sizes && !Object.hasOwn(sizes, `${width}*${height}`)
      ? `engines.${id}.sizes has no entry for ${width}*${height}`
      : undefined;
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const { submit, poll, idempotency_header: header, paid } = this.settings;
    const call = this.#order(request, context.signal);
    if (!poll) {
      context.signal.throwIfAborted();
      return this.#held.start(request, context, (signal) =>
        this.#make({ ...call, signal }, request, context),
      );
    }
    // With an idempotency key a repeated submit returns the run accepted first, so a lost response is retryable.
    const lost = paid ? { ...SUBMIT_UNCONFIRMED, retryable: header !== undefined } : undefined;
    const { json } = await this.http.submit(call, lost, (failure, said) =>
      this.#answers.refine(failure, said),
    );
    const reference = valueAt(json, submit.reference);
    if ((typeof reference !== 'string' && typeof reference !== 'number') || reference === '') {
      throw new EngineError(this.#answers.failureOf(json, submit.error, lost ?? MALFORMED));
    }
    return String(reference);
  }

  /** Returns `null` only when submits carry an idempotency key: the next submit then returns the run that was accepted before. */
  override async recover(): Promise<null | 'unknown'> {
    return this.settings.idempotency_header === undefined ? 'unknown' : null;
  }

  async poll(reference: string, request: EngineRequest, { signal }: EngineContext): Promise<EngineStatus> {
    const { poll } = this.settings;
    if (!poll) {
      return await this.#held.poll(reference, signal);
    }
    const { json } = await this.#ask(poll, { reference, model: request.model }, signal);
    return this.#answers.statusOf(json, poll);
  }

  /** Polls again before downloading, because output URLs may be short-lived. */
  async collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const { poll } = this.settings;
    const { kind } = request;
    if (poll) {
      const answer = await this.#ask(poll, { reference, model: request.model }, context.signal, {
        kind,
        context,
      });
      const { state, failure } = this.#answers.statusOf(answer.json, poll);
      if (state !== 'succeeded') {
        // A replica of the service may be behind: the next attempt polls again.
        throw new EngineError(failure ?? OUTPUT_UNAVAILABLE);
      }
      return [await this.#answers.outputOf(answer, { reference, kind }, context)];
    }
    const file = this.#held.take(reference);
    if (file === undefined) {
      throw new EngineError(RUN_LOST);
    }
    return [{ index: 0, file }];
  }

  async cancel(reference: string): Promise<'requested' | 'unsupported'> {
    const { cancel, poll } = this.settings;
    if (!cancel) {
      return 'unsupported';
    }
    const path = fillPath(cancel.path, { reference });
    const call = { method: cancel.method, path, totalMs: CANCEL_MS };
    const { failure } = await this.http.call(call);
    if (!poll) {
      await this.#held.cancel(reference);
    }
    return failure ? 'unsupported' : 'requested';
  }

  override async close(): Promise<void> {
    await this.#held.close();
    await super.close();
  }

  #order(request: EngineRequest, signal: AbortSignal): EngineCall {
    const { submit, idempotency_header: header } = this.settings;
    const values = this.#valuesOf(request);
    if (submit.path.includes('{model}')) {
      modelPath(request.model);
    }
    const filled = fillTemplate(submit.body, values);
    const body = withExtra(typeof filled === 'object' && filled !== null ? filled : {}, request.extra);
    const headers = header === undefined ? {} : { [header]: this.idempotencyKey(request) };
    const encoded = submit.encoding === 'json' ? { json: body } : { form: toForm(body) };
    return { method: 'POST', path: fillPath(submit.path, values), ...encoded, headers, signal };
  }

  /** Makes one long call whose response contains the file, or its URL. */
  async #make(call: EngineCall, request: EngineRequest, context: EngineContext) {
    const { paid, submit } = this.settings;
    const { kind } = request;
    const { timeout_ms: totalMs } = submit;
    const answer = await longCall(
      this.http,
      { ...call, totalMs, firstByteMs: totalMs },
      {
        ...{ paid, ...this.#diversionFor(kind, context) },
        refine: (failure, said) => this.#answers.refine(failure, said),
      },
    );
    const failure = this.#answers.failureOfResult(answer.json, submit.error);
    if (failure) {
      throw new EngineError(spent(paid, failure));
    }
    const run = { reference: '', kind };
    const signal = call.signal ?? context.signal;
    const { file } = await afterLongCall(paid, signal, () =>
      this.#answers.outputOf(answer, run, {
        signal,
        get folder() {
          return context.folder;
        },
      }),
    );
    return file;
  }

  #diversionFor(kind: EngineRequest['kind'], context: Pick<EngineContext, 'folder'>) {
    const { output_encoding: encoding } = this.settings;
    return {
      // Responses that name files by URL are read unchanged.
      member: encoding === 'base64' ? this.#answers.member : '',
      pathFor: () => join(context.folder, 'output-0.bin'),
      fileBytesMax: OUTPUT_BYTES_MAX[kind],
    };
  }

  /** Polls a run. A file in the response is kept only for a `collector`. */
  async #ask(
    poll: NonNullable<HttpEngineSettings['poll']>,
    run: { readonly reference: string; readonly model: string },
    signal: AbortSignal,
    collector?: { readonly kind: EngineRequest['kind']; readonly context: EngineContext },
  ): Promise<FiledAnswer> {
    const path = fillPath(poll.path, run);
    const json = poll.body === undefined ? undefined : fillTemplate(poll.body, run);
    const asked =
      typeof json === 'object' && json !== null
        ? { method: 'POST' as const, json }
        : { method: 'GET' as const };
    const call = { ...asked, path, signal };
    const diversion = {
      ...this.#diversionFor(collector?.kind ?? 'video', collector?.context ?? { folder: '' }),
      wants: (index: number) => collector !== undefined && index === 0,
    };
    const answer = await this.http
      .exchange(call, 'call', (response) => readFiled(response, diversion))
      .catch((error: unknown) => {
        throw toEngineError(error);
      });
    if (answer.status === NOT_FOUND || answer.status === GONE) {
      throw new EngineError(RUN_LOST);
    }
    if (answer.failure) {
      throw new EngineError(answer.failure);
    }
    return answer;
  }

  /** Throws EngineError when `sizes` has no entry for the requested size. */
  #valuesOf(request: EngineRequest): TemplateValues {
    const { sizes, size_multiple, seed_max } = this.settings;
    const { taskId, kind, model, prompt, steps, seconds } = request;
    const mistake = this.sizeError(request);
    if (mistake !== undefined) {
      throw new EngineError(withUpstreamMessage(MISCONFIGURED, mistake));
    }
    const size = sizes?.[`${request.width}*${request.height}`];
    const named = Object.entries(size ?? {}).map(([name, value]) => [`size.${name}`, value]);
    return {
      ...{ prompt, model, kind, steps, seconds },
      ...fitSize(request, size_multiple),
      seed: fitSeed(request.seed, seed_max),
      task: taskId,
      ...Object.fromEntries(named),
    };
  }
}
