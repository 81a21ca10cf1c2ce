import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';

const FOLDER = new URL('../../ops/kubernetes/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8');

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly restartPolicy?: string;
  readonly envFrom?: readonly { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  readonly volumeMounts?: readonly { name: string }[];
  readonly livenessProbe?: object;
  readonly startupProbe?: object;
  readonly resources: { readonly limits: Readonly<Record<string, string>> };
  readonly securityContext: {
    readonly allowPrivilegeEscalation: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities: { readonly drop: readonly string[] };
  };
}

interface Pod {
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: { readonly runAsNonRoot: boolean };
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes: readonly { name: string; configMap?: { name: string } }[];
}

interface Manifest {
  readonly file: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly selector: { readonly matchLabels: object };
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: Pod };
  };
}

const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml');
const manifests = files.flatMap((file) =>
  parseAllDocuments(read(file)).map((document) => {
    expect(document.errors).toEqual([]);
    return { file, ...(document.toJS() as Omit<Manifest, 'file'>) };
  }),
);
const named = (kind: string) =>
  new Set(manifests.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name));
const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
const workers = deployments.filter(({ metadata }) => metadata.name.startsWith('tollgate-worker'));

test('every file is deployed, or says when it is', () => {
  const { resources } = parse(read('kustomization.yaml')) as { resources: string[] };
  const left = files.filter((file) => !resources.includes(file));
  expect(left).toEqual(['backup.yaml', 'gpu-workers.yaml', 'secrets.example.yaml']);
  expect(read('backup.yaml')).toContain('kubectl -n tollgate apply -f ops/kubernetes/backup.yaml');
  expect(read('gpu-workers.yaml')).toContain('under resources: in your overlay');
});

test.each(deployments.map((each) => [each.metadata.name, each] as const))(
  '%s: what it names is there, and its pods may do nothing that they need not',
  (_, { spec }) => {
    const { template, selector } = spec;
    const pod = template.spec;
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    expect([pod.automountServiceAccountToken, pod.securityContext.runAsNonRoot]).toEqual([false, true]);
    const volumes = new Set(pod.volumes.map(({ name }) => name));
    for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources.limits.memory).toBeDefined();
      expect(container.volumeMounts?.filter(({ name }) => !volumes.has(name))).toEqual([]);
      for (const { configMapRef, secretRef } of container.envFrom ?? []) {
        expect(configMapRef === undefined || named('ConfigMap').has(configMapRef.name)).toBe(true);
        expect(secretRef === undefined || named('Secret').has(secretRef.name)).toBe(true);
      }
    }
  },
);

test.each(workers.map((each) => [each.metadata.name, each] as const))(
  '%s: its runs may end before the pod does, and one that lives nobody misses',
  (name, { spec }) => {
    const pod = spec.template.spec;
    const settings = manifests.find(({ metadata }) => metadata.name === 'tollgate-settings');
    const drainSeconds = Number(settings?.data?.DRAIN_SECONDS);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drainSeconds + 15);
    expect(pod.containers[0]?.livenessProbe).toBeDefined();
    expect(pod.containers[0]?.securityContext.readOnlyRootFilesystem).toBe(true);
    const scaled = manifests.some(({ kind, metadata }) => kind === 'ScaledObject' && metadata.name === name);
    expect(named('PodDisruptionBudget').has(name) || scaled).toBe(true);
  },
);

test('the engine of a GPU pod has the GPU, outlives its worker, and is reached by nobody else', () => {
  const pod = manifests.find(({ metadata }) => metadata.name === 'tollgate-worker-gpu')?.spec.template.spec;
  const [engine] = pod?.initContainers ?? [];
  expect(engine?.restartPolicy).toBe('Always');
  expect(engine?.resources.limits['nvidia.com/gpu']).toBe('1');
  expect(engine?.startupProbe).toBeDefined();
  expect(engine?.command?.join(' ')).toContain('--listen 127.0.0.1');
  expect(pod?.containers[0]?.resources.limits).not.toHaveProperty('nvidia.com/gpu');
  expect(pod?.containers[0]?.args).toEqual(['--queues=generate:comfy']);
});
