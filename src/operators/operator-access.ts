import type { AuditedAct } from '../ledger/ledger.types.ts';

/** Settings shared by every route of the operator API. */
export const OPERATOR_ROUTE = { tag: 'Operators', access: 'operator', envelope: 'data' } as const;

/** Who acts, and in which request, as recorded in the audit log. */
export interface OperatorContext {
  /** Name of the operator. */
  readonly operator: string;
  readonly requestId: string;
}

/** Builds the audit log entry of an action, for the statement that performs it. `object` is a public id. */
export function audited(act: OperatorContext, action: string, object: string, detail: object): AuditedAct {
  return { actor: act.operator, request_id: act.requestId, action, object, detail };
}
