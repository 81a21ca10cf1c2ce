import assert from 'node:assert/strict';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import { loadConfig } from '../../src/config/config.ts';
import { isRemoteWorker, loadRemoteWorkerConfig } from '../../src/config/remote-worker-config.ts';
import type { Check } from './checks.ts';
import { type Container, named, type PodSpec, type Rendered } from './rendered.ts';

/** Variables that the Dockerfile sets. */
const IMAGE = { NODE_ENV: 'production', HOST: '0.0.0.0', PORT: '8080', DATA_DIR: '/data' };
const BUCKET = { S3_ACCESS_KEY_ID: 'key', S3_SECRET_ACCESS_KEY: 'secret' };
const SECRET = 'a-secret-of-at-least-thirty-two-characters';

/** Returns a Secret as docs/install.md describes it. */
function secretNamed(name: string, { settings, secrets: { shared, api, worker } }: Rendered['values']) {
  const redis = { REDIS_URL: 'redis://default:password@redis:6379' };
  const common = { ...redis, ...BUCKET, TOLLGATE_SECRET: SECRET };
  const known: Record<string, Readonly<Record<string, string>>> = {
    [shared]: { ...common, DATABASE_URL: 'postgresql://tollgate_app:password@postgres/tollgate' },
    [api]: {
      ADMIN_TOKEN: 'an-operator-token-of-the-check',
      ...(settings.OIDC_ISSUER && { OIDC_CLIENT_SECRET: 'a-secret-of-the-check' }),
      OPENAI_API_KEY: 'sk-of-the-check',
    },
    [worker]: { ...common, DATABASE_URL: 'postgresql://tollgate_worker:password@postgres/tollgate' },
  };
  return known[name] ?? { WORKER_TOKEN: `sk-tgw-${'a'.repeat(43)}` };
}

/** Returns the environment of a container: later sources win, as in a pod. */
function environmentOf(rendered: Rendered, { env = [], envFrom = [] }: Container): Record<string, string> {
  const maps = new Map(named(rendered, 'ConfigMap').map(({ metadata, data }) => [metadata.name, data ?? {}]));
  const sources = envFrom.map(({ configMapRef, secretRef }) =>
    configMapRef ? maps.get(configMapRef.name) : secretNamed(secretRef?.name ?? '', rendered.values),
  );
  const single = env.map(({ name, value = '' }) => [name, value]);
  return Object.assign({ ...IMAGE }, ...sources, Object.fromEntries(single));
}

/** Returns the catalog that a pod mounts; undefined when it uses the image's own. */
function catalogOf(rendered: Rendered, pod: PodSpec): string | undefined {
  const map = pod.volumes?.find(({ name }) => name === 'catalog')?.configMap?.name;
  return named(rendered, 'ConfigMap').find(({ metadata }) => metadata.name === map)?.data?.['tollgate.yaml'];
}

export const environment: Check = {
  name: 'every process can start: its settings and its catalog are complete',
  run(rendered) {
    const deployments = named(rendered, 'Deployment');
    for (const { metadata, spec } of deployments) {
      const pod = spec.template?.spec;
      const [container] = pod?.containers ?? [];
      assert.ok(pod && container);
      const given = environmentOf(rendered, container);
      const config = isRemoteWorker(given) ? loadRemoteWorkerConfig(given) : loadConfig(given);
      assert.ok(pod.terminationGracePeriodSeconds! * 1_000 > config.drainMs + 15_000, metadata.name);
      const text = catalogOf(rendered, pod);
      assert.equal(text !== undefined, given.TOLLGATE_CONFIG !== undefined, metadata.name);
      if (text !== undefined) {
        parseCatalog(text, metadata.name, config.variables);
      }
      const isApi = metadata.name.endsWith('-api');
      assert.equal(given.OPENAI_API_KEY === 'sk-of-the-check', isApi, metadata.name);
      assert.equal(given.ADMIN_TOKEN === 'an-operator-token-of-the-check', isApi, metadata.name);
    }
    return `${deployments.length} processes`;
  },
};
