import { AppError } from '../lib/errors.ts';
import type { LoopTurns } from '../lib/loop-turns.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { Dialect, Provider } from '../providers/provider.types.ts';
import { leastCost } from './hold-plan.ts';
import { type InputContent, ITEM_KINDS, inputContent } from './input-content.ts';
import { estimateInput, type InputEstimate, largerEstimate } from './input-estimate.ts';
import type { InvocableModel, Invocation } from './invocation.types.ts';
import { outgoingRequest } from './outgoing-request.ts';

/**
 * How many more tokens than ours a provider's tokenizer may make of plain text, before anything was learnt of the model.
 * Measured for English, code and JSON: vocabularies of 32 k make up to a fifth more than o200k_base, Anthropic's up to a half more.
 */
const MARGINS: Readonly<Record<Dialect, number>> = { chat: 1.25, messages: 1.6 };

/**
 * The most tokens a call's input can be at any of the providers that may serve it, counted over what each would be sent. Before
 * anything is counted, `requireFunds` hears of nano-USD that the call will cost at least, and may throw.
 * Throws AppError: unsupported_input for an input that the model does not take, context_length_exceeded, service_unavailable,
 * and invalid_parameter where no provider can be told what was asked.
 */
export async function boundInput(
  invocation: Invocation,
  model: InvocableModel,
  providers: readonly Provider[],
  turns: LoopTurns,
  requireFunds: (least: NanoUsd) => Promise<void>,
): Promise<InputEstimate> {
  const cap = Math.min(invocation.maxTokens ?? model.maxOutputTokens, model.maxOutputTokens);
  let largest: InputEstimate | undefined;
  let refusal: unknown;
  const counted = new Set<string>();
  for (const provider of providers) {
    const form = [provider.dialect, ...provider.passThrough].join(' ');
    if (counted.has(form)) {
      continue;
    }
    counted.add(form);
    let content: InputContent;
    try {
      content = inputContent(outgoingRequest(invocation, model, provider, cap));
    } catch (error) {
      // another route may be able to say it
      refusal ??= error;
      continue;
    }
    requireModalities(content, model);
    await requireFunds(
      leastCost(content.text.length + content.definitions.length + content.otherText.length, model),
    );
    const limits = {
      contextLength: model.contextLength,
      itemTokens: model.itemTokens,
      margin: MARGINS[provider.dialect],
    };
    const estimate = await estimateInput(content, limits, turns, invocation.signal);
    largest = largest ? largerEstimate(largest, estimate) : estimate;
  }
  if (largest) {
    return largest;
  }
  throw refusal ?? new AppError('provider_error', 'no provider of this model is configured');
}

function requireModalities(content: InputContent, model: InvocableModel): void {
  for (const kind of ITEM_KINDS) {
    if (content.items[kind] > 0 && !model.inputModalities.includes(kind)) {
      throw new AppError(
        'unsupported_input',
        `model ${model.id} takes no input of type ${kind}; it takes: ${model.inputModalities.join(', ')}`,
      );
    }
  }
}
