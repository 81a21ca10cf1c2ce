import { affordableOutputTokens, capCharge, chargeFor } from '../catalog/pricing.ts';
import type { Charge, MeteredSoFar, ProviderAttempt } from '../ledger/ledger.types.ts';
import type { AppError } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import { type NanoUsd, nanoUsd, ZERO_USD } from '../lib/money.ts';
import { NO_USAGE, type ReportedUsage, type TokenUsage } from '../lib/usage.ts';
import type { Facts, FinishReason } from '../providers/provider.types.ts';
import type { Alternative } from './alternatives.ts';
import { CALL_ENDINGS, type CallEnding, CLIENT_CLOSED, type End, type EndError } from './call-endings.ts';
import { meteringOf, withCost } from './generation-facts.ts';
import type { CallEnd, ModelRoute } from './invocation.types.ts';
import type { LiveCallParts } from './live-call.types.ts';
import { StreamMeter } from './stream-meter.ts';
import { countUsage, type Evidence, type Judgment, judgeUsage } from './usage-judgment.ts';

const FREE: Charge = { amount: ZERO_USD, lines: {} };
const UNUSED: Judgment = { usage: NO_USAGE, source: 'none', absurd: false };

/** One call between its hold and its settlement. Owns the hold: exactly one ending settles it, once. */
export class LiveCall {
  readonly meter = new StreamMeter();
  readonly attempts: ProviderAttempt[] = [];
  readonly parts: LiveCallParts;
  readonly #stopKeepAlive: () => void;
  #granted: NanoUsd;
  #route: ModelRoute | undefined;
  /** Output tokens, by our count, after which the answer is cut off. */
  #limit = 0;
  #inputCovered = 0;
  /** Delivered text, in UTF-16 units, below which the limit cannot have been reached. */
  #checkAtLength = 0;
  #finished = false;
  #firstTokenAt: number | undefined;
  #abandoned = false;
  #unreadable: { by: Alternative; route: ModelRoute; usage: ReportedUsage } | undefined;
  #settlement: Promise<NanoUsd> | undefined;

  constructor(parts: LiveCallParts) {
    this.parts = parts;
    this.#granted = parts.hold.granted;
    this.#ask();
    this.#stopKeepAlive = parts.ledger.keepAlive(parts.hold, () => this.metered());
  }

  /** The current model. */
  get alternative(): Alternative {
    return this.parts.alternatives.current;
  }

  /** Moves on to the next model after no provider of the current one answered. Returns false when there is none. */
  fallBack(): boolean {
    const fellBack = this.parts.alternatives.advance();
    this.#ask();
    return fellBack;
  }

