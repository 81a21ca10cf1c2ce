import { createAccountBody, usdAmount } from './operators.schema.ts';

test.each(['10000000.00', '-10000000.00', '0.000000001'])('%s can be booked', (text) => {
  expect(usdAmount.safeParse(text).success).toBe(true);
});

test.each(['10000000.000000001', '-10000000.01', '9223372036.85', '9223372036.854775807'])(
  '%s is more than one entry may book',
  (text) => {
    const { error } = createAccountBody.safeParse({ name: 'Acme', credits: text });
    expect(error?.issues[0]).toMatchObject({ path: ['credits'] });
    expect(usdAmount.safeParse(text).error?.issues[0]?.message).toBe('must be at most 10000000 USD');
  },
);
