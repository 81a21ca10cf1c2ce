import type { AuditedAct } from '../ledger/ledger.types.ts';

/** What every route of the operator API has in common. */
export const OPERATOR_ROUTE = { tag: 'Operators', access: 'operator', envelope: 'data' } as const;

/** On whose behalf something is done, and by which request: what the audit log keeps. */
export interface OperatorAct {
  /** Name of the operator. */
  readonly operator: string;
  readonly requestId: string;
}

/** What the audit log will say of an act, for the statement that does it. `object` is a public id. */
export function audited(act: OperatorAct, action: string, object: string, detail: object): AuditedAct {
  return { actor: act.operator, request_id: act.requestId, action, object, detail };
}
