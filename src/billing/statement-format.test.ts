import { statementFormat } from './statement-format.ts';

test.each([
  ['inv_1.pdf', undefined, 'pdf'],
  ['inv_1.csv', 'application/pdf', 'csv'],
  ['inv_1.pdf', 'application/json', 'pdf'],
  ['inv_1', undefined, 'json'],
  ['inv_1', '', 'json'],
  ['inv_1', '*/*', 'json'],
  ['inv_1', 'application/pdf', 'pdf'],
  ['inv_1', 'TEXT/CSV;q=0.8, text/html', 'csv'],
  ['inv_1', 'text/html, text/csv, application/pdf', 'csv'],
  ['inv_1', 'application/json, application/pdf', 'json'],
])('%s with Accept %j is served as %s', (text, accept, form) => {
  expect(statementFormat(text, accept)).toEqual({ id: 'inv_1', form });
});

test('any other suffix is part of the id', () => {
  expect(statementFormat('inv_1.xml', undefined)).toEqual({ id: 'inv_1.xml', form: 'json' });
  expect(statementFormat('.pdf', undefined)).toEqual({ id: '.pdf', form: 'json' });
});
