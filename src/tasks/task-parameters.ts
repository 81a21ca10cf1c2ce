import { z } from 'zod';
import { type ChargeLines, LINE_ITEMS } from '../ledger/ledger.types.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';

const ORDER = z.object({
  prompt: z.string(),
  width: z.int(),
  height: z.int(),
  steps: z.int().optional(),
  seconds: z.int().optional(),
  upstream_model: z.string(),
});

const STORED = ORDER.extend({
  base64_output: z.boolean(),
  /** The cost of a success, line by line, at the prices of the submit. Nano-USD as decimal text. */
  charge_lines: z.partialRecord(z.enum(LINE_ITEMS), z.string().regex(/^\d+$/)),
});

/** What an engine is to make. */
export interface EngineOrder {
  readonly prompt: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number | undefined;
  /** Length of a video in seconds; undefined for the engine's default. */
  readonly seconds: number | undefined;
  readonly upstreamModel: string;
}

/** The order and what it costs, as it waits in the task's row. When the task ends only the sizes stay, unless prompts are kept. */
export interface TaskParameters extends EngineOrder {
  readonly base64Output: boolean;
  readonly chargeLines: ChargeLines;
}

/** Returns the JSON for the row. */
export function storeParameters(parameters: TaskParameters): Record<string, unknown> {
  const { base64Output, chargeLines } = parameters;
  return {
    base64_output: base64Output,
    charge_lines: Object.fromEntries(
      Object.entries(chargeLines).map(([item, nano]) => [item, nano.toString()]),
    ),
    ...storeOrder(parameters),
  } satisfies z.input<typeof STORED>;
}

/** Returns the part of the row's JSON that an engine gets. */
export function storeOrder(order: EngineOrder): z.input<typeof ORDER> {
  const { prompt, width, height, steps, seconds, upstreamModel } = order;
  return {
    prompt,
    width,
    height,
    ...(steps === undefined ? {} : { steps }),
    ...(seconds === undefined ? {} : { seconds }),
    upstream_model: upstreamModel,
  };
}

/** Parses JSON of {@link storeOrder}, or the whole JSON of a row. Throws ZodError for JSON that this code did not write. */
export function readOrder(json: unknown): EngineOrder {
  return toOrder(ORDER.parse(json));
}

/** Parses JSON of {@link storeParameters}. Throws ZodError for a row that this code did not write. */
export function readParameters(json: unknown): TaskParameters {
  const stored = STORED.parse(json);
  const lines: [string, NanoUsd][] = [];
  for (const [item, nano] of Object.entries(stored.charge_lines)) {
    if (nano !== undefined) {
      lines.push([item, nanoUsd(nano)]);
    }
  }
  return {
    base64Output: stored.base64_output,
    chargeLines: Object.fromEntries(lines),
    ...toOrder(stored),
  };
}

function toOrder({
  prompt,
  width,
  height,
  steps,
  seconds,
  upstream_model,
}: z.infer<typeof ORDER>): EngineOrder {
  return { prompt, width, height, steps, seconds, upstreamModel: upstream_model };
}
