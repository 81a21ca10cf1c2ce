import { z } from 'zod';
import type { Workflow, WorkflowGraph } from './workflow.ts';

/** What `/object_info/{class}` says of a node class: its inputs, each with its type, or the values that it takes. */
const inputSpec = z.array(z.unknown()).min(1);
const nodeInfo = z.looseObject({
  input: z
    .looseObject({
      required: z.record(z.string(), inputSpec).nullish(),
      optional: z.record(z.string(), inputSpec).nullish(),
    })
    .default({}),
});
const comboOptions = z.looseObject({ options: z.array(z.unknown()) });

export type NodeInfo = z.output<typeof nodeInfo>;

/** Undefined: no description of a node class. */
export function readNodeInfo(json: unknown): NodeInfo | undefined {
  return nodeInfo.safeParse(json).data;
}

/** The node classes of all workflows, each once. */
export function classesOf(workflows: ReadonlyMap<string, Workflow>): string[] {
  const graphs = [...workflows.values()].map(({ graph }) => Object.values(graph));
  return [...new Set(graphs.flat().map((node) => node.class_type))];
}

/**
 * What the workflows need that the server lacks, a line each: node classes that are not installed, and values that are none of a list,
 * like a checkpoint file that is not there. `known` has what the server says of each class; undefined: nothing.
 */
export function missingParts(
  workflows: ReadonlyMap<string, Workflow>,
  known: ReadonlyMap<string, NodeInfo | undefined>,
): string[] {
  return [...workflows].flatMap(([model, workflow]) => {
    const written = new Set(Object.values(workflow.settings.parameters).flat());
    return Object.entries(workflow.graph).flatMap(([id, node]) => {
      const place = `workflows.${model}, node ${id}`;
      const info = known.get(node.class_type);
      return info === undefined
        ? [`${place}: the server has no ${node.class_type}`]
        : wrongValues(node, info, (name) => written.has(`${id}.inputs.${name}`)).map(
            ({ name, value, count }) =>
              `${place} (${node.class_type}): ${name} ${JSON.stringify(value)} is none of the server's ${count}`,
          );
    });
  });
}

/** Values of a node that the server does not offer; those that each order sets are left out, as are links to other nodes. */
function wrongValues(
  node: WorkflowGraph[string],
  { input }: NodeInfo,
  isSet: (name: string) => boolean,
): { name: string; value: string; count: number }[] {
  const specs = { ...input.required, ...input.optional };
  return Object.entries(node.inputs).flatMap(([name, value]) => {
    const options = Object.hasOwn(specs, name) ? optionsOf(specs[name] ?? []) : undefined;
    const isWrong = typeof value === 'string' && options && !options.includes(value) && !isSet(name);
    return isWrong ? [{ name, value, count: options.length }] : [];
  });
}

/** Older servers give the list itself for a type, newer ones `COMBO` and the list among its properties. */
function optionsOf([type, properties]: readonly unknown[]): unknown[] | undefined {
  if (Array.isArray(type)) {
    return type;
  }
  return type === 'COMBO' ? comboOptions.safeParse(properties).data?.options : undefined;
}
