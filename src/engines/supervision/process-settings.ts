import { z } from 'zod';
import { type EngineSettings, EngineSettingsError } from '../registry.ts';

/** How to run the server of an engine on this host, one process per GPU. Times in seconds. */
const processSchema = z.strictObject({
  /** Program and arguments, without a shell. `{port}` and `{gpu}` stand for the process's own. */
  command: z.array(z.string().min(1).max(4_096)).min(1).max(200),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a variable name'), z.string())
    .default({}),
  /** Path that answers 2xx once the server can work. */
  health: z.string().regex(/^\/[\x21-\x7e]*$/, 'must be a path'),
  /** From its start to its first healthy answer: models take long to load. */
  start_timeout: z.int().min(1).max(3_600).default(180),
  /** Without a healthy answer before it is started anew: a server may be deaf while it works. */
  unhealthy_after: z.int().min(1).max(3_600).default(60),
  /** Between SIGTERM and SIGKILL. */
  stop_timeout: z.int().min(0).max(10).default(5),
  /** Indices of the GPUs to use; all of the host unless given. */
  gpus: z.array(z.int().min(0).max(127)).min(1).max(128).optional(),
});

export type ProcessSettings = z.output<typeof processSchema>;

/** Reads `process` of an entry; undefined without one. Throws EngineSettingsError with one line naming entry and setting. */
export function parseProcess(entry: EngineSettings): ProcessSettings | undefined {
  if (entry.process === undefined) {
    return undefined;
  }
  if (entry.base_url !== undefined) {
    throw new EngineSettingsError(`engines.${entry.id}.base_url: is made by process; set one of them`);
  }
  const parsed = processSchema.safeParse(entry.process);
  if (parsed.success) {
    return parsed.data;
  }
  const [issue] = parsed.error.issues;
  const path = [...(issue?.path ?? [])].join('.');
  const place = path === '' ? '' : `.${path}`;
  throw new EngineSettingsError(`engines.${entry.id}.process${place}: ${issue?.message ?? 'is wrong'}`);
}
