/** What every route of the operator API has in common. */
export const OPERATOR_ROUTE = { tag: 'Operators', access: 'operator', envelope: 'data' } as const;
