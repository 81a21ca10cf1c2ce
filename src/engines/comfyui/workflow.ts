import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { EngineRequest } from '../engine.types.ts';
import { type EngineSettings, EngineSettingsError } from '../registry.ts';
import { fitSeed, fitSize } from '../request-fit.ts';
import type { ComfyUiSettings, WorkflowParameters, WorkflowSettings } from './comfyui-settings.ts';

const FILE_BYTES_MAX = 4 * 1024 * 1024;
const graphSchema = z
  .record(z.string(), z.looseObject({ class_type: z.string(), inputs: z.record(z.string(), z.unknown()) }))
  .refine((graph) => Object.keys(graph).length > 0);

/** A workflow in ComfyUI's API format: nodes by id, each with its class and inputs. */
export type WorkflowGraph = z.output<typeof graphSchema>;

export interface Workflow {
  readonly settings: WorkflowSettings;
  readonly graph: WorkflowGraph;
}

const named = z.looseObject({
  workflows: z.record(z.string(), z.looseObject({ file: z.string() })),
});

/** Returns the paths of the workflow files that an entry names, even an invalid one. */
export function workflowFiles(entry: EngineSettings, folder: string): string[] {
  const parsed = named.safeParse(entry);
  return parsed.success ? Object.values(parsed.data.workflows).map(({ file }) => resolve(folder, file)) : [];
}

/** Reads the workflow files of an engine, by model name. Throws EngineSettingsError for an unusable file. */
export function readWorkflows(settings: ComfyUiSettings, folder: string): ReadonlyMap<string, Workflow> {
  const workflows = new Map<string, Workflow>();
  for (const [model, workflow] of Object.entries(settings.workflows)) {
    const name = `engines.${settings.id}.workflows.${model}`;
    const graph = readGraph(resolve(folder, workflow.file), name);
    checkPlaces(graph, workflow, name);
    workflows.set(model, { settings: workflow, graph });
  }
  return workflows;
}

/**
 * Returns a copy of the graph with the task's parameters written to their places. Values are assigned, never spliced into text, so nothing
 * in a prompt is interpreted.
 */
export function fillWorkflow(
  { graph, settings }: Workflow,
  request: EngineRequest,
  limits: { size_multiple: number; seed_max: number },
): WorkflowGraph {
  const filled = structuredClone(graph);
  const { width, height } = fitSize(request, limits.size_multiple);
  const values: Readonly<Record<keyof WorkflowParameters, unknown>> = {
    prompt: request.prompt,
    seed: fitSeed(request.seed, limits.seed_max),
    width,
    height,
    steps: request.steps,
    seconds: request.seconds,
    frames:
      request.seconds === undefined || settings.fps === undefined
        ? undefined
        : request.seconds * settings.fps,
  };
  for (const [name, value] of Object.entries(values)) {
    const places = settings.parameters[name as keyof WorkflowParameters] ?? [];
    for (const place of value === undefined ? [] : places) {
      write(filled, place, value);
    }
  }
  for (const [place, value] of Object.entries(request.extra ?? {})) {
    write(filled, place, value);
  }
  nameFiles(filled, request);
  return filled;
}

/**
 * Gives each run its own file names. ComfyUI does not execute a node again whose output it has saved before: the history would name the
 * files of the first run, which may be another customer's or already deleted.
 */
function nameFiles(graph: WorkflowGraph, { taskId, attempt }: EngineRequest): void {
  for (const { inputs } of Object.values(graph)) {
    if (typeof inputs.filename_prefix === 'string') {
      inputs.filename_prefix = `${inputs.filename_prefix}-${taskId}-${attempt}`;
    }
  }
}

function readGraph(path: string, name: string): WorkflowGraph {
  let json: unknown;
  try {
    if (statSync(path).size > FILE_BYTES_MAX) {
      throw new EngineSettingsError(`${name}.file: ${path} is larger than ${FILE_BYTES_MAX} bytes`);
    }
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof EngineSettingsError) {
      throw error;
    }
    throw new EngineSettingsError(`${name}.file: ${path} cannot be read as JSON`, { cause: error });
  }
  const parsed = graphSchema.safeParse(json);
  if (!parsed.success) {
    throw new EngineSettingsError(
      `${name}.file: ${path} is not a workflow in API format (use "Export (API)")`,
    );
  }
  return parsed.data;
}

function checkPlaces(
  graph: WorkflowGraph,
  { parameters, output_node }: WorkflowSettings,
  name: string,
): void {
  for (const [parameter, places] of Object.entries(parameters)) {
    for (const place of places) {
      if (!holderOf(graph, place)) {
        throw new EngineSettingsError(`${name}.parameters.${parameter}: the workflow has no ${place}`);
      }
    }
  }
  if (output_node !== undefined && !graph[output_node]) {
    throw new EngineSettingsError(`${name}.output_node: the workflow has no node ${output_node}`);
  }
}

function write(graph: WorkflowGraph, place: string, value: unknown): void {
  const found = holderOf(graph, place);
  if (found) {
    found.holder[found.member] = value;
  }
}

/** Returns the object that has the member at a place; undefined when the graph has no such member. */
function holderOf(
  graph: WorkflowGraph,
  place: string,
): { holder: Record<string, unknown>; member: string } | undefined {
  const names = place.split('.');
  const member = names.pop();
  let holder: unknown = graph;
  for (const name of names) {
    holder = isRecord(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined;
  }
  return member !== undefined && isRecord(holder) && Object.hasOwn(holder, member)
    ? { holder, member }
    : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
