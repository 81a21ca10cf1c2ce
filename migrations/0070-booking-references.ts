import type { Migration } from './migration.types.ts';

/**
 * The references of bookings that a repeated request must find again. A reference that is hashed from the request has no time, so its
 * entry lies in the default partition for ever; these have one, and stand beside the hash.
 */
export const bookingReferences: Migration = {
  name: '0070-booking-references',
  up: `
    CREATE TABLE booking_references (
      account_id uuid NOT NULL REFERENCES accounts (id),
      -- from the first 128 bits of the SHA-256 of account and Idempotency-Key: the reference itself in releases before
      name uuid NOT NULL,
      reference uuid NOT NULL,
      PRIMARY KEY (account_id, name)
    );`,
  down: 'DROP TABLE booking_references;',
};
