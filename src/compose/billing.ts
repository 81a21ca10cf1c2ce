import { checkoutRoutes } from '../billing/checkout.routes.ts';
import { CheckoutService } from '../billing/checkout.service.ts';
import { CheckoutStore } from '../billing/checkout.store.ts';
import { DocumentsStore } from '../billing/documents.store.ts';
import { InvoicesReadModel } from '../billing/invoices.read-model.ts';
import { invoiceRoutes } from '../billing/invoices.routes.ts';
import { InvoicesService } from '../billing/invoices.service.ts';
import { type StripeOptions, StripePayment } from '../billing/payment/stripe.payment.ts';
import { TestPayment } from '../billing/payment/test.payment.ts';
import { paymentEventRoutes } from '../billing/payment-event.routes.ts';
import { PaymentInboxService } from '../billing/payment-inbox.service.ts';
import { PaymentInboxStore } from '../billing/payment-inbox.store.ts';
import { PaymentMovesService } from '../billing/payment-moves.service.ts';
import { PaymentMovesStore } from '../billing/payment-moves.store.ts';
import { checkoutResultRoutes, paymentPageRoutes } from '../billing/payment-page.routes.ts';
import { ReceiptsService } from '../billing/receipts.service.ts';
import { ReversalsService } from '../billing/reversals.service.ts';
import { StatementDocuments } from '../billing/statement-documents.ts';
import { TestCheckoutService } from '../billing/test-checkout.service.ts';
import { TransactionsReadModel } from '../billing/transactions.read-model.ts';
import { transactionRoutes } from '../billing/transactions.routes.ts';
import { TransactionsService } from '../billing/transactions.service.ts';
import type { Seller } from '../catalog/catalog.types.ts';
import type { Config } from '../config/config.ts';
import type { Route } from '../http/route.ts';
import type { KeysStore } from '../keys/keys.store.ts';
import type { Movements } from '../ledger/movements.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Cells } from '../store/cells.ts';
import { reportReads } from '../store/report.ts';
import { preparedReads } from '../store/statement.ts';
import { UsageReadModel } from '../usage/usage.read-model.ts';
import { usageRoutes } from '../usage/usage.routes.ts';
import { UsageService } from '../usage/usage.service.ts';
import type { Foundation } from './foundation.ts';

/** How credits are paid for: with Stripe, with a test button (never where credits are worth money), or not at all. */
export type PaymentChoice =
  | { readonly kind: 'stripe'; readonly options: StripeOptions }
  | { readonly kind: 'test' }
  | { readonly kind: 'none' };

export interface BillingParts {
  readonly cells: Cells;
  readonly movements: Movements;
  readonly keysStore: KeysStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Base of links, without a trailing slash. */
  readonly publicUrl: string;
  readonly payment: PaymentChoice;
  /** Returns the seller named on documents, as tollgate.yaml has it now. */
  readonly seller: () => Seller | undefined;
}

export interface BillingSurface {
  /** Routes for usage, activity, costs, transactions, invoices, checkout and the payment provider's callbacks. */
  readonly routes: readonly Route[];
  /** Processes waiting payment events and checks stale checkout sessions. Run it every minute. Returns how many it handled. */
  sweep(limit: number): Promise<number>;
  /** Reads the money movements of payments from their provider. Run it every hour. Returns how many it stored. */
  followMoves(): Promise<number>;
}

/** Returns Stripe if it is configured; otherwise the test page, which takes no money, only if test payments are allowed. */
export function paymentOf(config: Config): PaymentChoice {
  if (config.stripe !== null) {
    return { kind: 'stripe', options: config.stripe };
  }
  return { kind: config.testPayments ? 'test' : 'none' };
}

/** Assembles reports and billing. */
export function createBillingSurface(parts: BillingParts): BillingSurface {
  const { cells, keysStore, clock } = parts;
  const payment = createPayment(parts);
  const statements = createStatements(parts);
  const receipts = new ReceiptsService(payment.checkout, new DocumentsStore(cells), parts.seller);
  const routes = [
    ...usageRoutes(new UsageService(new UsageReadModel(cells), keysStore, clock)),
    ...transactionRoutes(new TransactionsService(new TransactionsReadModel(cells), keysStore)),
    ...invoiceRoutes(statements),
    ...checkoutRoutes(payment.checkout, receipts),
    ...checkoutResultRoutes(payment.checkout),
    ...payment.routes,
  ];
  return {
    routes,
    async sweep(limit) {
      const events = (await payment.inbox?.process(limit)) ?? 0;
      return events + (await payment.checkout.sweep(limit));
    },
    followMoves: async () => (await payment.moves?.follow()) ?? 0,
  };
}

/** Creates the services for account statements and for their documents. */
export function createStatements(parts: Pick<BillingParts, 'cells' | 'publicUrl' | 'seller'>) {
  const { cells, publicUrl, seller } = parts;
  const readModel = new InvoicesReadModel((accountId) => reportReads(cells.of(accountId).sequelize));
  const invoices = new InvoicesService(readModel);
  const store = new DocumentsStore(cells);
  const issuing = new InvoicesReadModel((accountId) => preparedReads(cells.of(accountId).money));
  const documents = new StatementDocuments({ store, readModel, issuing, invoices, seller, publicUrl });
  return { invoices, documents };
}

interface Payment {
  readonly checkout: CheckoutService;
  readonly inbox: PaymentInboxService | undefined;
  readonly moves: PaymentMovesService | undefined;
  readonly routes: readonly Route[];
}

function createPayment(parts: BillingParts): Payment {
  const { cells, movements, clock, log, publicUrl, payment } = parts;
  const store = new CheckoutStore(cells);
  if (payment.kind === 'stripe') {
    return createStripePayment(parts, store, new StripePayment(payment.options));
  }
  const provider = payment.kind === 'test' ? new TestPayment(publicUrl) : undefined;
  const settings = { publicUrl, provider };
  const checkout = new CheckoutService({ store, movements, settings, clock, log });
  log.info(
    provider
      ? 'the payment page is a test: credits are granted without payment'
      : 'credits cannot be bought: no payment provider is configured',
  );
  const routes = provider ? paymentPageRoutes(new TestCheckoutService(checkout, movements, log)) : [];
  return { checkout, inbox: undefined, moves: undefined, routes };
}

function createStripePayment(parts: BillingParts, store: CheckoutStore, provider: StripePayment): Payment {
  const { cells, clock, log, publicUrl, movements } = parts;
  const settings = { publicUrl, provider };
  const checkout = new CheckoutService({ store, movements, settings, clock, log });
  const events = new PaymentInboxStore(cells.home.money, provider.name);
  const inbox = new PaymentInboxService(
    {
      inbox: events,
      sessions: store,
      checkout,
      reversals: new ReversalsService(movements, store, provider, log),
    },
    provider.name,
    clock,
    log,
  );
  const verify = provider.verify.bind(provider);
  const moves = new PaymentMovesService(
    new PaymentMovesStore(cells.sole.money, provider.name),
    provider,
    events,
  );
  return { checkout, inbox, moves, routes: paymentEventRoutes({ verify, inbox, log }) };
}

/** Assembles reports and billing on a process's foundation. */
export function composeBilling(foundation: Foundation, keysStore: KeysStore): BillingSurface {
  const { config, cells, movements, clock, log, catalogSource } = foundation;
  const payment = paymentOf(config);
  return createBillingSurface({
    cells,
    movements,
    keysStore,
    clock,
    log,
    publicUrl: config.publicUrl,
    payment,
    seller: () => catalogSource.current.seller,
  });
}
