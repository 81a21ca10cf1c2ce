/** What a caller may send with a call of a text model, for the API's description. */
export const INVOCATION_HEADERS: Readonly<Record<string, string>> = {
  'x-max-cost':
    'The most this call may cost, in USD as a decimal, e.g. 0.05; a more expensive one is rejected with 402',
};

/** What answers of text models carry. */
export const INVOCATION_ANSWER_HEADERS: Readonly<Record<string, string>> = {
  'X-Ignored-Parameters': 'Members of the request that were not sent on, separated by commas',
  'X-Max-Tokens-Clamped': "The output cap in force where it is lower than asked or than the model's",
};
