import type { Sequelize } from 'sequelize';
import { parseTransactionId, transactionId } from '../../billing/transaction-id.ts';
import { idAt, idsOwnedByRequest, parsePublicId, publicId, uuidTimeMs } from '../../lib/ids.ts';
import { formatUsd, nanoUsd } from '../../lib/money.ts';
import { readRows } from '../../store/report.ts';
import type { SqlStatement } from '../../store/statement.ts';
import type { Finding } from './search.schema.ts';
import {
  accountFound,
  accountsNamed,
  chargesOfRequest,
  checkoutsFound,
  deliveryFound,
  documentFound,
  entryFound,
  generationFound,
  generationsOfRequest,
  keysFound,
} from './search.sql.ts';

const FINDINGS_MAX = 20;
/**
 * A request creates its generation within this time. A request repeated under its idempotency key refers to an older generation.
 */
const REQUEST_TO_GENERATION_MS = 60_000;
/** The number as printed on statements and receipts. */
const DOCUMENT = /^(ST|RC)-(\d{1,12})$/;

interface GenerationFound {
  readonly id: string;
  readonly account_id: string;
  readonly model: string;
}

interface ChargeFound {
  readonly reference: string;
  readonly account_id: string;
  readonly amount: string;
}

interface DeliveryFound {
  readonly account_id: string;
  readonly task_id: string | null;
  readonly event: string;
  readonly state: string;
}

/** Finds what an id, a number or a name refers to, across all accounts. */
export class SearchReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  /** Returns at most {@link FINDINGS_MAX} findings in total. The text must be trimmed and not empty. */
  async find(text: string): Promise<Finding[]> {
    const found = await Promise.all([
      this.#accounts(text),
      this.#keys(text),
      this.#generations(text),
      this.#entry(text),
      this.#checkouts(text),
      this.#delivery(text),
      this.#document(text),
    ]);
    return found.flat().slice(0, FINDINGS_MAX);
  }

  /**
   * Returns the id (gen-…) of what a request made, also when it is archived, provided it was charged then; undefined when nothing is found.
   */
  async generationOfRequest(text: string): Promise<string | undefined> {
    const [found] = await this.#generations(text);
    const charge = found && parseTransactionId(found.id);
    return charge ? publicId('generation', charge.reference) : found?.id;
  }

  async #accounts(text: string): Promise<Finding[]> {
    const id = parsePublicId('account', text);
    const name = text.replace(/[\\%_]/g, '\\$&');
    const rows = id
      ? await this.#read<{ id: string; name: string }>(accountFound, [id])
      : await this.#read<{ id: string; name: string }>(accountsNamed, [name, FINDINGS_MAX]);
    return rows.map((row) => finding('account', publicId('account', row.id), row.id, row.name));
  }

  async #keys(text: string): Promise<Finding[]> {
    const rows = await this.#read<{ hash: string; name: string; account_id: string }>(keysFound, [
      text,
      FINDINGS_MAX,
    ]);
    return rows.map((row) => finding('key', row.hash, row.account_id, row.name));
  }

  async #generations(text: string): Promise<Finding[]> {
    const id = parsePublicId('generation', text);
    const request = parsePublicId('request', text);
    const rows = id
      ? await this.#read<GenerationFound>(generationFound, [id])
      : request
        ? await this.#read<GenerationFound>(generationsOfRequest, [
            text,
            ...around(request),
            ...idsOwnedByRequest(request),
            FINDINGS_MAX,
          ])
        : [];
    return rows.length === 0 && request
      ? await this.#charges(request)
      : rows.map((row) => finding('generation', publicId('generation', row.id), row.account_id, row.model));
  }

  /** Finds what was charged for a request whose generation is archived. */
  async #charges(request: string): Promise<Finding[]> {
    const rows = await this.#read<ChargeFound>(chargesOfRequest, [
      ...idsOwnedByRequest(request),
      FINDINGS_MAX,
    ]);
    return rows.map(({ reference, account_id, amount }) =>
      finding('transaction', transactionId({ type: 'usage_charge', reference }), account_id, usd(amount)),
    );
  }

  async #entry(text: string): Promise<Finding[]> {
    const key = parseTransactionId(text);
    const rows = key
      ? await this.#read<{ account_id: string; amount: string }>(entryFound, [key.type, key.reference])
      : [];
    return rows.map((row) => finding('transaction', text, row.account_id, usd(row.amount)));
  }

  /** Finds checkouts by session id, or by the payment provider's id of the session or its payment. */
  async #checkouts(text: string): Promise<Finding[]> {
    const rows = await this.#read<{
      readonly id: string;
      readonly account_id: string;
      readonly amount: string;
      readonly payment_status: string;
    }>(checkoutsFound, [parsePublicId('checkoutSession', text) ?? null, text, FINDINGS_MAX]);
    return rows.map((row) =>
      finding(
        'checkout_session',
        publicId('checkoutSession', row.id),
        row.account_id,
        `${usd(row.amount)}, ${row.payment_status}`,
      ),
    );
  }

  async #delivery(text: string): Promise<Finding[]> {
    const id = parsePublicId('webhookDelivery', text);
    const rows = id ? await this.#read<DeliveryFound>(deliveryFound, [id]) : [];
    return rows.map((row) => {
      const subject = row.task_id === null ? row.event : publicId('generation', row.task_id);
      return finding('webhook_delivery', text, row.account_id, `${row.state}, of ${subject}`);
    });
  }

  async #document(text: string): Promise<Finding[]> {
    const [, series, number] = DOCUMENT.exec(text) ?? [];
    if (number === undefined) {
      return [];
    }
    const kind = series === 'ST' ? 'statement' : 'receipt';
    const rows = await this.#read<{ account_id: string; issued_at: Date }>(documentFound, [kind, number]);
    return rows.map((row) =>
      finding(kind, text, row.account_id, `issued ${row.issued_at.toISOString().slice(0, 10)}`),
    );
  }

  #read<Row extends object>(statement: SqlStatement, values: readonly unknown[]): Promise<Row[]> {
    return readRows<Row>(this.#sequelize, statement, values);
  }
}

function finding(kind: Finding['kind'], id: string, accountId: string, summary: string): Finding {
  return { kind, id, account_id: publicId('account', accountId), summary };
}

/** Returns the range of ids of generations that a request may have created: the first, and the end, exclusive. */
function around(requestUuid: string): [string, string] {
  const at = uuidTimeMs(requestUuid);
  return [idAt(at - REQUEST_TO_GENERATION_MS), idAt(at + REQUEST_TO_GENERATION_MS)];
}

function usd(amount: string): string {
  return `${formatUsd(nanoUsd(amount))} USD`;
}
