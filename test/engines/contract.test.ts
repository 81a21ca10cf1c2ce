import { type Engine, EngineError, type EngineRequest } from '../../src/engines/engine.types.ts';
import { bytesOf } from '../../src/lib/file-content.ts';
import { identifyContent } from '../../src/media/file-signature.ts';
import { RunFailureError } from '../../src/tasks/engine-run.ts';
import { type AttemptMemory, attempt, engineRequest, freshMemory } from '../factories/engine-attempt.ts';
import { type EngineFault, type EngineServer, UPSTREAM_SECRET } from '../factories/engine-server.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { createEngine, engineKindName, SUBJECTS, TIMEOUTS } from './subjects.ts';

const IMPATIENT = { ...TIMEOUTS, first_byte_ms: 150 };

describe.each(SUBJECTS)('$name', (subject) => {
  const { server, kind, paid, recovery } = subject;
  let engine: Engine;

  beforeAll(async () => {
    await server.start();
    engine = createEngine(subject);
  });

  afterAll(async () => {
    await engine?.close();
    await server.close();
  });

  function order(): EngineRequest {
    return engineRequest(subject.request);
  }

  async function failureOf(run: Promise<unknown>) {
    const error: unknown = await run.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof RunFailureError || error instanceof EngineError)) {
      throw new Error('the run did not fail with a run or engine error', { cause: error });
    }
    expect(error.failure.message).not.toContain(UPSTREAM_SECRET);
    return error.failure;
  }

  async function fails(fault: EngineFault, request = order(), memory: AttemptMemory = freshMemory()) {
    server.reset(fault);
    return await failureOf(attempt(engine, request, { memory }));
  }

  /** Runs the next attempt after the first one died or failed without an answer. */
  async function secondAttempt(request: EngineRequest, memory: AttemptMemory) {
    server.fault = undefined;
    const next = { ...memory, attempt: 2 };
    return await attempt(engine, request, { memory: next });
  }

  test('makes a file and reports what it is', async () => {
    server.reset();
    const { outputs, status } = await attempt(engine, order());
    expect(status).toMatchObject({ state: 'succeeded', progress: 1 });
    expect(outputs.map((output) => output.index)).toEqual([0]);
    expect((await bytesOf(outputs[0]!.file)).equals(server.media)).toBe(true);
    expect(server.accepted).toBe(1);
    expect(engine.capabilities.paid).toBe(paid);
  });

  test('is fast enough for three calls at a time', async () => {
    server.reset();
    const runs = await Promise.all([1, 2, 3].map(() => attempt(engine, order())));
    expect(runs.map((run) => run.outputs.length)).toEqual([1, 1, 1]);
    expect(server.accepted).toBe(3);
  });

  test('treats a 429 as an answer: nothing runs, and the pool waits as long as requested', async () => {
    expect(await fails('rate_limit')).toMatchObject({
      code: 'upstream_rate_limited',
      retryable: true,
      retryAfterMs: 1_000,
    });
    expect(await fails('busy')).toMatchObject({
      code: 'upstream_busy',
      retryable: true,
      retryAfterMs: 2_000,
    });
    expect(server.accepted).toBe(0);
  });

  test('does not retry when the key is refused', async () => {
    expect(await fails('refuses_key')).toMatchObject({ code: 'upstream_misconfigured', retryable: false });
  });

  test('fails permanently on refused content, without quoting the upstream', async () => {
    const failure = await fails('refuses_content');
    // a graph that ComfyUI rejects is the operator's fault; sd-server does not say why it rejects
    const codes: Readonly<Record<string, string>> = {
      comfyui: 'upstream_misconfigured',
      sdcpp: 'upstream_rejected',
    };
    const code = codes[/^[a-z]+/.exec(subject.name)?.[0] ?? ''] ?? 'content_refused';
    expect(failure).toMatchObject({ code, retryable: false });
  });

  test.each(['error_after_accepting', 'reset_after_accepting', 'silent_after_accepting'] as const)(
    'never pays twice for an uncertain submit (%s)',
    async (fault) => {
      const request = order();
      const memory = freshMemory();
      server.reset(fault);
      const first = createEngine(subject, fault === 'silent_after_accepting' ? IMPATIENT : TIMEOUTS);
      const failure = await failureOf(attempt(first, request, { memory }));
      await first.close();
      expect(server.accepted).toBe(1);
      if (recovery === 'never again') {
        expect(failure).toMatchObject({ code: 'submit_unconfirmed', retryable: false });
        const later = await failureOf(secondAttempt(request, memory));
        expect(later.retryable).toBe(false);
        expect(server.accepted).toBe(1);
        return;
      }
      expect(failure.retryable).toBe(true);
      // The task path forgets a run that is over.
      const over = failure.code !== 'submit_unconfirmed';
      const { outputs } = await secondAttempt(request, over ? freshMemory() : memory);
      expect(outputs).toHaveLength(1);
      expect(server.accepted).toBe(recovery === 'finds' ? 1 : 2);
    },
  );

  test('does not pay twice when a process died before it stored the reference', async () => {
    server.reset();
    const request = order();
    const dead = createEngine(subject);
    await dead.submit(request, contextOf());
    await untilAccepted(server);
    const closing = dead.close();
    const memory = { engineReference: null, engineSubmittedAt: paid ? new Date() : null, attempt: 2 };
    const second = attempt(engine, request, { memory });
    if (recovery === 'never again') {
      expect(await failureOf(second)).toMatchObject({ code: 'submit_unconfirmed', retryable: false });
    } else {
      expect((await second).outputs).toHaveLength(1);
    }
    await closing;
    expect(server.accepted).toBe(recovery === 'asks again' ? 2 : 1);
  });

  test('knows that nothing was started at an unreachable upstream', async () => {
    const nowhere = kind.create({
      ...subject.settings('http://127.0.0.1:1', 1_000),
      ...{ id: 'gone', kind: engineKindName(subject.name) },
    });
    const failure = await failureOf(attempt(nowhere, order()));
    expect(failure).toMatchObject({ code: 'upstream_unreachable', retryable: true });
    await nowhere.close();
  });

  test('leaves a run that never ends as soon as its task is aborted', async () => {
    server.reset('never_finishes');
    const abort = new AbortController();
    const reason = new Error('canceled');
    const running = attempt(engine, order(), { signal: abort.signal });
    await untilAccepted(server);
    abort.abort(reason);
    await expect(running).rejects.toMatchObject(
      subject.synchronous
        ? { message: expect.stringMatching(/cancel|abort/i) }
        : { name: expect.any(String) },
    );
  });

  test('delivers an output of the wrong type unchanged, and rejects it by its first bytes', async () => {
    server.reset('output_is_html');
    const { outputs } = await attempt(engine, order());
    await expect(identifyContent(outputs[0]!.file, 'image', 1_000_000)).rejects.toThrow(
      'the file is not an accepted type of image',
    );
  });

  test('does not accept an output over the limit', async () => {
    expect(await fails('output_too_large')).toMatchObject({ code: 'output_too_large', retryable: false });
  });

  test('leaves no file when an output breaks off, and fetches it in the next attempt without a new run', async () => {
    // A poll of an inline result hits the fault as well and is simply repeated.
    server.reset('output_cut', subject.inline && !subject.synchronous ? 6 : 1);
    const request = order();
    const memory = freshMemory();
    const failure = await failureOf(attempt(engine, request, { memory }));
    if (subject.synchronous) {
      expect(failure).toMatchObject({ code: paid ? 'submit_unconfirmed' : 'upstream_interrupted' });
      return;
    }
    expect(failure.retryable).toBe(true);
    const { outputs } = await secondAttempt(request, memory);
    expect((await bytesOf(outputs[0]!.file)).equals(server.media)).toBe(true);
    expect(server.accepted).toBe(1);
  });

  if (!subject.inline) {
    test('asks for a missing output again, or makes it again where that is free', async () => {
      server.reset('output_missing', 1);
      const request = order();
      const memory = freshMemory();
      const failure = await failureOf(attempt(engine, request, { memory }));
      const code = subject.name === 'comfyui' ? 'run_lost' : 'output_unavailable';
      expect(failure).toMatchObject({ code, retryable: true });
      expect((await secondAttempt(request, memory)).outputs).toHaveLength(1);
      expect(server.accepted).toBe(1);
    });
  }

  if (subject.name !== 'openai videos' && subject.name !== 'openai videos, paid') {
    test('fails on a success without an output', async () => {
      expect(await fails('no_output')).toMatchObject({ code: 'no_output', retryable: false });
    });
  }

  if (!subject.synchronous) {
    test('tolerates progress that runs backwards', async () => {
      server.reset('runs_backwards');
      const { outputs, progress } = await attempt(engine, order());
      expect(outputs).toHaveLength(1);
      expect(progress.every((fraction) => fraction >= 0 && fraction <= 1)).toBe(true);
    });

    test.each(['polls_break', 'garbage_polls'] as const)(
      'continues a run despite a few bad answers (%s)',
      async (fault) => {
        server.reset('never_finishes');
        const memory = freshMemory();
        const running = attempt(engine, order(), { memory });
        await untilStored(memory);
        server.fault = fault;
        server.faultCalls = 3;
        expect((await running).outputs).toHaveLength(1);
        expect(server.faultCalls).toBe(0);
        expect(server.accepted).toBe(1);
      },
    );

    test('fails when the run fails upstream, and allows another one', async () => {
      const failure = await fails('fails');
      expect(failure.code).toMatch(/^(upstream_error|out_of_memory|upstream_misconfigured)$/);
      expect(failure.retryable).toBe(subject.name !== 'novita, another Tollgate');
    });

    test('reports a run the server has forgotten as lost', async () => {
      const memory = freshMemory();
      server.reset('never_finishes');
      const abort = new AbortController();
      const request = order();
      const over = attempt(engine, request, { memory, signal: abort.signal }).catch(() => undefined);
      await untilStored(memory);
      abort.abort();
      await over;
      server.fault = 'forgets';
      const status = await engine
        .poll(memory.engineReference ?? '', request, contextOf())
        .catch((error: unknown) => ({ state: 'failed', failure: (error as EngineError).failure }));
      const code = subject.name === 'novita' ? 'run_not_found' : 'run_lost';
      expect(status).toMatchObject({ state: 'failed', failure: { code } });
    });
  }

  test('reports no more about a cancel than the upstream does', async () => {
    server.reset('never_finishes');
    const abort = new AbortController();
    const memory = freshMemory();
    const request = order();
    const over = attempt(engine, request, { memory, signal: abort.signal }).catch(() => undefined);
    await untilAccepted(server);
    await eventually(async () => memory.begun !== undefined);
    const answer = await engine.cancel(memory.begun ?? '', request);
    abort.abort();
    await over;
    expect(CANCELS[subject.name]).toContain(answer);
  });
});

