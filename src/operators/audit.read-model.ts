import type { Sequelize } from 'sequelize';
import type { AuditLogRow } from '../store/models/audit-log.model.ts';
import { readRows } from '../store/report.ts';
import { auditPage } from './audit.sql.ts';

export interface AuditFilter {
  readonly action: string | null;
  readonly object: string | null;
  readonly actor: string | null;
  /** Inclusive. */
  readonly start: Date | null;
  /** Exclusive. */
  readonly end: Date | null;
  /** Only rows with a lower id. */
  readonly beforeId: string | null;
  readonly limit: number;
}

export class AuditReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  /** Lists entries, newest first. */
  list({ action, object, actor, start, end, beforeId, limit }: AuditFilter): Promise<AuditLogRow[]> {
    const values = [action, object, actor, start, end, beforeId, limit];
    return readRows<AuditLogRow>(this.#sequelize, auditPage, values);
  }
}
