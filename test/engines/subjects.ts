import { fileURLToPath } from 'node:url';
import { comfyUiKind } from '../../src/engines/comfyui/comfyui-engine.ts';
import type { Engine, EngineRequest } from '../../src/engines/engine.types.ts';
import { falKind } from '../../src/engines/fal/fal-engine.ts';
import { httpKind } from '../../src/engines/http/http-engine.ts';
import { novitaKind } from '../../src/engines/novita/novita-engine.ts';
import { openAiKind } from '../../src/engines/openai/openai-engine.ts';
import type { EngineKind } from '../../src/engines/registry.ts';
import { sdCppKind } from '../../src/engines/sdcpp/sdcpp-engine.ts';
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
import type { EngineServer } from '../factories/engine-server.ts';
import {
  BedrockServer,
  FireflyServer,
  KlingServer,
  VertexServer,
} from '../factories/engine-signed-services.ts';
import { Automatic1111Server, StabilityServer } from '../factories/engine-synchronous-services.ts';
import { serviceEntry } from '../factories/service-entries.ts';

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
export const TIMEOUTS = { connect_ms: 2_000, first_byte_ms: 10_000, idle_ms: 10_000, total_ms: 20_000 };

/** An engine and the server that it speaks to. */
export interface Subject {
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

export const SUBJECTS: readonly Subject[] = [
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

/** Returns the engine of a subject, for its server once that has started. */
export function createEngine({ name, kind, server, settings }: Subject, timeouts = TIMEOUTS): Engine {
  const own = settings(server.url, timeouts.first_byte_ms);
  return kind.create({ ...own, id: 'gpu', kind: engineKindName(name), poll_interval_ms: 10, timeouts });
}

export function engineKindName(name: string): string {
  return name.split(/[ ,]/)[0] ?? '';
}
