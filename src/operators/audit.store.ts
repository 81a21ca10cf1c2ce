import type { Sequelize } from 'sequelize';
import { type AuditLogModel, auditLogModel } from '../store/models/audit-log.model.ts';
import type { OperatorContext } from './operator-access.ts';

export interface AuditEntry extends OperatorContext {
  /** Object kind and verb, e.g. `account.create`. */
  readonly action: string;
  /** Public id of the affected object. */
  readonly object: string;
  readonly detail: object;
}

/** The append-only log of operator actions. */
export class AuditStore {
  readonly #model: AuditLogModel;

  constructor(sequelize: Sequelize) {
    this.#model = auditLogModel(sequelize);
  }

  async append(entry: AuditEntry): Promise<void> {
    const { operator, action, object, requestId, detail } = entry;
    const fields = { actor: operator, action, object, request_id: requestId, detail };
    await this.#model.create(fields, { fields: Object.keys(fields) as (keyof typeof fields)[] });
  }
}
