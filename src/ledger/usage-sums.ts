/** The columns that the five-minute, hourly and daily usage roll-ups add up. */
export const USAGE_SUMS = [
  'requests',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'charge',
  'charge_input',
  'charge_output',
  'charge_cache_read',
  'charge_cache_write',
  'charge_reasoning',
  'charge_request',
  'charge_image',
  'charge_video',
] as const;

/** The columns that the totals of an hour add up: the charges by line item. */
export const CHARGE_SUMS = USAGE_SUMS.filter((name) => name.startsWith('charge_'));
