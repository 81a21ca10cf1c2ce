import { nanoUsd } from '../../lib/money.ts';
import type {
  HostedSession,
  HostedSessionRequest,
  PaymentProvider,
  PaymentReversal,
} from './payment.types.ts';

/**
 * A provider that takes no money: its payment page is one of our own pages with a button. For trying things out only: anyone who can
 * open a session can fill the account, so it must not run where credits are worth anything.
 */
export class TestPayment implements PaymentProvider {
  readonly name = 'test';
  readonly #publicUrl: string;

  /** `publicUrl` without a trailing slash. */
  constructor(publicUrl: string) {
    this.#publicUrl = publicUrl;
  }

  async createSession(request: HostedSessionRequest): Promise<{ providerSessionId: string; url: string }> {
    return { providerSessionId: request.sessionId, url: `${this.#publicUrl}/checkout/${request.sessionId}` };
  }

  /** Returns nothing that our own row does not have: the test provider's page books the payment itself. */
  async fetchSession(providerSessionId: string): Promise<HostedSession> {
    return {
      providerSessionId,
      sessionId: providerSessionId,
      url: null,
      status: 'open',
      paymentStatus: 'unpaid',
      amount: nanoUsd(0),
      currency: 'USD',
      paymentId: null,
    };
  }

  async expireSession(providerSessionId: string): Promise<HostedSession> {
    return { ...(await this.fetchSession(providerSessionId)), status: 'expired' };
  }

  async receiptUrlOf(): Promise<null> {
    return null;
  }

  async reversalsOf(): Promise<PaymentReversal[]> {
    return [];
  }
}
