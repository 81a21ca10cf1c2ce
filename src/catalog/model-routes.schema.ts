import { z } from 'zod';
import { OPTIONAL_MEMBERS } from '../providers/optional-members.ts';
import { pricing } from './prices.schema.ts';
import { runSettings } from './run-policy.ts';

const CONDITION = /^unavailable$|^waiting > ([1-9]\d{0,5})s$/;
const condition = z
  .string()
  .regex(CONDITION, 'must be "unavailable" or of the form "waiting > 60s"')
  .transform((text) => {
    const seconds = CONDITION.exec(text)?.[1];
    return seconds === undefined ? ('unavailable' as const) : { waitingMs: Number(seconds) * 1_000 };
  });

/** Members of requests that a route may leave out, as the protocol of its provider names them. */
const DROPPABLE = [...new Set(Object.values(OPTIONAL_MEMBERS).flat())];

/** The two kinds of routes: to a provider and to an engine. */
export const modelRoutes = [
  z.strictObject({
    provider: z.string().describe('id of an entry of `providers`'),
    model: z.string().min(1).describe("the provider's name for the model"),
    pricing: pricing.optional().describe("what the provider charges you; customers pay the model's price"),
    drop: z
      .array(z.enum(DROPPABLE))
      .optional()
      .describe(
        "settings that this model rejects, removed from requests, as its provider's protocol names them; default: derived from its name",
      ),
    thinking: z
      .enum(['budget', 'adaptive'])
      .optional()
      .describe('how this model is asked to think; default: derived from its name'),
    tool_ids: z
      .enum(['any', 'openai', 'mistral'])
      .optional()
      .describe('format that this model requires of tool call ids; default: derived from its name'),
    system_messages: z
      .enum(['anywhere', 'first', 'none'])
      .optional()
      .describe('which messages may hold instructions for this model; default: derived from its name'),
    tool_calls: z
      .enum(['any', 'single'])
      .optional()
      .describe('how many tool calls a turn may hold for this model; default: derived from its name'),
    turns: z
      .enum(['any', 'alternating'])
      .optional()
      .describe('whether users and this model have to take turns; default: derived from its name'),
  }),
  z.strictObject({
    engine: z.string().describe('id of an entry of `engines`'),
    model: z
      .string()
      .min(1)
      .default('default')
      .describe("the engine's name for the model; `default` names none"),
    when: condition
      .optional()
      .describe(
        'when tasks move on to this route: `unavailable`, while no live worker serves an earlier one; `waiting > 60s`, once they have waited that long. Not allowed on the first route; defaults to `unavailable` on the others',
      ),
    runs: runSettings.optional().describe('overrides the `runs` of the engine'),
    extra: z
      .record(z.string(), z.json())
      .optional()
      .describe(
        'members added to the body of every order of this model; they override the engine\'s `extra`. For `comfyui`: values by place, e.g. `{ "3.inputs.cfg": 4 }`',
      ),
  }),
] as const;
/** A route of a model, to a provider or an engine. */
export const modelRoute = z.union(modelRoutes, { error: 'must be { provider, model } or { engine, model }' });