  #ask(): void {
    this.#limit = this.parts.alternatives.outputLimit;
    this.#inputCovered = this.alternative.input.upperBound;
    this.#checkAtLength = this.#limit;
  }

  /** Records the route that answers. Until then nothing was used. */
  answeredBy(route: ModelRoute): void {
    this.#route = route;
  }

  /** Records the usage of an answer that cannot be passed on. It counts if no other provider answers. */
  noteUnreadable(route: ModelRoute, usage: ReportedUsage): void {
    this.#unreadable = { by: this.alternative, route, usage };
  }

  /** True once the end of the answer was delivered. Whatever happens later, the client has all of it. */
  get finished(): boolean {
    return this.#finished;
  }

  /** Meters what was delivered. */
  deliver(facts: Facts): void {
    this.#firstTokenAt ??= this.parts.clock.now();
    this.#finished ||= facts.finishReason !== undefined;
    this.meter.add(facts);
  }

  /** Counts delivered text that is too long to count at once. Await this before delivering more or ending the call. */
  async count(): Promise<void> {
    if (this.meter.isBehind) {
      await this.parts.inTurn(this.meter.catchUp());
    }
  }

  /** Returns what the call has used so far. The ledger charges this if the process dies. */
  metered(): MeteredSoFar {
    if (!this.#route) {
      return { charge: { amount: ZERO_USD, lines: {} }, usage: NO_USAGE };
    }
    const { usage } = countUsage(this.#evidence());
    return {
      charge: this.#withinMaxCost(this.#charge(usage)).charge,
      usage,
      served: this.parts.alternatives.served,
    };
  }

  /** Returns true when the answer may have to end. Cheap, because a token is at least one letter: exact counting can wait until then. */
  outgrowsHold(): boolean {
    return (
      this.meter.length > this.#checkAtLength ||
      (this.meter.inputUsage?.inputTokens ?? 0) > this.#inputCovered
    );
  }

  /**
   * Extends the hold to cover the input the provider reports and the whole output cap, within the caller's cost limit. Returns false when
   * the answer must end here. Our count of the output is an estimate and ends the answer in two cases only: the hold could not grow and
   * what it pays for is used up, or the output exceeds the cap by more than tokenizers differ. That bounds what a provider that ignores
   * caps can bill us; the customer never pays beyond the cap.
   */
  async growHold(): Promise<boolean> {
    const { ledger, hold, maxCost } = this.parts;
    const { units, model, outputTokensMax } = this.alternative;
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

  /** Settles a complete answer. Charges the provider's figure where it is credible. */
  complete(finishReason: FinishReason): Promise<CallEnd> {
    const word = this.meter.unknownFinish;
    if (word !== undefined) {
      this.#warn({ word }, 'unknown finish reason, treated as a normal stop');
    }
    return this.#end('answered', this.#judge(), finishReason);
  }

  /** Settles an answer that we cut off. Charges what was delivered, at most the cap. */
  cut(): Promise<CallEnd> {
    return this.#end('cut', countUsage(this.#evidence()), 'length');
  }

  /**
   * Settles after the client disconnected: charges the provider's own figure or else what was read, even later. An allowance covers it if
   * nothing was read and the provider stopped. If it continues unread (`abandoned`), it may bill the whole cap, so that is charged.
   */
  async leave(): Promise<void> {
    const verdict = this.#delivered();
    const answered = this.#firstTokenAt !== undefined || this.meter.length > 0 || this.meter.usage;
    const gotNothing = !this.#abandoned && !answered;
    const ending = gotNothing ? 'left_with_nothing' : 'left';
    await this.#cancel(ending, CLIENT_CLOSED, this.#abandoned ? this.#wholeCap(verdict) : verdict);
  }

  /** Settles when the process shuts down. Charges what was delivered, or the provider's own figure if it arrived. */
  async shutDown(error: AppError): Promise<void> {
    await this.#cancel('shut_down', error, this.#delivered());
  }

  /** Records that the provider continues the answer although nobody reads it any more. */
  abandon(): void {
    this.#abandoned = true;
  }

  /**
   * Settles a failed call: free before the first byte, charged for what was delivered after it. An allowance covers the charge unless one
   * of our timeouts (`clock`) ended an answer that was being delivered.
   */
  async fail(error: AppError, clock = false): Promise<void> {
    const unread = this.#route ? undefined : this.#unreadable;
    if (unread) {
      this.parts.alternatives.returnTo(unread.by);
      this.#route = unread.route;
      this.meter.note({ text: '', reasoning: '', usage: unread.usage });
    }
    if (!this.#route) {
      await this.#settle({ ending: 'failed_before_first_byte', status: 'failed', error, verdict: UNUSED });
      return;
    }
    const ending = clock && !unread ? 'timed_out' : 'broken_off';
    await this.#settle({ ending, status: 'failed', error, verdict: this.#delivered() });
  }

  async #end(ending: 'answered' | 'cut', verdict: Judgment, finishReason: FinishReason): Promise<CallEnd> {
    const charge = await this.#settle({ ending, status: 'completed', verdict, finishReason });
    return { usage: verdict.usage, finishReason, charge, endedAt: this.parts.clock.now() };
  }

  async #cancel(ending: CallEnding, error: EndError, verdict: Judgment): Promise<void> {
    const asked = this.#route !== undefined || this.attempts.at(-1)?.outcome === 'aborted';
    const used = asked ? verdict : UNUSED;
    await this.#settle({ ending, status: 'cancelled', error, verdict: used, finishReason: null });
  }

  #delivered(): Judgment {
    return this.meter.usage ? this.#judge() : countUsage(this.#evidence());
  }

  #judge(): Judgment {
    const verdict = judgeUsage(this.#evidence());
    if (verdict.absurd) {
      const { reported, counted } = verdict;
      this.#warn({ reported, counted }, 'provider reported implausible usage, corrected');
    }
    return verdict;
  }

  #warn(facts: object, message: string): void {
    const generationId = publicId('generation', this.parts.hold.id);
    this.parts.log.warn({ generationId, provider: this.#route?.provider, ...facts }, message);
  }

  #wholeCap(verdict: Judgment): Judgment {
    const outputTokens = Math.max(verdict.usage.outputTokens, this.alternative.outputTokensMax);
    return { ...verdict, usage: { ...verdict.usage, outputTokens } };
  }

  #settle(end: End): Promise<NanoUsd> {
    this.#settlement ??= this.#write(end);
    return this.#settlement;
  }

  async #write({ ending, status, error, verdict, finishReason }: End): Promise<NanoUsd> {
    const { ledger, hold, clock, startedAt, ignored, failureAllowance, streamed } = this.parts;
    const { usage, source, absurd, reported, counted } = verdict;
    const payment = CALL_ENDINGS[ending];
    const due = payment === 'nothing' ? FREE : this.#charge(usage);
    const { charge, shortfall: beyondMaxCost } = this.#withinMaxCost(due);
    const providerCost = this.#providerCost(usage);
    const settled = ledger.settle({
      status,
      served: this.parts.alternatives.served,
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
      firstTokenMs: streamed && this.#firstTokenAt !== undefined ? this.#firstTokenAt - startedAt : null,
      streamed,
    });
    const result = await settled.finally(this.#stopKeepAlive);
    if (this.#route && source === 'provider' && !absurd) {
      this.parts.onReport(this.#route, usage.inputTokens);
    }
    const [model, provider] = [this.alternative.model.id, this.#route?.provider];
    this.parts.onSettled({ model, provider, usage, charge: result.charge, code: error?.code });
    return result.charge;
  }

  #providerCost(usage: TokenUsage): NanoUsd | null {
    const pricing = this.#route?.pricing;
    return pricing ? chargeFor(usage, this.alternative.units, pricing).amount : null;
  }

  #charge(usage: TokenUsage) {
    return chargeFor(usage, this.alternative.units, this.alternative.model.pricing);
  }

  /** Caps the charge at the caller's cost limit. We bear the rest. */
  #withinMaxCost(charge: Charge): { charge: Charge; shortfall: NanoUsd } {
    const { maxCost } = this.parts;
    return maxCost === undefined ? { charge, shortfall: ZERO_USD } : capCharge(charge, maxCost);
  }

  #evidence(): Evidence {
    const { input, model, outputTokensMax } = this.alternative;
    return {
      reported: this.meter.usage,
      reportedInput: this.meter.inputUsage,
      inputTokens: input.charged,
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
