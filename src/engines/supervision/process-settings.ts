import { z } from 'zod';
import { type EngineSettings, EngineSettingsError } from '../registry.ts';

/** How to run the server of an engine on this host, one process per GPU. Times in seconds. */
export const processSettings = z.strictObject({
  command: z
    .array(z.string().min(1).max(4_096))
    .min(1)
    .max(200)
    .describe("program and arguments, without a shell. `{port}` and `{gpu}` stand for the process's own"),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a variable name'), z.string())
    .default({})
    .describe('beside `PATH`, `HOME`, library, GPU, cache and proxy variables; nothing else is passed on'),
  health: z
    .string()
    .regex(/^\/[\x21-\x7e]*$/, 'must be a path')
    .describe('path that answers 2xx once the server can work'),
  warmup: z
    .strictObject({
      path: z
        .string()
        .regex(/^\/[\x21-\x7e]*$/, 'must be a path')
        .describe('where it goes, by POST'),
      body: z.json().describe('its JSON, e.g. the smallest picture of the model'),
    })
    .optional()
    .describe(
      'a request to be answered 2xx before the server takes work: it loads the model, not the first customer',
    ),
  start_timeout: z
    .int()
    .min(1)
    .max(3_600)
    .default(180)
    .describe('from its start to its first healthy answer, warm-up included: models take long to load'),
  unhealthy_after: z
    .int()
    .min(1)
    .max(3_600)
    .default(60)
    .describe('without a healthy answer before it is restarted: a server may not answer while it works'),
  stop_timeout: z.int().min(0).max(10).default(5).describe('between SIGTERM and SIGKILL'),
  gpus: z
    .array(z.int().min(0).max(127))
    .min(1)
    .max(128)
    .optional()
    .describe('indices of the GPUs to use; all of the host unless given'),
});

export type ProcessSettings = z.output<typeof processSettings>;

/** Reads `process` of an entry; undefined without one. Throws EngineSettingsError with one line naming entry and setting. */
export function parseProcess(entry: EngineSettings): ProcessSettings | undefined {
  if (entry.process === undefined) {
    return undefined;
  }
  if (entry.base_url !== undefined) {
    throw new EngineSettingsError(`engines.${entry.id}.base_url: is made by process; set one of them`);
  }
  const parsed = processSettings.safeParse(entry.process);
  if (parsed.success) {
    return parsed.data;
  }
  const [issue] = parsed.error.issues;
  const path = [...(issue?.path ?? [])].join('.');
  const place = path === '' ? '' : `.${path}`;
  throw new EngineSettingsError(`engines.${entry.id}.process${place}: ${issue?.message ?? 'is wrong'}`);
}
