import { affordableOutputTokens, type BilledUnits, capCharge, chargeFor } from '../catalog/pricing.ts';
import type {
  GenerationStatus,
  Hold,
  Ledger,
  MeteredSoFar,
  ProviderAttempt,
  Settlement,
} from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import type { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { formatUsd, type NanoUsd, nanoUsd, ZERO_USD } from '../lib/money.ts';
import { NO_USAGE, type TokenUsage, type UsageSource } from '../lib/usage.ts';
import type { Facts, FinishReason } from '../providers/provider.types.ts';
import type { InputEstimate } from './input-estimate.ts';
import type { CallEnd, InvocableModel, ModelRoute } from './invocation.types.ts';
import { StreamMeter } from './stream-meter.ts';
import { countUsage, type Evidence, judgeUsage } from './usage-judgement.ts';

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

type Ending = Pick<Settlement, 'status' | 'error' | 'usage' | 'usageSource' | 'charge'> & {
  readonly finishReason: string | null;
  /** Usage the provider will bill us for, when it differs from what the customer pays for. */
  readonly billedToUs?: TokenUsage;
};

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
  #settlement: Promise<void> | undefined;

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

  /** What the call has used up so far: the ledger charges this if the process dies. */
  metered(): MeteredSoFar {
    if (!this.#route) {
      return { charge: { amount: ZERO_USD, lines: {} }, usage: NO_USAGE };
    }
    const { usage } = countUsage(this.#evidence());
    return { charge: this.#capped(usage).charge, usage };
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

  /** The answer is complete: charges it, or nothing when it is empty. */
  async complete(finishReason: FinishReason): Promise<CallEnd> {
    const verdict = judgeUsage(this.#evidence());
    const { log, hold } = this.parts;
    const about = { generation: hold.id, provider: this.#route?.provider };
    if (verdict.absurd) {
      log.warn(about, 'absurd usage reported, corrected');
    }
    if (this.meter.unknownFinish !== undefined) {
      log.warn(
        { ...about, word: this.meter.unknownFinish },
        'unknown finish reason, taken for an ordinary end',
      );
    }
    return this.#end(verdict.usage, verdict.source, finishReason);
  }

  /** We ended the answer ourselves: charges what was delivered, at most the cap. */
  async cut(): Promise<CallEnd> {
    const { usage, source } = countUsage(this.#evidence());
    return this.#end(usage, source, 'length');
  }

  /** The client left, or we are shutting down: charges what was delivered, or the provider's own figure if it came. */
  async cancel(error: { code: string; message: string } | null = null): Promise<void> {
    const evidence = this.#evidence();
    const drained = this.meter.finishReason !== undefined && this.meter.usage !== undefined;
    const inFlight = this.#route !== undefined || this.attempts.at(-1)?.outcome === 'aborted';
    const verdict = drained ? judgeUsage(evidence) : countUsage(evidence);
    const usage = inFlight ? verdict.usage : NO_USAGE;
    await this.#settle({
      status: 'cancelled',
      error,
      usage,
      usageSource: inFlight ? verdict.source : 'none',
      charge: inFlight ? this.#charge(usage) : { amount: ZERO_USD, lines: {} },
      finishReason: null,
    });
  }

  /** The call failed: costs the customer nothing, whatever was delivered. */
  async fail(error: AppError): Promise<void> {
    const { usage, source } = countUsage(this.#evidence());
    const used = this.#route !== undefined;
    await this.#settle({
      status: 'failed',
      error: { code: error.code, message: error.message },
      usage: NO_USAGE,
      usageSource: 'none',
      charge: { amount: ZERO_USD, lines: {} },
      finishReason: 'error',
      ...(used && source ? { billedToUs: usage } : {}),
    });
  }

  async #end(usage: TokenUsage, source: UsageSource, finishReason: FinishReason): Promise<CallEnd> {
    const empty = this.meter.length === 0 && usage.reasoningTokens === 0;
    const status: GenerationStatus = 'completed';
    const charge = empty ? { amount: ZERO_USD, lines: {} } : this.#charge(usage);
    await this.#settle({
      status,
      error: null,
      usage,
      usageSource: source,
      charge,
      finishReason,
      billedToUs: usage,
    });
    return { usage, usageSource: source, finishReason };
  }

  #settle(ending: Ending): Promise<void> {
    this.#settlement ??= this.#write(ending);
    return this.#settlement;
  }

  async #write(ending: Ending): Promise<void> {
    const { ledger, hold, clock, startedAt } = this.parts;
    const { status, error, usage, usageSource, billedToUs, finishReason } = ending;
    const { charge, shortfall } = capCharge(ending.charge, this.#granted);
    const providerCost = this.#providerCost(billedToUs ?? usage);
    const settled = ledger.settle({
      status,
      error,
      usage,
      usageSource,
      holdId: hold.id,
      accountId: hold.accountId,
      apiKeyId: hold.apiKeyId,
      charge,
      shortfall,
      provider: this.#route?.provider ?? null,
      providerCost,
      attempts: withCost(this.attempts, providerCost),
      finishReason,
      latencyMs: clock.now() - startedAt,
      firstTokenMs: this.#firstTokenAt === undefined ? null : this.#firstTokenAt - startedAt,
      streamed: this.parts.streamed,
    });
    await settled.finally(this.#stopKeepAlive);
    this.parts.onUsage(usage);
  }

  #providerCost(usage: TokenUsage): NanoUsd | null {
    const pricing = this.#route?.pricing;
    return pricing ? chargeFor(usage, this.parts.units, pricing).amount : null;
  }

  #charge(usage: TokenUsage) {
    return chargeFor(usage, this.parts.units, this.parts.model.pricing);
  }

  #capped(usage: TokenUsage) {
    return capCharge(this.#charge(usage), this.#granted);
  }

  #evidence(): Evidence {
    const { input, model, outputTokensMax } = this.parts;
    return {
      reported: this.meter.usage,
      reportedInput: this.meter.inputUsage,
      inputTokens: input.tokens,
      outputTokens: () => this.meter.outputTokens(),
      reasoningTokens: () => this.meter.reasoningTokens(),
      delivered: this.meter.length > 0,
      contextLength: model.contextLength,
      outputMax: outputTokensMax,
    };
  }
}

function withCost(attempts: readonly ProviderAttempt[], cost: NanoUsd | null): readonly ProviderAttempt[] {
  const last = attempts.at(-1);
  return last && cost !== null ? [...attempts.slice(0, -1), { ...last, cost: formatUsd(cost) }] : attempts;
}
