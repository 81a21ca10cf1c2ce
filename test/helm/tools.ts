import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { cachedFolder, installFromNpm } from '../clients/client-cache.ts';
import { missingPrograms, runTool } from '../clients/run-program.ts';
import type { KubernetesObject } from './rendered.ts';

const execute = promisify(execFile);
const HELM = '3.19.0';
/** The Kubernetes version to render for; the types that `validate/` decodes into have the same version. */
export const KUBERNETES = '1.34.0';
const MODELS = [
  'kubernetes-models@5.1.0',
  '@kubernetes-models/keda@2.0.0',
  '@kubernetes-models/prometheus-operator@6.0.0',
];
const VALIDATOR = fileURLToPath(new URL('validate/', import.meta.url));
const OUTPUT_BYTES = 64 * 2 ** 20;

/** Finds helm on the PATH, or builds it with Go into the cache once (takes minutes); undefined without both. Throws NotInstalled. */
export async function findHelm(cache: string): Promise<string | undefined> {
  if (missingPrograms(['helm']).length === 0) {
    return 'helm';
  }
  if (missingPrograms(['go']).length > 0) {
    return undefined;
  }
  const folder = await cachedFolder(join(cache, 'helm', HELM), (partial) =>
    runTool('go', ['install', `helm.sh/helm/v3/cmd/helm@v${HELM}`], { env: { GOBIN: partial } }),
  );
  return join(folder, 'helm');
}

/** Runs helm to completion. Throws its error output. */
export async function runHelm(helm: string, args: readonly string[]): Promise<string> {
  try {
    return (await execute(helm, [...args], { maxBuffer: OUTPUT_BYTES })).stdout;
  } catch (error) {
    // helm logs each symbolic link that it follows
    const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string };
    const said = `${stdout}${stderr}`.split('\n').filter((line) => !line.includes('found symbolic link'));
    throw new Error(said.join(' ').trim(), { cause: error });
  }
}

/** Decodes objects strictly into the types of the Kubernetes API. Resolves to the number of objects of each kind; throws what is wrong. */
export async function decodeStrictly(text: string): Promise<string> {
  const child = spawn('go', ['run', '.'], { cwd: VALIDATOR, stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      said += part;
    });
  }
  child.stdin.end(text);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const lines = said.trim().replaceAll('\n', ', ');
  return code === 0 ? lines : Promise.reject(new Error(lines));
}

interface Model {
  new (object: KubernetesObject): { validate(): void };
}

/** Rejects when an object lacks what its kind requires, or has members of wrong types. */
export type CheckModel = (object: KubernetesObject) => Promise<void>;

/** Installs the schemas of Kubernetes, KEDA and the Prometheus operator from npm, once. Throws NotInstalled. */
export async function installModels(cache: string): Promise<CheckModel> {
  const name = MODELS.map((each) => each.split('@').at(-1)).join('-');
  const folder = await cachedFolder(join(cache, 'helm', `models-${name}`), (partial) =>
    installFromNpm(partial, MODELS),
  );
  const packages = new Map([
    ['keda.sh', '@kubernetes-models/keda'],
    ['monitoring.coreos.com', '@kubernetes-models/prometheus-operator'],
  ]);
  return async (object) => {
    const [group = ''] = object.apiVersion.split('/');
    const custom = packages.get(group);
    const path = join(folder, 'node_modules', custom ?? 'kubernetes-models', object.apiVersion, 'index.js');
    const models = (await import(pathToFileURL(path).href)) as Record<string, Model | undefined>;
    const Kind = models[object.kind];
    if (Kind === undefined) {
      throw new Error(`unknown kind ${object.apiVersion} ${object.kind}`);
    }
    new Kind(object).validate();
  };
}
