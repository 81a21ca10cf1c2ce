import type { Model, ModelStatic, Sequelize } from 'sequelize';
import { DataTypes } from 'sequelize';

/** Stored limits of a key or an account. An absent limit takes the configured value. */
export interface StoredRateLimits {
  readonly requests_per_minute?: number;
  readonly tokens_per_minute?: number;
  readonly concurrency?: number;
  /** Set on accounts only. */
  readonly queued_tasks?: number;
}

/** A row of `api_keys`; amounts are nano-USD as decimal text. */
export interface ApiKeyRow {
  id: string;
  account_id: string;
  hash: string;
  name: string;
  label: string;
  role: 'owner' | 'inference';
  disabled: boolean;
  allowed_models: string[] | null;
  limit_nano: string | null;
  cap_nano: string | null;
  limit_reset: 'daily' | 'weekly' | 'monthly' | null;
  /** The value of `spent` when the current count of the limit began. */
  spent_before: string;
  spent: string;
  held: string;
  created_at: Date;
  expires_at: Date | null;
  deleted_at: Date | null;
  last_used_at: Date | null;
  rate_limits: StoredRateLimits | null;
}

export type ApiKeyModel = ModelStatic<Model<ApiKeyRow, Partial<ApiKeyRow>>>;

const NAME = 'api_keys';

/** Returns the model of `api_keys` in one database: row shape only. Created once per database. */
export function apiKeyModel(sequelize: Sequelize): ApiKeyModel {
  if (sequelize.isDefined(NAME)) {
    return sequelize.model(NAME) as ApiKeyModel;
  }
  return sequelize.define<Model<ApiKeyRow, Partial<ApiKeyRow>>>(
    NAME,
    {
      id: { type: DataTypes.UUID, primaryKey: true },
      account_id: DataTypes.UUID,
      hash: DataTypes.TEXT,
      name: DataTypes.TEXT,
      label: DataTypes.TEXT,
      role: DataTypes.TEXT,
      disabled: DataTypes.BOOLEAN,
      allowed_models: DataTypes.ARRAY(DataTypes.TEXT),
      limit_nano: DataTypes.BIGINT,
      cap_nano: DataTypes.BIGINT,
      limit_reset: DataTypes.TEXT,
      spent_before: DataTypes.BIGINT,
      spent: DataTypes.BIGINT,
      held: DataTypes.BIGINT,
      created_at: DataTypes.DATE(6),
      expires_at: DataTypes.DATE(6),
      deleted_at: DataTypes.DATE(6),
      last_used_at: DataTypes.DATE(6),
      rate_limits: DataTypes.JSONB,
    },
    { tableName: NAME, timestamps: false, underscored: false },
  );
}
