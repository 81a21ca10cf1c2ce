import { z } from 'zod';
import { catalogFile, modelEntry } from '../../src/catalog/catalog-file.schema.ts';
import { modelRoutes } from '../../src/catalog/model-routes.schema.ts';
import { comfyUiSettings } from '../../src/engines/comfyui/comfyui-settings.ts';
import { upstreamFields } from '../../src/engines/engine-settings.ts';
import { falSettings } from '../../src/engines/fal/fal-settings.ts';
import { gpuMemorySettings } from '../../src/engines/gpu-memory.ts';
import { httpSettings } from '../../src/engines/http/http-settings.ts';
import { signatureSettings } from '../../src/engines/http/signature-settings.ts';
import { novitaSettings } from '../../src/engines/novita/novita-settings.ts';
import { openAiSettings } from '../../src/engines/openai/openai-settings.ts';
import { sdCppSettings } from '../../src/engines/sdcpp/sdcpp-settings.ts';
import { processSettings } from '../../src/engines/supervision/process-settings.ts';
import { providerSettingsSchema } from '../../src/providers/provider-settings.ts';
import { schemaTable } from './schema-table.ts';

const HEAD = `# tollgate.yaml

\`npm run generate\` writes this page from the schemas that validate the file. Unknown settings are errors. An invalid file is rejected with
one line: a starting process exits with code 2, a reload has no effect. \`tollgate catalog check FILE\` reports the same line before a
deployment. \`\${NAME}\` and \`\${NAME:-default}\` are taken from the environment of the process; inside \`{ … }\` such a value must be quoted
to be valid YAML. Prices are quoted decimals in USD with up to 12 decimal places.

\`\`\`yaml
providers:
  - { id: openai, protocol: openai, base_url: https://api.openai.com/v1, api_key: "\${OPENAI_API_KEY:-}" }
models:
  - id: acme/small
    endpoints: [chat, messages]
    context_length: 128000
    max_output_tokens: 16384
    pricing: { prompt: "0.00000015", completion: "0.0000006" }
    routes: [{ provider: openai, model: gpt-4o-mini }]
\`\`\`
`;

const ENGINES: readonly (readonly [kind: string, schema: z.ZodType, what: string])[] = [
  ['comfyui', comfyUiSettings, 'A ComfyUI server.'],
  ['sdcpp', sdCppSettings, '`sd-server` of stable-diffusion.cpp.'],
  ['openai', openAiSettings, "A server that speaks OpenAI's Images or Videos API."],
  ['novita', novitaSettings, "Novita's asynchronous API, or another Tollgate."],
  ['fal', falSettings, "fal.ai's queue."],
  [
    'http',
    httpSettings,
    'Any service that takes an order and responds with a file, or can be polled for its state.',
  ],
];

/** Settings with the same meaning for every kind behind HTTP. */
const SHARED = [
  'id',
  'kind',
  'slots',
  'gpu_memory',
  'headers',
  'timeouts',
  'poll_interval_ms',
  'private_downloads',
];

/** Returns every setting of tollgate.yaml as a page of the docs. */
export function catalogReference(): string {
  const sections: [title: string, text: string][] = [
    ['`models`', schemaTable(modelEntry, ['routes'])],
    ...modelRoutes.map((route, index): [string, string] => [
      index === 0 ? '`models[].routes`, to a provider' : '`models[].routes`, to an engine',
      schemaTable(route),
    ]),
    ...providerSettingsSchema.options.map((option): [string, string] => [
      `\`providers\`, \`protocol: ${option.shape.protocol.value}\``,
      schemaTable(option),
    ]),
    [
      '`engines`',
      `\`kind: builtin\` renders by itself, offline, and takes \`id\`, \`kind\` and \`slots\`: concurrent runs per worker host, 1 to 1,000, or \`auto\` for
one per GPU. The default is 2; for the kinds below it is 1, and 20 for \`novita\`, \`fal\` and \`http\`. [Adding an engine](../adding-an-engine.md)
explains the settings. Every kind behind HTTP also takes these:

${schemaTable(z.object(upstreamFields), ['id', 'kind', 'slots', 'gpu_memory', 'base_url', 'api_key'])}`,
    ],
    ...ENGINES.map(([kind, schema, what]): [string, string] => [
      `\`engines\`, \`kind: ${kind}\``,
      `${what}\n\n${schemaTable(schema, SHARED)}`,
    ]),
    ...signatureSettings.options.map((option): [string, string] => [
      `\`engines[].signature\`, \`kind: ${option.shape.kind.value}\``,
      schemaTable(option),
    ]),
    [
      '`engines[].process`',
      `Instead of \`base_url\`: the worker runs the server itself ([GPU hosts](../gpu-hosts.md)). Times in seconds.\n\n${schemaTable(processSettings)}`,
    ],
    [
      '`engines[].gpu_memory`',
      `For engines that share a GPU of their worker's host ([GPU hosts](../gpu-hosts.md#engines-that-share-a-gpu)).\n\n${schemaTable(gpuMemorySettings)}`,
    ],
    [
      '`limits`, `aliases`, `seller`',
      schemaTable(catalogFile.pick({ limits: true, aliases: true, seller: true })),
    ],
  ];
  return `${HEAD}${sections.map(([title, text]) => `\n## ${title}\n\n${text}\n`).join('')}`;
}
