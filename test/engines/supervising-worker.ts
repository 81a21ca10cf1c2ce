import type { EngineSettings } from '../../src/engines/registry.ts';
import { superviseEngines } from '../../src/engines/supervision/supervise-engines.ts';
import { createLogger } from '../../src/lib/logger.ts';

/** A process that supervises one engine, for tests that kill it. On SIGUSR2 it exits without closing anything. */
const [, , folder = '', settings = ''] = process.argv;
process.once('SIGUSR2', () => process.exit(1));
await superviseEngines([JSON.parse(settings) as EngineSettings], {
  gpus: [],
  serves: () => true,
  dataFolder: folder,
  variables: { PATH: process.env.PATH },
  log: createLogger({ name: 'test', level: 'silent' }),
});
