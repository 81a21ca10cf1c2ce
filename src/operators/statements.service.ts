import type { InvoicesReadModel, StatementRow } from '../billing/invoices.read-model.ts';
import type { MonthClose } from '../ledger/month-close.ts';
import { AppError } from '../lib/errors.ts';
import { accountUuid } from './accounts.service.ts';
import { audited, type OperatorContext } from './operator-access.ts';

/** Closed statements of any account, including void ones. */
export class StatementsService {
  readonly #invoices: Pick<InvoicesReadModel, 'all'>;
  readonly #months: Pick<MonthClose, 'reissue'>;

  constructor(invoices: Pick<InvoicesReadModel, 'all'>, months: Pick<MonthClose, 'reissue'>) {
    this.#invoices = invoices;
    this.#months = months;
  }

  /** Lists statements by month, newest first, and within a month by version, newest first. `accountId` is the stored id. */
  list(accountId: string): Promise<StatementRow[]> {
    return this.#invoices.all(accountId);
  }

  /**
   * Reissues a closed month, and each later month that no longer follows from it. Returns all statements of the account
   * afterwards. Throws AppError account_not_found, invoice_not_found, invalid_request (the month is archived).
   */
  async reissue(account: string, month: Date, reason: string, act: OperatorContext): Promise<StatementRow[]> {
    const accountId = accountUuid(account);
    const made = await this.#months.reissue(
      accountId,
      month,
      reason,
      audited(act, 'statement.reissue', account, { month: month.toISOString().slice(0, 7), reason }),
    );
    if (made === 0) {
      throw new AppError(
        'invoice_not_found',
        'There is no closed statement for that month: the current month has a draft, which is updated automatically.',
      );
    }
    return this.list(accountId);
  }
}
