import assert from 'node:assert/strict';
import { type KubernetesObject, named, podsOf, type Rendered, secretsOf } from './rendered.ts';

/** A property of every set of values. Returns what it saw and throws what is wrong. */
export interface Check {
  readonly name: string;
  run(rendered: Rendered): string;
}

const workersOf = (rendered: Rendered) =>
  named(rendered, 'Deployment').filter(({ metadata }) => metadata.name.includes('-worker-'));

function accessOf({ values }: Rendered, { metadata }: KubernetesObject): string {
  const pool = metadata.name.split('-worker-').at(-1) ?? '';
  return values.workers[pool]?.access ?? 'generate';
}

const pods: Check = {
  name: 'pods refer only to existing objects, and have no unneeded rights',
  run(rendered) {
    const maps = new Set(named(rendered, 'ConfigMap').map(({ metadata }) => metadata.name));
    const all = podsOf(rendered);
    for (const [name, pod] of all) {
      assert.equal(pod.automountServiceAccountToken, false, name);
      assert.equal(pod.securityContext.runAsNonRoot, true, name);
      const volumes = new Set(pod.volumes?.map((volume) => volume.name));
      for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
        assert.equal(container.securityContext.allowPrivilegeEscalation, false, name);
        assert.deepEqual(container.securityContext.capabilities, { drop: ['ALL'] }, name);
        const isEngine = container.name === 'engine';
        assert.ok(isEngine || container.securityContext.readOnlyRootFilesystem === true, name);
        assert.ok(container.resources.limits.memory, `${name} has no memory limit`);
        assert.deepEqual(container.volumeMounts?.filter((mount) => !volumes.has(mount.name)) ?? [], [], name);
        const missing = container.envFrom?.filter(({ configMapRef: map }) => map && !maps.has(map.name));
        assert.deepEqual(missing ?? [], [], name);
      }
    }
    return `${all.length} pods`;
  },
};

const secrets: Check = {
  name: 'workers have neither the operator token nor a provider key, and only migration and backups have the owner',
  run(rendered) {
    const { secrets: names } = rendered.values;
    for (const worker of workersOf(rendered)) {
      const [container] = worker.spec.template?.spec.containers ?? [];
      const given = container ? secretsOf(container) : [];
      const access = accessOf(rendered, worker);
      assert.equal(given.length, 1, worker.metadata.name);
      assert.ok(![names.api, names.owner, names.scaler].includes(given[0] ?? ''), worker.metadata.name);
      assert.equal(given[0] === names.shared, access === 'full', worker.metadata.name);
      const variables = container?.env?.map(({ name }) => name) ?? [];
      assert.equal(variables.includes('WORKER_API'), access === 'remote', worker.metadata.name);
      const maps = container?.envFrom?.some(({ configMapRef }) => configMapRef) ?? false;
      // the settings give every worker a database except these
      assert.equal(maps, access !== 'remote', worker.metadata.name);
    }
    const owners = podsOf(rendered).filter(([, pod]) =>
      pod.containers.some((one) => secretsOf(one).includes(names.owner)),
    );
    const unexpected = owners.filter(([name]) => !/-(migrate|backup|drill)$/.test(name));
    assert.deepEqual(unexpected, []);
    assert.equal(named(rendered, 'Secret').length, 0);
    return `${workersOf(rendered).length} worker pools`;
  },
};

const ends: Check = {
  name: 'pods wait for their running work, and are disrupted one at a time',
  run(rendered) {
    const drainSeconds = Number(rendered.values.settings.DRAIN_SECONDS);
    const budgets = new Set(named(rendered, 'PodDisruptionBudget').map(({ metadata }) => metadata.name));
    for (const { metadata, spec } of named(rendered, 'Deployment')) {
      const pod = spec.template?.spec;
      assert.ok((pod?.terminationGracePeriodSeconds ?? 0) > drainSeconds + 15, metadata.name);
      assert.ok(pod?.containers[0]?.livenessProbe && pod.containers[0].readinessProbe, metadata.name);
      assert.ok(budgets.has(metadata.name), metadata.name);
      const labels = Object.entries(spec.selector?.matchLabels ?? {});
      assert.deepEqual(
        labels.filter(([key, value]) => spec.template?.metadata.labels[key] !== value),
        [],
      );
    }
    return `DRAIN_SECONDS=${drainSeconds}`;
  },
};

