import { affordableOutputTokens, type BilledUnits, capCharge, chargeFor } from '../catalog/pricing.ts';
import type { Charge, Hold, Ledger, MeteredSoFar, ProviderAttempt } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import type { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { InTurn } from '../lib/loop-turns.ts';
import { type NanoUsd, nanoUsd, ZERO_USD } from '../lib/money.ts';
import { NO_USAGE, type TokenUsage } from '../lib/usage.ts';
import type { Facts, FinishReason } from '../providers/provider.types.ts';
import { CALL_ENDINGS, type End, type Payment } from './call-endings.ts';
import { logUnknownFinish, meteringOf, withCost } from './generation-facts.ts';
import type { InputEstimate } from './input-estimate.ts';
import type { CallEnd, InvocableModel, ModelRoute } from './invocation.types.ts';
import { StreamMeter } from './stream-meter.ts';
import { countUsage, type Evidence, judgeUsage, type Verdict, wholeCap } from './usage-judgement.ts';

export interface LiveCallParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hold: Hold;
  readonly model: InvocableModel;
  readonly input: InputEstimate;
  readonly units: BilledUnits;
  /** What the provider is told, in tokens. */
  readonly outputTokensMax: number;
  /** The hold never grows beyond this, in nano-USD. */
  readonly maxCost: NanoUsd | undefined;
  readonly streamed: boolean;
  /** Unix ms. */
  readonly startedAt: number;
  /** Paths of members of the request that no provider is sent. */
  readonly ignored: readonly string[];
  /** What an account is waived in an hour of answers that providers break off, in nano-USD. */
  readonly failureAllowance: NanoUsd;
  /** Counts a long answer in turns with other work. */
  readonly inTurn: InTurn;
  /** Told what a provider reports of the input, in tokens, where that can be true. */
  readonly onReport: (route: ModelRoute, inputTokens: number) => void;
  /** Told what the call really used, once it is settled. */
  readonly onUsage: (usage: TokenUsage) => void;
}

/**
 * How many times its cap an answer may be by our count before its provider is taken for one that ignores caps. Our
 * tokenizer is not the provider's. Whole texts differ by some tenths (measured: numbers by 12 %), but where our
 * vocabulary lacks a script it spells characters in UTF-8 bytes, up to four tokens for what is one elsewhere
 * (RFC 3629 §3: at most four bytes a character).
 */
const CAP_TOLERANCE = 4;

const FREE: Charge = { amount: ZERO_USD, lines: {} };
const UNUSED: Verdict = { usage: NO_USAGE, source: 'none', absurd: false };

/** One call between its hold and its settlement. Owns the hold: exactly one of the endings settles it, once. */
export class LiveCall {
  readonly meter = new StreamMeter();
  readonly attempts: ProviderAttempt[] = [];
  readonly parts: LiveCallParts;
  readonly #stopKeepAlive: () => void;
  #granted: NanoUsd;
  #route: ModelRoute | undefined;
  /** Most output tokens, by our count, before the answer is ended. */
  #limit: number;
  #inputCovered: number;
  /** Below this much delivered text, in UTF-16 units, the limit cannot have been reached. */
  #checkAtLength: number;
  #finished = false;
  #firstTokenAt: number | undefined;
  #abandoned = false;
  #unreadable: { readonly route: ModelRoute; readonly usage: TokenUsage } | undefined;
  #settlement: Promise<NanoUsd> | undefined;

  constructor(parts: LiveCallParts) {
    this.parts = parts;
    this.#granted = parts.hold.granted;
    this.#limit = parts.outputTokensMax * CAP_TOLERANCE;
    this.#inputCovered = parts.input.upperBound;
    this.#checkAtLength = this.#limit;
    this.#stopKeepAlive = parts.ledger.keepAlive(parts.hold, () => this.metered());
  }

  /** The provider that answers; before it nothing was used. */
  answeredBy(route: ModelRoute): void {
    this.#route = route;
  }

  /** An answer of a provider that cannot be passed on, though it reports usage: it counts if no other provider answers. */
  noteUnreadable(route: ModelRoute, usage: TokenUsage): void {
    this.#unreadable = { route, usage };
  }

  /** True once the end of the answer was delivered: whatever happens later, the client has all of it. */
  get finished(): boolean {
    return this.#finished;
  }

