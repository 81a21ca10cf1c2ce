import { z } from 'zod';
import { type EngineSettings, EngineSettingsError } from '../registry.ts';

/** How to run the server of an engine on this host, one process per GPU. Times are in seconds. */
export const processSettings = z.strictObject({
  command: z
    .array(z.string().min(1).max(4_096))
    .min(1)
    .max(200)
    .describe(
      "program and arguments, run without a shell. `{port}` and `{gpu}` stand for the process's port and GPU",
    ),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a variable name'), z.string())
    .default({})
    .describe(
      'added to `PATH`, `HOME` and the library, GPU, cache and proxy variables; nothing else is passed on',
    ),
  health: z
    .string()
    .regex(/^\/[\x21-\x7e]*$/, 'must be a path')
    .describe('path that responds with 2xx once the server is ready'),
  warmup: z
    .strictObject({
      path: z
        .string()
        .regex(/^\/[\x21-\x7e]*$/, 'must be a path')
        .describe('where the request is POSTed'),
      body: z.json().describe('its JSON body, e.g. for the smallest image of the model'),
    })
    .optional()
    .describe(
      'a request that must succeed with 2xx before the server gets work, so the first customer does not wait for the model to load',
    ),
  start_timeout: z
    .int()
    .min(1)
    .max(3_600)
    .default(180)
    .describe(
      'from its start to its first successful health check, including the warm-up; models take long to load',
    ),
  unhealthy_after: z
    .int()
    .min(1)
    .max(3_600)
    .default(60)
    .describe(
      'how long health checks may fail before the server is restarted; some servers do not respond while they work',
    ),
  stop_timeout: z.int().min(0).max(10).default(5).describe('time between SIGTERM and SIGKILL'),
  gpus: z
    .array(z.int().min(0).max(127))
    .min(1)
    .max(128)
    .optional()
    .describe('indices of the GPUs to use; by default all GPUs of the host'),
});

export type ProcessSettings = z.output<typeof processSettings>;

/**
 * Returns the `process` of an entry, undefined when it has none. Throws EngineSettingsError with one line that names the entry and the
 * setting.
 */
export function parseProcess(entry: EngineSettings): ProcessSettings | undefined {
  if (entry.process === undefined) {
    return undefined;
  }
  if (entry.base_url !== undefined) {
    throw new EngineSettingsError(
      `engines.${entry.id}.base_url: conflicts with process, which sets it; set only one of them`,
    );
  }
  const parsed = processSettings.safeParse(entry.process);
  if (parsed.success) {
    return parsed.data;
  }
  const [issue] = parsed.error.issues;
  const path = [...(issue?.path ?? [])].join('.');
  const place = path === '' ? '' : `.${path}`;
  throw new EngineSettingsError(`engines.${entry.id}.process${place}: ${issue?.message ?? 'is invalid'}`);
}