const scaling: Check = {
  name: 'a single owner sets the replicas of a Deployment',
  run(rendered) {
    const scalers = named(rendered, 'ScaledObject').concat(named(rendered, 'HorizontalPodAutoscaler'));
    const scaled = new Set(scalers.map(({ metadata }) => metadata.name));
    const deployments = named(rendered, 'Deployment');
    const wrong = deployments.filter(
      ({ metadata, spec }) => scaled.has(metadata.name) === (spec.replicas !== undefined),
    );
    assert.deepEqual(
      wrong.map(({ metadata }) => metadata.name),
      [],
    );
    const there = new Set(deployments.map(({ metadata }) => metadata.name));
    assert.deepEqual(
      [...scaled].filter((name) => !there.has(name)),
      [],
    );
    return `${scaled.size} of ${deployments.length} scaled`;
  },
};

const pools: Check = {
  name: 'every pool is present unless it is disabled',
  run(rendered) {
    const on = Object.entries(rendered.values.workers).filter(([, pool]) => pool.enabled !== false);
    const wanted = on.map(([name, { queues = [] }]) => `${name} --queues=${queues.join(',')}`);
    const found = workersOf(rendered).map(({ metadata, spec }) => {
      const [container] = spec.template?.spec.containers ?? [];
      return `${metadata.name.split('-worker-').at(-1)} ${container?.args?.join(' ')}`;
    });
    assert.deepEqual(found.sort(), wanted.sort());
    return on.map(([name]) => name).join(', ');
  },
};

const gpus: Check = {
  name: 'only the GPU user gets the GPU, and an engine outlives its worker and is reachable only by it',
  run(rendered) {
    const seen = workersOf(rendered).flatMap(({ metadata, spec }) => {
      const pod = spec.template?.spec;
      const everyone = [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])];
      const having = everyone.filter(({ resources }) =>
        Object.keys(resources.limits).some((name) => name.endsWith('/gpu')),
      );
      const engine = pod?.initContainers?.[0];
      assert.ok(having.length <= 1, metadata.name);
      assert.ok(engine === undefined || (engine.restartPolicy === 'Always' && engine.startupProbe));
      assert.ok(engine === undefined || having[0] === engine, metadata.name);
      assert.ok(engine === undefined || engine.command?.join(' ').includes('--listen 127.0.0.1'));
      return having.map(({ name }) => `${metadata.name}: ${name}`);
    });
    return seen.join(', ') || 'no GPU';
  },
};

const hooks: Check = {
  name: 'the migration runs before everything else, using only objects that already exist',
  run(rendered) {
    const jobs = named(rendered, 'Job');
    assert.equal(jobs.length, named(rendered, 'Service').length);
    for (const { metadata, spec } of jobs) {
      assert.equal(metadata.annotations?.['helm.sh/hook'], 'pre-install,pre-upgrade');
      const pod = spec.template?.spec;
      assert.deepEqual(
        pod?.containers.flatMap(({ envFrom = [] }) => envFrom),
        [],
      );
      const own = pod?.volumes?.filter(({ configMap }) => configMap?.name.includes('tollgate'));
      assert.deepEqual(own ?? [], []);
    }
    return `${jobs.length} migration`;
  },
};

/** Checks the entries of ConfigMaps: those that look like secrets must be known placeholders. */
const configMaps: Check = {
  name: 'no ConfigMap contains a secret',
  run(rendered) {
    const entries = named(rendered, 'ConfigMap').flatMap(({ data }) => Object.entries(data ?? {}));
    const suspect = entries.filter(([key]) => /(TOKEN|SECRET|PASSWORD|KEY|_URL)$/.test(key));
    const harmless = suspect.filter(
      ([key, value]) =>
        key === 'PUBLIC_URL' || value === 'unused' || value === 'nobody-operates-through-a-worker',
    );
    assert.deepEqual(suspect, harmless);
    const text = entries.map(([, value]) => value).join('\n');
    assert.doesNotMatch(text, /\b(sk-[A-Za-z0-9]{16}|postgres(ql)?:\/\/\w+:[^…@\s]+@)/);
    return `${entries.length} entries`;
  },
};

export const CHECKS: readonly Check[] = [pods, secrets, configMaps, ends, scaling, pools, gpus, hooks];
