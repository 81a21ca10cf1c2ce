import { AccountConcurrency } from '../lib/account-concurrency.ts';
import { AppError } from '../lib/errors.ts';
import type { JsonObject } from '../providers/json.ts';
import type {
  Provider,
  ProviderAnswer,
  ProviderRequest,
  RequestDialect,
  StreamBatch,
} from '../providers/provider.types.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { Admission, CallEstimate } from './admission.ts';
import { type Admitted, asked, headersOf, identityOf, presented, type ResponseHeaders } from './admitted.ts';
import { forwardStream, type StreamSink } from './forward-stream.ts';
import type { InFlight } from './in-flight.ts';
import type { Invocation, InvocationSettings, ModelRoute } from './invocation.types.ts';
import type { AnswerPresenter, DialectPresenter, StreamPresenter } from './presenter.types.ts';
import { clientErrorOf, logRefusals } from './provider-error.ts';
import type { RouteRunner } from './route-runner.ts';
import { type UpstreamSignal, upstreamSignal } from './upstream-signal.ts';

/** Provider method that returns a whole answer, by dialect. */
const ASKS: Readonly<Record<RequestDialect, 'complete' | 'embed' | 'rerank'>> = {
  chat: 'complete',
  messages: 'complete',
  embeddings: 'embed',
  rerank: 'rerank',
};

/** Runs calls from admission to settlement. It knows presenters but no dialects. */
export class InvocationService {
  readonly #admission: Admission;
  readonly #runner: RouteRunner;
  readonly #inFlight: InFlight;
  readonly #settings: InvocationSettings;
  readonly #reads: AccountConcurrency;

  constructor(admission: Admission, runner: RouteRunner, inFlight: InFlight, settings: InvocationSettings) {
    this.#admission = admission;
    this.#runner = runner;
    this.#inFlight = inFlight;
    this.#settings = settings;
    this.#reads = new AccountConcurrency(settings.drainsPerAccount);
  }

