import { z } from 'zod';
import type { Workflow, WorkflowGraph } from './workflow.ts';

/** The description of a node class from `/object_info/{class}`: its inputs, each with its type or the values it accepts. */
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

/** Reads the description of a node class; undefined when it is not one. */
export function readNodeInfo(json: unknown): NodeInfo | undefined {
  return nodeInfo.safeParse(json).data;
}

/** Returns the node classes of all workflows without duplicates. */
export function classesOf(workflows: ReadonlyMap<string, Workflow>): string[] {
  const graphs = [...workflows.values()].map(({ graph }) => Object.values(graph));
  return [...new Set(graphs.flat().map((node) => node.class_type))];
}

/**
 * Returns what the workflows need but the server lacks, one line each: node classes that are not installed, and values that are not in a
 * list, such as a missing checkpoint file. `known` has the server's description of each class, undefined when it has none.
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
              `${place} (${node.class_type}): ${name} ${JSON.stringify(value)} is not one of the server's ${count}`,
          );
    });
  });
}

/** Returns the values of a node that the server does not offer. Skips values that each task sets, and links to other nodes. */
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

/**
 * Returns the allowed values of an input. Older servers put the list in place of the type, newer ones send `COMBO` with the list in its
 * properties.
 */
function optionsOf([type, properties]: readonly unknown[]): unknown[] | undefined {
  if (Array.isArray(type)) {
    return type;
  }
  return type === 'COMBO' ? comboOptions.safeParse(properties).data?.options : undefined;
}
