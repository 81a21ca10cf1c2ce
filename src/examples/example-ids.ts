/** Ids and values shared by the examples, so they refer to each other. */

export const GENERATION = 'gen-01KAJ3V9M2Q4R6S8T0V2W4X6Y8';
export const TASK = 'gen-01KAJ3X1C3E5G7J9M1P3R5T7V9';
export const ACCOUNT = 'acc_01KAHZZZZZ0000000000000000';
export const SESSION = 'cs_01KAJ40A1B2C3D4E5F6G7H8J9K';
export const DELIVERY = 'whd_01KAJ42M3N4P5Q6R7S8T9V0W1X';
export const INVOICE = 'inv_01KAHZZZZZ0000000000000202';
export const REQUEST = 'req_01KAJ3V9M0A1B2C3D4E5F6G7H8';
export const HASH = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
export const CREATED = '2026-11-21T09:30:00.000Z';

export const USAGE = {
  input_tokens: 1200,
  output_tokens: 350,
  total_tokens: 1550,
  cache_read_tokens: 1000,
  cache_write_tokens: 0,
  reasoning_tokens: 120,
};

export const BROWSER = 'ses_01KAJ43T5V7W9X1Y3Z5A7B9C1D';
export const MEMBER = 'mem_01KAJ44B7C9D1E3F5G7H9J1K3M';
export const INVITATION = 'ivt_01KAJ45N5P7Q9R1S3T5V7W9X1Y';
