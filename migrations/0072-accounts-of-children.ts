import type { Migration } from './migration.types.ts';

/** Apart from 0071, whose lock of the tables nobody should have to wait for while rows are filled. */
export const accountsOfChildren: Migration = {
  name: '0072-accounts-of-children',
  up: `
    SET CONSTRAINTS ALL IMMEDIATE;
    UPDATE task_events e SET account_id = t.account_id FROM tasks t WHERE t.id = e.task_id;
    UPDATE task_outputs o SET account_id = t.account_id FROM tasks t WHERE t.id = o.task_id;
    UPDATE webhook_tries w SET account_id = d.account_id FROM webhook_deliveries d WHERE d.id = w.delivery_id;
    ALTER TABLE document_csv_parts DISABLE TRIGGER document_csv_parts_append_only;
    UPDATE document_csv_parts p SET account_id = d.account_id FROM documents d WHERE d.id = p.document_id;
    ALTER TABLE document_csv_parts ENABLE TRIGGER document_csv_parts_append_only;
  `,
  down: `
    SET CONSTRAINTS ALL IMMEDIATE;
    ALTER TABLE document_csv_parts DISABLE TRIGGER document_csv_parts_append_only;
    UPDATE document_csv_parts SET account_id = NULL;
    ALTER TABLE document_csv_parts ENABLE TRIGGER document_csv_parts_append_only;
    UPDATE webhook_tries SET account_id = NULL;
    UPDATE task_outputs SET account_id = NULL;
    UPDATE task_events SET account_id = NULL;
  `,
};