  /** Meters what was delivered. */
  deliver(facts: Facts): void {
    this.#firstTokenAt ??= this.parts.clock.now();
    this.#finished ||= facts.finishReason !== undefined;
    this.meter.add(facts);
  }

  /** Counts what was delivered and is too long to be counted at once: to be awaited before more is delivered, or the call ends. */
  async count(): Promise<void> {
    if (this.meter.isBehind) {
      await this.parts.inTurn(this.meter.catchUp());
    }
  }

  /** What the call has used up so far: the ledger charges this if the process dies. */
  metered(): MeteredSoFar {
    if (!this.#route) {
      return { charge: { amount: ZERO_USD, lines: {} }, usage: NO_USAGE };
    }
    const { usage } = countUsage(this.#evidence());
    return { charge: this.#withinMaxCost(this.#charge(usage)).charge, usage };
  }

  /** True when the answer may have to end. Cheap: a token is at least a letter, so counting can wait. */
  outgrowsHold(): boolean {
    return (
      this.meter.length > this.#checkAtLength ||
      (this.meter.inputUsage?.inputTokens ?? 0) > this.#inputCovered
    );
  }

  /**
   * Makes the hold cover the input that the provider reports and all of the output cap, within what the caller allows.
   * False when the answer must end here. Our count of the output, an estimate, ends it in two cases only: the hold could
   * not grow, and what it pays for is used up; or the provider passed its cap beyond any difference between tokenizers,
   * which bounds what one that ignores caps can bill us (the customer never pays beyond the cap).
   */
  async growHold(): Promise<boolean> {
    const { ledger, hold, maxCost, units, model, outputTokensMax } = this.parts;
    const { usage } = countUsage(this.#evidence());
    const whole = this.#charge({ ...usage, outputTokens: outputTokensMax }).amount;
    const wanted = maxCost !== undefined && maxCost < whole ? maxCost : whole;
    if (wanted > this.#granted) {
      this.#granted = (await ledger.extend(hold, nanoUsd(wanted - this.#granted))) ?? this.#granted;
    }
    if (whole > this.#granted) {
      this.#limit = affordableOutputTokens(this.#granted, usage.inputTokens, units, model.pricing);
    }
    this.#inputCovered = Math.max(this.#inputCovered, usage.inputTokens);
    const written = this.meter.outputTokens();
    this.#checkAtLength = this.meter.length + this.#limit - written;
    return written <= this.#limit;
  }

  /** The answer is complete: charges it, by the provider's figure where that can be believed. */
  complete(finishReason: FinishReason): Promise<CallEnd> {
    const about = { generation: this.parts.hold.id, provider: this.#route?.provider };
    logUnknownFinish(this.parts.log, about, this.meter.unknownFinish);
    return this.#end('answered', this.#judge(), finishReason);
  }

  /** We ended the answer ourselves: charges what was delivered, at most the cap. */
  cut(): Promise<CallEnd> {
    return this.#end('cut', countUsage(this.#evidence()), 'length');
  }

  /**
   * The client left: charges the provider's own figure if it came, else what was read. A provider that goes on behind our back
   * (`abandoned`) may bill all of the cap, so all of it is charged: leaving is never cheaper than staying.
   */
  async leave(): Promise<void> {
    const verdict = this.meter.usage ? this.#judge() : countUsage(this.#evidence());
    await this.#cancel(
      'left',
      null,
      this.#abandoned ? wholeCap(verdict, this.parts.outputTokensMax) : verdict,
    );
  }

  /** The process stops: charges what was delivered, or the provider's own figure if it came. */
  async shutDown(error: AppError): Promise<void> {
    const verdict = this.meter.usage ? this.#judge() : countUsage(this.#evidence());
    await this.#cancel('shut_down', error, verdict);
  }

  /** The provider goes on with the answer though nobody reads it any more. */
  abandon(): void {
    this.#abandoned = true;
  }

  /**
   * The call failed. Before the first byte it costs nothing; after it, what was delivered: at once where one of our clocks ended
   * it, beyond an allowance where the provider (or our own code) did.
   */
  async fail(error: AppError, clock = false): Promise<void> {
    if (!this.#route && this.#unreadable) {
      this.#route = this.#unreadable.route;
      this.meter.note({ text: '', reasoning: '', usage: this.#unreadable.usage });
    }
    if (!this.#route) {
      await this.#settle({ ending: 'failed_before_first_byte', status: 'failed', error, verdict: UNUSED });
      return;
    }
    const verdict = this.meter.usage ? this.#judge() : countUsage(this.#evidence());
    const ending = clock ? 'timed_out' : 'broken_off';
    await this.#settle({ ending, status: 'failed', error, verdict });
  }

  async #end(ending: 'answered' | 'cut', verdict: Verdict, finishReason: FinishReason): Promise<CallEnd> {
    const charge = await this.#settle({ ending, status: 'completed', verdict, finishReason });
    return { usage: verdict.usage, usageSource: verdict.source, finishReason, charge };
  }

  async #cancel(ending: 'left' | 'shut_down', error: AppError | null, verdict: Verdict): Promise<void> {
    const asked = this.#route !== undefined || this.attempts.at(-1)?.outcome === 'aborted';
    const used = asked ? verdict : UNUSED;
    await this.#settle({ ending, status: 'cancelled', error, verdict: used, finishReason: null });
  }

  #judge(): Verdict {
    const verdict = judgeUsage(this.#evidence());
    if (verdict.absurd) {
      const provider = this.#route?.provider;
      const { reported, counted } = verdict;
      this.parts.log.warn(
        { generation: this.parts.hold.id, provider, reported, counted },
        'usage reported that cannot be true, corrected',
      );
    }
    return verdict;
  }

  #settle(end: End): Promise<NanoUsd> {
    this.#settlement ??= this.#write(end);
    return this.#settlement;
  }

  async #write({ ending, status, error, verdict, finishReason }: End): Promise<NanoUsd> {
    const { ledger, hold, clock, startedAt, ignored, failureAllowance } = this.parts;
    const { usage, source, absurd, reported, counted } = verdict;
    const payment: Payment = CALL_ENDINGS[ending];
    const due = payment === 'nothing' ? FREE : this.#charge(usage);
    const { charge, shortfall: beyondMaxCost } = this.#withinMaxCost(due);
    const providerCost = this.#providerCost(usage);
    const settled = ledger.settle({
      status,
      error: error ? { code: error.code, message: error.message } : null,
      usage,
      usageSource: source,
      holdId: hold.id,
      accountId: hold.accountId,
      apiKeyId: hold.apiKeyId,
      charge,
      beyondMaxCost,
      waiverMax: payment === 'usage beyond the allowance' ? failureAllowance : undefined,
      metering: meteringOf(ignored, reported, counted),
      provider: this.#route?.provider ?? null,
      providerCost,
      attempts: withCost(this.attempts, providerCost),
      finishReason: finishReason === undefined ? 'error' : finishReason,
      latencyMs: clock.now() - startedAt,
      firstTokenMs: this.#firstTokenAt === undefined ? null : this.#firstTokenAt - startedAt,
      streamed: this.parts.streamed,
    });
    const result = await settled.finally(this.#stopKeepAlive);
    if (this.#route && source === 'provider' && !absurd) {
      this.parts.onReport(this.#route, usage.inputTokens);
    }
    this.parts.onUsage(usage);
    return result.charge;
  }

  #providerCost(usage: TokenUsage): NanoUsd | null {
    const pricing = this.#route?.pricing;
    return pricing ? chargeFor(usage, this.parts.units, pricing).amount : null;
  }

  #charge(usage: TokenUsage) {
    return chargeFor(usage, this.parts.units, this.parts.model.pricing);
  }

  /** What the caller allowed this call to cost; the rest is ours. */
  #withinMaxCost(charge: Charge): { charge: Charge; shortfall: NanoUsd } {
    const { maxCost } = this.parts;
    return maxCost === undefined ? { charge, shortfall: ZERO_USD } : capCharge(charge, maxCost);
  }

  #evidence(): Evidence {
    const { input, model, outputTokensMax } = this.parts;
    return {
      reported: this.meter.usage,
      reportedInput: this.meter.inputUsage,
      inputTokens: input.tokens,
      inputTokensMin: input.textTokens,
      inputMax: input.upperBound,
      outputLength: this.meter.length,
      outputTokens: () => this.meter.outputTokens(),
      reasoningTokens: () => this.meter.reasoningTokens(),
      contextLength: model.contextLength,
      outputMax: outputTokensMax,
    };
  }
}
