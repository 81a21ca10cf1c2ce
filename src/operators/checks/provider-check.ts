import { AT_ONCE } from '../../lib/event-loop-queue.ts';
import { StopController } from '../../lib/stop-signal.ts';
import type { JsonObject } from '../../providers/json.ts';
import type { Provider, ProviderAnswer, ProviderRequest } from '../../providers/provider.types.ts';
import { ProviderFailure } from '../../providers/provider-failure.ts';
import { askStep, type CheckFinding, type CheckStep, StepFailed, StepSkipped } from './check-step.ts';

export interface ProviderCheckPlan {
  readonly provider: Provider;
  /** The provider's name for the model. */
  readonly model: string;
  readonly does: 'text' | 'embeddings';
  /** Tokens, as configured in the catalog; undefined if the provider has no limit of its own and relies on Tollgate's. */
  readonly contextLength: number | undefined;
  /** Tokens, as configured in the catalog. */
  readonly maxOutputTokens: number;
}

/** Room for a model that thinks before it answers, in tokens. */
const ANSWER_TOKENS = 1_024;
/** Maximum tokens of the answer that is aborted midway. */
const LONG_ANSWER_TOKENS = 4_096;
/** Ms within which an aborted call must end. */
const ABORT_MS = 2_000;
/** Every word of this text is at least one token in every vocabulary. */
const FILLER = 'tollgate ';
/** Larger contexts are not tested for overflow: the request alone would be tens of megabytes. */
const OVERFLOW_TOKENS_MAX = 2_000_000;
const SHOWN = 40;
const TOOL = 'get_weather';

/**
 * Tests everything that customers will use of a provider, one step after the other. Costs a few thousand tokens. Never rejects.
 */
export async function checkProvider(plan: ProviderCheckPlan): Promise<CheckStep[]> {
  const usages: string[] = [];
  const text: [string, () => Promise<CheckFinding>][] = [
    ['json', () => askJson(plan, usages)],
    ['stream', () => askStream(plan, usages)],
    ['tools', () => askTools(plan)],
    ['usage', () => askUsage(usages)],
    ['abort', () => askAbort(plan)],
    ['overflow', () => askOverflow(plan)],
  ];
  const questions: [string, () => Promise<CheckFinding>][] = [
    ['ready', () => askReady(plan)],
    ...(plan.does === 'text' ? text : [['vectors', () => askVectors(plan)] satisfies (typeof text)[number]]),
  ];
  const steps: CheckStep[] = [];
  for (const [step, ask] of questions) {
    steps.push(await askStep(step, ask, explain));
  }
  return steps;
}

async function askReady({ provider }: ProviderCheckPlan): Promise<CheckFinding> {
  await provider.probe(new StopController());
  return 'it responds';
}

async function askJson(plan: ProviderCheckPlan, usages: string[]): Promise<CheckFinding> {
  const answer = await plan.provider.complete(requestOf(plan, 'Say hello.'), new StopController());
  noteUsage(usages, 'json', answer);
  return `${shown(answer.text)}, ${answer.finishReason}`;
}

async function askStream(plan: ProviderCheckPlan, usages: string[]): Promise<CheckFinding> {
  const beganAt = performance.now();
  const parts = await plan.provider.stream(requestOf(plan, 'Say hello.'), new StopController());
  const firstMs = Math.round(performance.now() - beganAt);
  let text = '';
  let batches = 0;
  let finish: string | undefined;
  let usage: ProviderAnswer['usage'];
  for await (const batch of parts) {
    batches += 1;
    for (const part of batch) {
      text += part.text;
      finish = part.finishReason ?? finish;
      usage = part.usage ?? usage;
    }
  }
  if (finish === undefined) {
    throw new StepFailed('the stream ended without a finish reason');
  }
  noteUsage(usages, 'stream', { usage });
  return `${shown(text)}, ${finish}; first chunk after ${firstMs} ms, ${batches} chunks`;
}

async function askTools(plan: ProviderCheckPlan): Promise<CheckFinding> {
  const request = requestOf(plan, 'What is the weather in Paris?', toolsOf(plan.provider));
  const { finishReason, wire } = await plan.provider.complete(request, new StopController());
  if (finishReason !== 'tool_calls' || !JSON.stringify(wire).includes(TOOL)) {
    throw new StepFailed(`no tool was called: ${finishReason}`);
  }
  return `called ${TOOL}`;
}

