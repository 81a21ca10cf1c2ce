import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { environmentWithCurl } from '../setup/curl-from-apt.ts';
import { PACKAGES_TIMEOUT_MS } from '../setup/debian-packages.ts';
import { describeMainJob } from './main-job.ts';
import { startService } from './running-service.ts';

const run = promisify(execFile);
const EXAMPLES = fileURLToPath(new URL('../../docs/examples/', import.meta.url));

describeMainJob(
  () => startService(),
  (service) => {
    describe('the examples run as written', () => {
      const environment = () => ({
        ...process.env,
        TOLLGATE_URL: service().url,
        TOLLGATE_KEY: service().key,
      });

      test.each(['openai.mjs', 'anthropic.mjs'])('%s', async (file) => {
        const { stdout } = await run(process.execPath, [join(EXAMPLES, file)], { env: environment() });
        expect(stdout).toMatch(/builtin model[\s\S]*\d+ tokens\n$/);
      });

      test(
        'curl.sh',
        async () => {
          const env = { ...environment(), ...(await environmentWithCurl(process.env)) };
          const { stdout } = await run('bash', [join(EXAMPLES, 'curl.sh')], { env });
          expect(stdout.match(/TASK_STATUS_SUCCEED/g)).toHaveLength(2);
          expect(stdout).toContain('"remaining_credits":"9.');
        },
        PACKAGES_TIMEOUT_MS,
      );
    });
  },
);
