import fc from 'fast-check';
import type { FakeReversal } from './stripe-contract-server.ts';

/** One thing that happens to a payment or to the news of it. Indexes select among what exists at that time. */
export type PaymentCommand =
  | { readonly do: 'refund'; readonly cents: number; readonly status: string }
  | { readonly do: 'dispute'; readonly cents: number; readonly status: string; readonly withdrawn: boolean }
  | { readonly do: 'change'; readonly which: number; readonly way: number }
  | { readonly do: 'tell'; readonly which: number; readonly times: number }
  | { readonly do: 'answer'; readonly which: number };

const index = fc.nat({ max: 40 });
const cents = fc.integer({ min: 1, max: 2_500 });

/** Allowed next states of a refund or a dispute (docs.stripe.com/refunds, docs.stripe.com/disputes/how-disputes-work). */
const NEXT: Record<string, readonly string[]> = {
  pending: ['succeeded', 'failed', 'canceled', 'requires_action'],
  requires_action: ['succeeded', 'failed', 'canceled'],
  succeeded: ['failed'],
  warning_needs_response: ['warning_under_review', 'warning_closed', 'needs_response'],
  warning_under_review: ['warning_closed', 'needs_response'],
  needs_response: ['under_review', 'lost', 'won'],
  under_review: ['won', 'lost'],
  lost: ['appeal_needs_response'],
  appeal_needs_response: ['appeal_under_review', 'lost'],
  appeal_under_review: ['won', 'lost'],
  won: ['under_review'],
};

export const paymentStory: fc.Arbitrary<PaymentCommand[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('refund' as const),
        cents,
        status: fc.constantFrom('pending', 'pending', 'succeeded', 'requires_action'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('dispute' as const),
        cents,
        status: fc.constantFrom('needs_response', 'needs_response', 'warning_needs_response', 'prevented'),
        withdrawn: fc.boolean(),
      }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('change' as const), which: index, way: index }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('tell' as const),
        which: index,
        times: fc.integer({ min: 1, max: 3 }),
      }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('answer' as const), which: index }) },
  ),
  { minLength: 1, maxLength: 16, size: 'max' },
);

interface Standing extends FakeReversal {
  readonly kind: 'refund' | 'dispute';
  /** Cents that the model counts as gone. Never negative. */
  gone: number;
}

/** Stripe's side of one payment: which changes it allows, and where the money is. */
export class StripePaymentModel {
  readonly reversals: Standing[] = [];
  readonly payment: string;
  readonly paid: number;
  readonly #show: (kind: Standing['kind'], reversal: Standing) => void;

  /** `show` adds a new refund or dispute to what the contract server lists. */
  constructor(payment: string, paid: number, show: (kind: Standing['kind'], reversal: Standing) => void) {
    this.payment = payment;
    this.paid = paid;
    this.#show = show;
  }

  /** Total of the cents that have left, for any reason. */
  get gone(): number {
    return this.reversals.reduce((sum, reversal) => sum + reversal.gone, 0);
  }

  /** Rejects a refund that exceeds the payment, as Stripe does. */
  refund(amount: number, status: string): Standing | undefined {
    const refunded = this.reversals
      .filter(({ kind }) => kind === 'refund')
      .reduce((sum, { gone }) => sum + gone, 0);
    return refunded + amount > this.paid ? undefined : this.#add('refund', 're', amount, status, amount);
  }

  /** A dispute may follow refunds. Then more has left than was paid. */
  dispute(amount: number, status: string, withdrawn: boolean): Standing | undefined {
    const taken = status === 'prevented' ? withdrawn : !status.startsWith('warning_');
    const dispute = this.#add('dispute', 'dp', Math.min(amount, this.paid), status, 0);
    this.#move(dispute, taken ? dispute.amount : 0);
    return dispute;
  }

  change(which: number, way: number): Standing | undefined {
    const reversal = this.reversals[which % Math.max(1, this.reversals.length)];
    const ways = (reversal && NEXT[reversal.status]) ?? [];
    const status = ways[way % Math.max(1, ways.length)];
    if (!reversal || status === undefined) {
      return undefined;
    }
    reversal.status = status;
    const isBack = ['failed', 'canceled', 'won'].includes(status) || status.startsWith('warning_');
    this.#move(reversal, isBack ? 0 : reversal.amount);
    return reversal;
  }

  #add(kind: Standing['kind'], prefix: string, amount: number, status: string, gone: number): Standing {
    const id = `${prefix}_${this.reversals.length}_${this.payment}`;
    const reversal: Standing = { id, kind, amount, status, payment_intent: this.payment, gone };
    this.reversals.push(reversal);
    this.#show(kind, reversal);
    return reversal;
  }

  #move(reversal: Standing, gone: number): void {
    if (gone !== reversal.gone) {
      reversal.balance_transactions = [
        ...(reversal.balance_transactions ?? []),
        { amount: reversal.gone - gone },
      ];
      reversal.gone = gone;
    }
  }
}