/** Charges are based on reported usage, or on our own count without it. */
async function askUsage(usages: readonly string[]): Promise<CheckFinding> {
  const missing = ['json', 'stream'].filter((way) => !usages.some((usage) => usage.startsWith(way)));
  if (missing.length > 0) {
    throw new StepFailed(`not reported: ${missing.join(', ')}; calls are charged by our own count`);
  }
  return usages.join('; ');
}

/**
 * When a customer disconnects, generation must stop. This only checks that our side of the call ends; the server's log shows its
 * own side.
 */
async function askAbort(plan: ProviderCheckPlan): Promise<CheckFinding> {
  const leaving = new StopController();
  const request = requestOf(plan, 'Count from 1 to 1000 in words.', {}, LONG_ANSWER_TOKENS);
  const parts = await plan.provider.stream(request, leaving);
  let batches = 0;
  let leftAt = 0;
  try {
    for await (const _batch of parts) {
      batches += 1;
      if (batches === 1) {
        leftAt = performance.now();
        leaving.abort();
      }
    }
  } catch (error) {
    const aborted = error instanceof ProviderFailure && error.reason === 'aborted';
    if (!aborted && !leaving.aborted) {
      throw error;
    }
    const ms = Math.round(performance.now() - leftAt);
    if (ms > ABORT_MS) {
      throw new StepFailed(`the stream ended only ${ms} ms after it was closed`);
    }
    return `closed after the first chunk, ended within ${ms} ms`;
  }
  return 'the answer was complete before it could be closed';
}

/** Agents shorten their history only when they get this error. */
async function askOverflow(plan: ProviderCheckPlan): Promise<CheckFinding> {
  const { provider, contextLength } = plan;
  if (contextLength === undefined) {
    throw new StepSkipped('it has no limit of its own: Tollgate rejects longer inputs');
  }
  const tokens = Math.ceil(contextLength * 1.25) + ANSWER_TOKENS;
  if (tokens > OVERFLOW_TOKENS_MAX) {
    throw new StepSkipped(`its context of ${contextLength} tokens is too large to test`);
  }
  try {
    const { usage } = await provider.complete(requestOf(plan, FILLER.repeat(tokens)), new StopController());
    const counted = usage ? `, counted as ${usage.inputTokens}` : '';
    throw new StepFailed(
      `it accepted ${tokens} tokens${counted}: more than context_length (${contextLength}), or it truncates inputs silently`,
    );
  } catch (error) {
    if (error instanceof ProviderFailure && error.reason === 'context_length') {
      return { found: 'rejected: too long for the context', said: error.said };
    }
    if (error instanceof ProviderFailure && error.reason === 'too_large') {
      return { found: 'rejected: request too large', said: error.said };
    }
    throw error;
  }
}

async function askVectors(plan: ProviderCheckPlan): Promise<CheckFinding> {
  const request = { ...requestOf(plan, ''), body: { input: ['one', 'two'] } };
  const { usage } = await plan.provider.embed(request, new StopController());
  if (!usage) {
    throw new StepFailed('two vectors, but no usage; calls are charged by our own count');
  }
  return `two vectors, ${usage.inputTokens} tokens`;
}

function requestOf(
  { model, maxOutputTokens }: ProviderCheckPlan,
  content: string,
  members: JsonObject = {},
  most = ANSWER_TOKENS,
): ProviderRequest {
  return {
    model,
    body: { messages: [{ role: 'user', content }], ...members },
    maxOutputTokens: Math.min(most, maxOutputTokens),
    reasons: false,
    betas: [],
    inTurn: AT_ONCE,
    onLeftOut: () => undefined,
  };
}

function toolsOf({ dialect }: Provider): JsonObject {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const about = { name: TOOL, description: 'Tells the weather of a city.' };
  return dialect === 'chat'
    ? {
        tools: [{ type: 'function', function: { ...about, parameters: schema } }],
        tool_choice: { type: 'function', function: { name: TOOL } },
      }
    : { tools: [{ ...about, input_schema: schema }], tool_choice: { type: 'tool', name: TOOL } };
}

function noteUsage(usages: string[], way: string, { usage }: Pick<ProviderAnswer, 'usage'>): void {
  if (usage && usage.outputTokens > 0) {
    usages.push(`${way} ${usage.inputTokens} in, ${usage.outputTokens} out`);
  }
}

function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line === '' ? 'no text' : `"${line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line}"`;
}

function explain(error: unknown): StepFailed | undefined {
  if (!(error instanceof ProviderFailure)) {
    return undefined;
  }
  const status = error.status === undefined ? '' : ` (${error.status})`;
  return new StepFailed(`${error.reason}${status}`, error.said);
}
