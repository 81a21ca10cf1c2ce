import { parseAllDocuments } from 'yaml';
import type { Values } from '../deployment/chart.ts';

export interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly restartPolicy?: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly envFrom?: readonly { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly livenessProbe?: object;
  readonly readinessProbe?: object;
  readonly startupProbe?: object;
  readonly resources: { readonly limits: Readonly<Record<string, string>> };
  readonly securityContext: Readonly<Record<string, unknown>>;
}

export interface PodSpec {
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
}

/** An object that helm rendered. Members that its kind does not have are absent. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
    readonly jobTemplate?: { readonly spec: { readonly template: { readonly spec: PodSpec } } };
  };
}

/** A set of values, and what helm rendered from it. */
export interface Rendered {
  readonly file: string;
  readonly values: Values;
  readonly text: string;
  readonly objects: readonly KubernetesObject[];
}

/** Parses the objects of helm's output. Throws the first YAML error. */
export function objectsOf(text: string): KubernetesObject[] {
  return parseAllDocuments(text)
    .map((document) => {
      const [mistake] = document.errors;
      if (mistake) {
        throw mistake;
      }
      return document.toJS() as KubernetesObject | null;
    })
    .filter((object) => object !== null);
}

export function named({ objects }: Rendered, kind: string): KubernetesObject[] {
  return objects.filter((object) => object.kind === kind);
}

/** Returns the pods of all objects that create some, by the object's name. */
export function podsOf({ objects }: Rendered): (readonly [name: string, pod: PodSpec])[] {
  return objects.flatMap((object) => {
    const template = object.spec?.jobTemplate?.spec.template ?? object.spec?.template;
    const pod = object.kind === 'Pod' ? (object.spec as unknown as PodSpec) : template?.spec;
    return pod ? [[object.metadata.name, pod] as const] : [];
  });
}

/** Returns the names of the Secrets that a container receives through its environment. */
export function secretsOf({ env = [], envFrom = [] }: Container): string[] {
  const whole = envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []);
  const single = env.flatMap((entry) => {
    const { valueFrom } = entry as { valueFrom?: { secretKeyRef?: { name: string } } };
    return valueFrom?.secretKeyRef?.name ?? [];
  });
  return [...whole, ...single];
}
