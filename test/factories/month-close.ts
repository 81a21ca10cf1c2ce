import type { Seller } from '../../src/catalog/catalog.types.ts';
import { createStatements } from '../../src/compose/billing.ts';
import { MonthClose } from '../../src/ledger/month-close.ts';
import { StatementProof } from '../../src/ledger/statement-proof.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { oneCell } from '../../src/store/cells.ts';
import type { Database } from '../../src/store/database.ts';

/** Closes months as a worker does. Without a seller, its documents name none. */
export function testMonthClose(database: Database, seller?: Seller): MonthClose {
  const { documents } = createStatements({
    cells: oneCell(database),
    publicUrl: 'http://localhost:8080',
    seller: () => seller,
  });
  const log = createLogger({ name: 'test', level: 'silent' });
  return new MonthClose(database.money, new StatementProof(database.money), documents, log);
}
