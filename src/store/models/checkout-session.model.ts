import type { Model, ModelStatic, Sequelize } from 'sequelize';
import { DataTypes } from 'sequelize';

/** A row of `checkout_sessions`; the amount is nano-USD as decimal text. */
export interface CheckoutSessionRow {
  id: string;
  account_id: string;
  amount: string;
  currency: string;
  provider: string;
  provider_session_id: string | null;
  payment_id: string | null;
  url: string;
  success_url: string;
  cancel_url: string;
  status: 'open' | 'complete' | 'expired';
  payment_status: 'unpaid' | 'paid' | 'no_payment_required';
  created_at: Date;
  expires_at: Date;
  credited_at: Date | null;
  /** How often the provider's list of refunds and disputes has been booked, as decimal text. */
  reversals_seen: string;
}

export type CheckoutSessionModel = ModelStatic<Model<CheckoutSessionRow, Partial<CheckoutSessionRow>>>;

const NAME = 'checkout_sessions';

/** Returns the model of `checkout_sessions` in one database: row shape only. Created once per database. */
export function checkoutSessionModel(sequelize: Sequelize): CheckoutSessionModel {
  if (sequelize.isDefined(NAME)) {
    return sequelize.model(NAME) as CheckoutSessionModel;
  }
  return sequelize.define<Model<CheckoutSessionRow, Partial<CheckoutSessionRow>>>(
    NAME,
    {
      id: { type: DataTypes.UUID, primaryKey: true },
      account_id: DataTypes.UUID,
      amount: DataTypes.BIGINT,
      currency: DataTypes.CHAR(3),
      provider: DataTypes.TEXT,
      provider_session_id: DataTypes.TEXT,
      payment_id: DataTypes.TEXT,
      url: DataTypes.TEXT,
      success_url: DataTypes.TEXT,
      cancel_url: DataTypes.TEXT,
      status: DataTypes.TEXT,
      payment_status: DataTypes.TEXT,
      created_at: DataTypes.DATE(6),
      expires_at: DataTypes.DATE(6),
      credited_at: DataTypes.DATE(6),
      reversals_seen: DataTypes.BIGINT,
    },
    { tableName: NAME, timestamps: false, underscored: false },
  );
}
