/** What every route of the operator API has in common. */
export const OPERATOR_ROUTE = { tag: 'Operators', access: 'operator', envelope: 'data' } as const;

/** On whose behalf something is done, and by which request: what the audit log keeps. */
export interface OperatorAct {
  /** Name of the operator. */
  readonly operator: string;
  readonly requestId: string;
}
