import type { Sequelize } from 'sequelize';
import { type AuditLogModel, auditLogModel } from '../store/models/audit-log.model.ts';
import type { OperatorAct } from './operator-access.ts';

export interface AuditEntry extends OperatorAct {
  /** Verb with its object's kind, e.g. `account.create`. */
  readonly action: string;
  /** Public id of what was acted on. */
  readonly object: string;
  readonly detail: object;
}

/** Who did what: append-only. */
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
