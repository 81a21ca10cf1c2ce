import prepareRun from './prepare-run.ts';
import { startTestServices, type TestServices } from './test-services.ts';

declare global {
  // Read by global-teardown.ts, which runs in the same process.
  var tollgateTestServices: TestServices | undefined;
}

/**
 * Starts the servers of a test run and passes their addresses to the test files through the environment. Servers that the environment
 * already names are used instead. Throws StartFailure.
 */
export default async function globalSetup({ maxWorkers }: { readonly maxWorkers: number }): Promise<void> {
  const environment = process.env;
  await prepareRun();
  if (environment.TEST_DATABASE_OWNER_URL && environment.TEST_DATABASE_URL && environment.TEST_REDIS_URL) {
    return;
  }
  const services = await startTestServices(environment, maxWorkers);
  globalThis.tollgateTestServices = services;
  environment.TEST_DATABASE_OWNER_URL = services.postgres.ownerUrl;
  environment.TEST_DATABASE_URL = services.postgres.databaseUrl;
  environment.TEST_REDIS_URL = services.redis.redisUrl;
  environment.TEST_REDIS_URLS = services.allRedis.map(({ redisUrl }) => redisUrl).join(' ');
}
