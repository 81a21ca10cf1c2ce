import { join } from 'node:path';
import type { FileContent } from '../../lib/file-content.ts';
import { parseUsdNumber } from '../../lib/money.ts';
import { downloadOutput } from '../download-output.ts';
import {
  type EngineContext,
  EngineError,
  type EngineFailure,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import {
  CONTENT_REFUSED,
  MALFORMED,
  MISCONFIGURED,
  NO_OUTPUT,
  UPSTREAM_ERROR,
  withUpstreamMessage,
} from '../engine-failures.ts';
import { downloadWithRetry } from '../long-call.ts';
import type { UpstreamHttp } from '../upstream-http.ts';
import type { HttpEngineSettings } from './http-settings.ts';
import { fillPath, valueAt } from './template.ts';

/** Interprets the responses of a service as described by its entry: failures in its words, files where it names them. */
export class ServiceAnswers {
  readonly #settings: HttpEngineSettings;
  readonly #http: UpstreamHttp;
  readonly #contentRefused: RegExp;
  readonly #misconfigured: RegExp;

  constructor(settings: HttpEngineSettings, http: UpstreamHttp) {
    this.#settings = settings;
    this.#http = http;
    this.#contentRefused = new RegExp(settings.content_refused, 'i');
    this.#misconfigured = new RegExp(settings.misconfigured, 'i');
  }

  /** The name of the JSON member that holds files in base64. */
  get member(): string {
    const names = this.#settings.output.split('.').filter((name) => !/^\d+$/.test(name));
    return names.at(-1) ?? '';
  }

  /** Returns why a response lacks what was expected: the first value found at these paths, or `otherwise`. */
  failureOf(json: unknown, places: readonly string[] | undefined, otherwise: EngineFailure): EngineFailure {
    const said = places?.map((place) => valueAt(json, place)).find(isTold);
    return said === undefined
      ? otherwise
      : this.refine(withUpstreamMessage(UPSTREAM_ERROR, textOf(said)), said);
  }

  /** Returns the failure of a final response whose file is missing or was made unrecognizable; undefined when the file is fine. */
  failureOfResult(json: unknown, places: readonly string[] | undefined): EngineFailure | undefined {
    const { refused } = this.#settings;
    const word = refused && valueAt(json, refused.at);
    if (refused?.words.includes(String(word))) {
      return withUpstreamMessage(CONTENT_REFUSED, `${refused.at}: ${word}`);
    }
    return this.#hasOutput(json) ? undefined : this.failureOf(json, places, NO_OUTPUT);
  }

  /** Returns the status that the answer to a poll gives. Throws EngineError for a state that the entry does not know. */
  statusOf(json: unknown, poll: NonNullable<HttpEngineSettings['poll']>): EngineStatus {
    const { cost } = this.#settings;
    const word = valueAt(json, poll.state) ?? '';
    const text = typeof word === 'object' ? JSON.stringify(word) : String(word);
    const meant = Object.hasOwn(poll.states, text) ? poll.states[text] : undefined;
    if (meant === undefined) {
      const words = `${poll.state}: ${JSON.stringify(word)} is not one of poll.states`;
      throw new EngineError(withUpstreamMessage(MALFORMED, words));
    }
    const billed = cost === undefined ? undefined : amountOf(valueAt(json, cost));
    const known = billed === undefined ? {} : { costNanoUsd: billed };
    switch (meant) {
      case 'succeeded': {
        const failure = this.failureOfResult(json, poll.error);
        return failure ? { state: 'failed', failure, ...known } : { state: meant, progress: 1, ...known };
      }
      case 'failed':
        return { state: meant, failure: this.failureOf(json, poll.error, UPSTREAM_ERROR), ...known };
      case 'refused': {
        const { said } = this.failureOf(json, poll.error, CONTENT_REFUSED);
        return { state: 'failed', failure: withUpstreamMessage(CONTENT_REFUSED, said), ...known };
      }
      case 'canceled':
        return { state: meant, ...known };
      case 'queued':
      case 'running':
        return { state: meant, ...progressOf(json, poll) };
    }
  }

  /** Makes a failure more specific, based on the message that came with it. */
  refine(failure: EngineFailure, said: unknown): EngineFailure {
    const text = textOf(said);
    if (this.#contentRefused.test(text)) {
      return withUpstreamMessage(CONTENT_REFUSED, failure.said);
    }
    return this.#misconfigured.test(text) ? withUpstreamMessage(MISCONFIGURED, failure.said) : failure;
  }

  /** Returns the file of the final response: the first of `files`, or the one it names. Throws EngineError. */
  async outputOf(
    answer: { readonly json: unknown; readonly files: readonly FileContent[] },
    run: { readonly reference: string; readonly kind: EngineRequest['kind'] },
    context: Pick<EngineContext, 'folder' | 'signal'>,
  ): Promise<EngineOutput> {
    if (this.#settings.output_encoding === 'base64') {
      const [file] = answer.files;
      // An empty string is an empty file.
      if (file === undefined || file.length === 0) {
        throw new EngineError(NO_OUTPUT);
      }
      return { index: 0, file };
    }
    const named = firstText(valueAt(answer.json, this.#settings.output));
    const from = await this.#urlOf(named, run, context);
    const { kind } = run;
    const path = join(context.folder, 'output-0.bin');
    // Some services name their files by relative URLs.
    const url = URL.canParse(from, this.#http.base.href) ? new URL(from, this.#http.base.href).href : from;
    const { signal } = context;
    // With `poll` the next attempt can fetch the result again, so this one does not retry.
    const download = this.#settings.poll ? downloadOutput : downloadWithRetry;
    await download(this.#http, { from: url, path, kind, signal });
    return { index: 0, file: path };
  }

  /** Returns whether there is a value where the file should be. */
  #hasOutput(json: unknown): boolean {
    const found = valueAt(json, this.#settings.output);
    return isTold(Array.isArray(found) ? found[0] : found);
  }

  async #urlOf(
    output: string,
    run: { reference: string },
    { signal }: { signal: AbortSignal },
  ): Promise<string> {
    const { fetch } = this.#settings;
    if (!fetch) {
      return output;
    }
    const path = fillPath(fetch.path, { output, reference: run.reference });
    const json = await this.#http.expect({ method: 'GET', path, signal });
    return firstText(valueAt(json, fetch.output));
  }
}

/** Throws EngineError when the value cannot name a file. */
function firstText(found: unknown): string {
  const first: unknown = Array.isArray(found) ? found[0] : found;
  if ((typeof first !== 'string' && typeof first !== 'number') || first === '') {
    throw new EngineError(NO_OUTPUT);
  }
  return String(first);
}

/** Returns whether a value says something: many services send empty strings, zeros or nulls when nothing is wrong. */
function isTold(said: unknown): boolean {
  return Boolean(said) && (typeof said !== 'object' || Object.keys(said as object).length > 0);
}

function textOf(said: unknown): string {
  return typeof said === 'string' ? said : JSON.stringify(said ?? '');
}

/** Returns what a run costs; undefined when the service does not say so (yet): `null` and an empty text are no amounts. */
function amountOf(told: unknown): bigint | undefined {
  const isTold = typeof told === 'number' || (typeof told === 'string' && told.trim() !== '');
  return isTold ? parseUsdNumber(Number(told)) : undefined;
}

function progressOf(
  json: unknown,
  { progress, progress_max: most }: { readonly progress?: string | undefined; readonly progress_max: number },
): { progress?: number } {
  const far = progress === undefined ? Number.NaN : Number(valueAt(json, progress)) / most;
  return Number.isFinite(far) ? { progress: Math.min(Math.max(far, 0), 1) } : {};
}
