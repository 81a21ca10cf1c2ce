import { fileURLToPath } from 'node:url';
import { comfyUiKind } from '../../src/engines/comfyui/comfyui-engine.ts';
import { type Engine, EngineError, type EngineRequest } from '../../src/engines/engine.types.ts';
import { falKind } from '../../src/engines/fal/fal-engine.ts';
import { httpKind } from '../../src/engines/http/http-engine.ts';
import { novitaKind } from '../../src/engines/novita/novita-engine.ts';
import { openAiKind } from '../../src/engines/openai/openai-engine.ts';
import type { EngineKind } from '../../src/engines/registry.ts';
import { sdCppKind } from '../../src/engines/sdcpp/sdcpp-engine.ts';
import { bytesOf } from '../../src/lib/file-content.ts';
import { identifyContent } from '../../src/media/file-signature.ts';
import { RunFailureError } from '../../src/tasks/engine-run.ts';
import { type AttemptMemory, attempt, engineRequest, freshMemory } from '../factories/engine-attempt.ts';
import { ComfyUiServer } from '../factories/engine-comfyui.ts';
import { FalServer } from '../factories/engine-fal.ts';
import { NovitaServer } from '../factories/engine-novita.ts';
import { OpenAiImageServer } from '../factories/engine-openai.ts';
import {
  BlackForestLabsServer,
  LumaServer,
  MiniMaxServer,
  RunwayServer,
  VeoServer,
} from '../factories/engine-polled-services.ts';
import { REPLICATE, ReplicateServer } from '../factories/engine-replicate.ts';
import { SdServer } from '../factories/engine-sdcpp.ts';
import { type EngineFault, type EngineServer, UPSTREAM_SECRET } from '../factories/engine-server.ts';
import {
  BedrockServer,
  FireflyServer,
  KlingServer,
  VertexServer,
} from '../factories/engine-signed-services.ts';
import { Automatic1111Server, StabilityServer } from '../factories/engine-synchronous-services.ts';
import { eventually } from '../factories/eventually.ts';
import { serviceEntry } from '../factories/service-entries.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const WORKFLOW = {
  file: 'workflows/tiny.json',
  parameters: {
    prompt: '6.inputs.text',
    seed: '3.inputs.seed',
    width: '5.inputs.width',
    height: '5.inputs.height',
  },
};
const TIMEOUTS = { connect_ms: 2_000, first_byte_ms: 10_000, idle_ms: 10_000, total_ms: 20_000 };
const IMPATIENT = { ...TIMEOUTS, first_byte_ms: 150 };

interface Subject {
  readonly name: string;
  readonly kind: EngineKind;
  readonly server: EngineServer;
  readonly request: Partial<EngineRequest>;
  readonly settings: (url: string, patienceMs: number) => Record<string, unknown>;
  /** Whether the upstream bills every accepted submit. */
  readonly paid: boolean;
  /** How the engine recovers a run that it started without getting the answer. */
  readonly recovery: 'finds' | 'asks again' | 'never again';
  /** Whether its files come in the JSON of the answer. */
  readonly inline?: boolean;
  /** Whether the answer to the submit is the output, so that there is nothing to poll. */
  readonly synchronous?: boolean;
}

/** A service that is polled, configured by its example in docs/examples/engines. */
function polled(
  name: string,
  example: string,
  server: EngineServer,
  request: Partial<EngineRequest>,
): Subject {
  const settings = (url: string) => serviceEntry(example, url);
  return {
    name: `http, as ${name}`,
    kind: httpKind,
    server,
    request,
    settings,
    paid: true,
    recovery: 'never again',
  };
}

/** A service whose answer is the file. */
function synchronous(
  name: string,
  example: string,
  server: EngineServer,
  request: Partial<EngineRequest> & { paid: boolean },
): Subject {
  const { paid, ...rest } = request;
  const settings = (url: string, timeout_ms: number) => {
    const entry = serviceEntry(example, url);
    return { ...entry, submit: { ...(entry.submit as object), timeout_ms } };
  };
  return {
    ...{ name: `http, as ${name}`, kind: httpKind, server, request: rest, settings, paid },
    ...{ recovery: paid ? 'never again' : 'asks again', inline: true, synchronous: true },
  };
}

const VIDEO = { kind: 'video', width: 1280, height: 720, seconds: 5 } as const;