/** Allowed answers about a run that is queued or has started. */
const CANCELS: Readonly<Record<string, readonly string[]>> = {
  'openai videos': ['requested'],
  'openai videos, paid': ['requested'],
  'openai images': ['requested'],
  'openai images, paid': ['requested'],
  comfyui: ['stopped'],
  'sdcpp images': ['stopped', 'unsupported'],
  novita: ['unsupported'],
  'novita, another Tollgate': ['stopped', 'requested'],
  fal: ['stopped', 'requested', 'unsupported'],
  'http, as Replicate': ['requested'],
  'http, as Black Forest Labs': ['unsupported'],
  'http, as Runway': ['requested'],
  'http, as Luma': ['requested'],
  'http, as MiniMax': ['unsupported'],
  'http, as Veo': ['unsupported'],
  'http, as Kling': ['unsupported'],
  'http, as Firefly': ['requested'],
  'http, as Vertex': ['unsupported'],
  'http, as Bedrock': ['unsupported'],
  'http, as Stability': ['unsupported'],
  'http, as AUTOMATIC1111': ['requested'],
};

function contextOf() {
  return {
    folder: temporaryFolder('engine'),
    signal: new AbortController().signal,
    onProgress: () => undefined,
  };
}

async function untilAccepted(server: EngineServer): Promise<void> {
  await eventually(async () => server.accepted > 0);
}

async function untilStored(memory: AttemptMemory): Promise<void> {
  await eventually(async () => memory.engineReference !== null);
}
