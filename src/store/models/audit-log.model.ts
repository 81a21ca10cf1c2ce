import type { Model, ModelStatic, Sequelize } from 'sequelize';
import { DataTypes } from 'sequelize';

export interface AuditLogRow {
  id: string;
  at: Date;
  actor: string;
  action: string;
  object: string;
  request_id: string | null;
  detail: object;
}

export type AuditLogModel = ModelStatic<Model<AuditLogRow, Partial<AuditLogRow>>>;

/** Returns the model of `audit_log` on one connection: row shape only. */
export function auditLogModel(sequelize: Sequelize): AuditLogModel {
  return sequelize.define<Model<AuditLogRow, Partial<AuditLogRow>>>(
    'audit_log',
    {
      id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
      at: DataTypes.DATE(6),
      actor: DataTypes.TEXT,
      action: DataTypes.TEXT,
      object: DataTypes.TEXT,
      request_id: DataTypes.TEXT,
      detail: DataTypes.JSONB,
    },
    { tableName: 'audit_log', timestamps: false, underscored: false },
  );
}