  /**
   * Returns one complete answer, or undefined when the client disconnected before it arrived. The charge is committed when the promise
   * resolves. Throws AppError. A call that was admitted (`onAdmitted` gets its headers, errors carry them too) is settled in every case.
   */
  complete(
    invocation: Invocation,
    presenter: Pick<DialectPresenter, 'answer'>,
    onAdmitted: (headers: ResponseHeaders) => void,
  ): Promise<{ body: JsonObject; headers: ResponseHeaders } | undefined> {
    return this.#inFlight.run(async () => {
      const admitted = await this.#admit(invocation);
      if (!admitted) {
        return undefined;
      }
      onAdmitted(headersOf(admitted));
      const answered = await this.#answer(admitted, presenter);
      if (!answered) {
        return undefined;
      }
      const end = await admitted.call.complete(answered.answer.finishReason);
      return { body: answered.present(end), headers: headersOf(admitted) };
    });
  }

  /**
   * Streams one answer to the sink that `open` creates once the money is held. Errors before the first frame are thrown as AppError,
   * later ones are sent in the stream.
   */
  stream(
    invocation: Invocation,
    presenter: DialectPresenter,
    open: (headers: ResponseHeaders) => StreamSink,
  ): Promise<void> {
    return this.#inFlight.run(async () => {
      const admitted = await this.#admit(invocation);
      if (!admitted) {
        return;
      }
      const sink = open(headersOf(admitted));
      try {
        await this.#relay(admitted, presenter, sink);
      } catch (error) {
        if (!sink.opened) {
          sink.release();
          throw error;
        }
        await sink.break(presenter.failure(appErrorOf(error), identityOf(admitted)));
      }
    });
  }

  /** Returns our count of a call's input, or undefined when the client disconnected. Throws AppError as admission does, except for funds. */
  countInput(invocation: Invocation): Promise<number | undefined> {
    return this.#inFlight.run(() =>
      this.#unlessLeft(invocation, () => this.#admission.countInput(invocation)),
    );
  }

  /** Returns what a call would hold, or undefined when the client disconnected. Throws AppError as admission does, except for funds. */
  estimate(invocation: Invocation): Promise<CallEstimate | undefined> {
    return this.#inFlight.run(() => this.#unlessLeft(invocation, () => this.#admission.estimate(invocation)));
  }

  /** Rejects new calls, lets running ones continue for `deadlineMs`, then ends and settles them. */
  drain(deadlineMs: number): Promise<void> {
    return this.#inFlight.drain(deadlineMs);
  }

  /** Returns undefined when the client disconnected before its money was held. */
  #admit(invocation: Invocation): Promise<Admitted | undefined> {
    return this.#unlessLeft(invocation, () => this.#admission.admit(invocation));
  }

  async #unlessLeft<T>(invocation: Invocation, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (invocation.signal.aborted && !(error instanceof AppError)) {
        return undefined;
      }
      throw error;
    }
  }

  async #answer(
    admitted: Admitted,
    presenter: Pick<DialectPresenter, 'answer'>,
  ): Promise<{ answer: ProviderAnswer; present: AnswerPresenter } | undefined> {
    const { call } = admitted;
    try {
      const run = await this.#run(admitted, async (provider, route, upstream) => {
        const ask = (request: ProviderRequest) =>
          provider[ASKS[admitted.invocation.dialect]](request, upstream.signal);
        const answer = await asked(admitted, provider, route, ask);
        return { answer, present: presented(admitted, answer, provider, presenter) };
      });
      run.upstream.release();
      call.answeredBy(run.route);
      call.deliver(run.value.answer);
      await call.count();
      if (admitted.invocation.signal.aborted) {
        await call.leave();
        return undefined;
      }
      return run.value;
    } catch (error) {
      await this.#settleFailure(admitted, error);
      return undefined;
    }
  }

  async #relay(admitted: Admitted, dialect: DialectPresenter, sink: StreamSink): Promise<void> {
    const opened = await this.#openStream(admitted, dialect);
    if (!opened) {
      sink.release();
      return;
    }
    const { call, invocation } = admitted;
    const { presenter, upstream, route } = opened;
    try {
      const outcome = await forwardStream({ sink, call, client: invocation.signal, ...opened });
      if (outcome === 'left') {
        await call.leave();
        sink.release();
        return;
      }
      if (outcome === 'shutdown') {
        throw new ProviderFailure('aborted');
      }
      const end = await (outcome === 'cut' ? call.cut() : call.complete(call.meter.finishReason ?? 'stop'));
      await sink.write(presenter.ending(end));
      sink.end();
    } catch (error) {
      if (error instanceof ProviderFailure) {
        this.#runner.reportBroken(invocation.caller.accountId, route, error);
      }
      await this.#settleFailure(admitted, error);
    } finally {
      upstream.release();
    }
  }

  /** Returns undefined when the client disconnected before the first token. */
  async #openStream(admitted: Admitted, dialect: DialectPresenter): Promise<OpenedStream | undefined> {
    try {
      const run = await this.#run(admitted, (provider, route, upstream) =>
        asked(admitted, provider, route, (request) => provider.stream(request, upstream.signal)),
      );
      const { provider, route, upstream, value: parts } = run;
      admitted.call.answeredBy(route);
      const presenter = dialect.stream(provider.dialect, identityOf(admitted));
      return { parts, presenter, route, upstream, onDisconnect: provider.onDisconnect };
    } catch (error) {
      await this.#settleFailure(admitted, error);
      return undefined;
    }
  }

  /** Returns the first answer from the call's models, tried in order. */
  async #run<T>(admitted: Admitted, call: ProviderCall<T>): Promise<RouteAnswer<T>> {
    for (;;) {
      try {
        return await this.#runModel(admitted, call);
      } catch (error) {
        // after an answer that is too long another model's would be, too, and would be billed as well
        const failed = error instanceof ProviderFailure && !['aborted', 'too_long'].includes(error.reason);
        if (!failed || !admitted.call.fallBack()) {
          throw error;
        }
      }
    }
  }

  #runModel<T>(admitted: Admitted, call: ProviderCall<T>): Promise<RouteAnswer<T>> {
    const { signal, caller } = admitted.invocation;
    return this.#runner.run({
      accountId: caller.accountId,
      routes: admitted.call.alternative.model.routes,
      hasFallback: admitted.call.parts.alternatives.hasNext,
      signal,
      attempts: admitted.call.attempts,
      call: async (provider, route) => {
        const upstream = upstreamSignal({
          client: signal,
          inFlight: this.#inFlight,
          onDisconnect: provider.onDisconnect,
          accountId: caller.accountId,
          reads: this.#reads,
          drainMs: this.#settings.drainMs,
          onAbandon: () => admitted.call.abandon(),
        });
        try {
          return { value: await call(provider, route, upstream), provider, route, upstream };
        } catch (error) {
          upstream.release();
          if (error instanceof ProviderFailure && error.usage) {
            admitted.call.noteUnreadable(route, error.usage);
          }
          throw error;
        }
      },
    });
  }

  /** Settles a failed call and throws the error to send to the client. Returns normally when the client disconnected. */
  async #settleFailure(admitted: Admitted, error: unknown): Promise<void> {
    const { call, invocation } = admitted;
    if (!(error instanceof ProviderFailure)) {
      await call.fail(appErrorOf(error));
      throw error;
    }
    if (error.reason !== 'aborted') {
      const told = clientErrorOf(error, call.alternative);
      logRefusals(call.parts, call.attempts);
      await call.fail(told, error.reason === 'timeout');
      throw told;
    }
    if (invocation.signal.aborted) {
      await call.leave();
      return;
    }
    const told = new AppError('service_unavailable', 'the service is restarting, please retry', {
      retryAfterSeconds: 1,
    });
    await call.shutDown(told);
    throw told;
  }
}

type ProviderCall<T> = (provider: Provider, route: ModelRoute, upstream: UpstreamSignal) => Promise<T>;

interface RouteAnswer<T> {
  readonly value: T;
  readonly provider: Provider;
  readonly route: ModelRoute;
  readonly upstream: UpstreamSignal;
}

interface OpenedStream {
  readonly parts: AsyncIterable<StreamBatch>;
  readonly presenter: StreamPresenter;
  readonly route: ModelRoute;
  readonly upstream: UpstreamSignal;
  readonly onDisconnect: Provider['onDisconnect'];
}

function appErrorOf(error: unknown): AppError {
  return error instanceof AppError
    ? error
    : new AppError('internal_error', 'an internal error occurred; support can trace it by its request id', {
        cause: error,
      });
}
