import type { Migration } from './migration.types.ts';

/** Generations by the ids that callers chose for their requests. What follows from a generation's own id needs no index. */
export const chosenRequests: Migration = {
  name: '0113-chosen-requests',
  indexes: [
    {
      name: 'generations_chosen_request',
      table: 'generations',
      definition: '(account_id, request_id) WHERE request_id IS NOT NULL',
    },
  ],
};
