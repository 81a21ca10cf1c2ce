/** Request headers of calls to text models, for the API description. */
export const INVOCATION_HEADERS: Readonly<Record<string, string>> = {
  'x-max-cost':
    'Maximum cost of this call, as a decimal amount of USD, e.g. 0.05; a more expensive call is rejected with 402',
};

/** Response headers of calls to text models. */
export const INVOCATION_ANSWER_HEADERS: Readonly<Record<string, string>> = {
  'X-Ignored-Parameters': 'Comma-separated list of request members that were not sent to the provider',
  'X-Max-Tokens-Clamped': "The output cap in effect, when it is lower than requested or than the model's own",
};