const SUBJECTS: readonly Subject[] = [
  {
    name: 'openai videos',
    kind: openAiKind,
    server: new OpenAiImageServer(),
    request: { kind: 'video' },
    settings: (url) => ({ base_url: `${url}/v1` }),
    paid: false,
    recovery: 'asks again',
  },
  {
    name: 'openai videos, paid',
    kind: openAiKind,
    server: new OpenAiImageServer(),
    request: { kind: 'video' },
    settings: (url) => ({ base_url: `${url}/v1`, paid: true }),
    paid: true,
    recovery: 'never again',
  },
  {
    name: 'openai images',
    kind: openAiKind,
    server: new OpenAiImageServer(),
    request: {},
    settings: (url, image_timeout_ms) => ({ base_url: `${url}/v1`, image_timeout_ms }),
    paid: false,
    recovery: 'asks again',
    inline: true,
    synchronous: true,
  },
  {
    name: 'openai images, paid',
    kind: openAiKind,
    server: new OpenAiImageServer(),
    request: {},
    settings: (url, image_timeout_ms) => ({ base_url: `${url}/v1`, paid: true, image_timeout_ms }),
    paid: true,
    recovery: 'never again',
    inline: true,
    synchronous: true,
  },
  {
    name: 'comfyui',
    kind: comfyUiKind(FOLDER),
    server: new ComfyUiServer(),
    request: {},
    settings: (url) => ({ base_url: url, workflows: { tiny: { kind: 'image', ...WORKFLOW } } }),
    paid: false,
    recovery: 'finds',
  },
  {
    name: 'sdcpp images',
    kind: sdCppKind,
    server: new SdServer(),
    request: {},
    settings: (url) => ({ base_url: url }),
    paid: false,
    recovery: 'asks again',
    inline: true,
  },
  {
    name: 'novita',
    kind: novitaKind,
    server: new NovitaServer(),
    request: {},
    settings: (url) => ({ base_url: url, api_key: 'sk-novita' }),
    paid: true,
    recovery: 'never again',
  },
  {
    name: 'novita, another Tollgate',
    kind: novitaKind,
    server: Object.assign(new NovitaServer(), { tollgate: true }),
    request: {},
    settings: (url) => ({ base_url: url, api_key: 'sk-tollgate', dialect: 'tollgate' }),
    paid: true,
    recovery: 'finds',
  },
  {
    name: 'fal',
    kind: falKind,
    server: new FalServer(),
    request: { model: 'fal-ai/tiny/dev' },
    settings: (url) => ({ base_url: url, api_key: 'sk-fal' }),
    paid: true,
    recovery: 'never again',
  },
  {
    name: 'http, as Replicate',
    kind: httpKind,
    server: new ReplicateServer(),
    request: { model: 'acme/tiny' },
    settings: (url) => ({ ...REPLICATE, base_url: url, api_key: 'r8_key' }),
    paid: true,
    recovery: 'never again',
  },
  polled('Black Forest Labs', 'black-forest-labs', new BlackForestLabsServer(), {}),
  polled('Runway', 'runway', new RunwayServer(), VIDEO),
  polled('Luma', 'luma', new LumaServer(), VIDEO),
  polled('MiniMax', 'minimax', new MiniMaxServer(), VIDEO),
  polled('Veo', 'gemini-veo', new VeoServer(), VIDEO),
  polled('Kling', 'kling', new KlingServer(), VIDEO),
  polled('Firefly', 'firefly', new FireflyServer(), {}),
  {
    // with the limits of an image: a body above those of a video would take long to send
    ...polled('Vertex', 'vertex-veo', new VertexServer(), { ...VIDEO, kind: 'image' }),
    inline: true,
  },
  synchronous('Stability', 'stability', new StabilityServer(), { width: 1024, height: 1024, paid: true }),
  synchronous('Bedrock', 'bedrock-nova-canvas', new BedrockServer(), { paid: true }),
  synchronous('AUTOMATIC1111', 'automatic1111', new Automatic1111Server(), { paid: false }),
];

describe.each(SUBJECTS)('$name', (subject) => {
  const { server, kind, paid, recovery } = subject;
  let engine: Engine;

  beforeAll(async () => {
    await server.start();
    engine = create();
  });

  afterAll(async () => {
    await engine?.close();
    await server.close();
  });

  function create(timeouts = TIMEOUTS): Engine {
    const own = subject.settings(server.url, timeouts.first_byte_ms);
    return kind.create({ ...own, id: 'gpu', kind: engineKindName(subject), poll_interval_ms: 10, timeouts });
  }

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
      const first = create(fault === 'silent_after_accepting' ? IMPATIENT : TIMEOUTS);
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
    const dead = create();
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
      ...{ id: 'gone', kind: engineKindName(subject) },
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

function engineKindName({ name }: Subject): string {
  return name.split(/[ ,]/)[0] ?? '';
}

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
